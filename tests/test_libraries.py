"""Modules that are imported late behave as if they had been imported at once."""

import subprocess
import sys
import types
from pathlib import Path

import pytest

from uegr.libraries import deferred

SCIPY = """
import sys
from uegr.benchmark import run
from transformers import Trainer
from transformers.loss import loss_for_object_detection as losses
assert "scipy.optimize" not in sys.modules
rows, columns = losses.linear_sum_assignment([[4.0, 1.0], [2.0, 3.0]])
assert (rows.tolist(), columns.tolist()) == ([0, 1], [1, 0])
from scipy import optimize
assert sys.modules["scipy.optimize"] is optimize and optimize.minimize.__module__.startswith("scipy")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module that nobody has imported; it is forgotten after the test."""
    name = "module_to_be_deferred"
    (tmp_path / f"{name}.py").write_text("SIZE = 3\ndef doubled(number, more=0):\n    return 2 * number + more\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


def test_transformers_waits_with_scipy_and_finds_it() -> None:
    subprocess.run([sys.executable, "-c", SCIPY], check=True)


def test_a_function_imports_its_module_when_called(module: str) -> None:
    with deferred(module, "doubled"):
        taken = __import__(module, fromlist=["doubled"]).doubled
    assert module not in sys.modules
    assert taken(4, more=1) == 9
    assert sys.modules[module].SIZE == 3


def test_anything_else_of_it_is_the_real_thing_at_once(module: str) -> None:
    with deferred(module, "doubled"):
        assert __import__(module, fromlist=["SIZE"]).SIZE == 3
        assert sys.modules[module].__file__  # the real one has taken its place
    assert sys.modules[module].doubled(1) == 2


def test_what_was_imported_before_stays(module: str) -> None:
    known = sys.modules[module] = types.ModuleType(module)
    with deferred(module, "doubled"):
        assert sys.modules[module] is known
    assert sys.modules[module] is known
