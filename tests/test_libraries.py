"""Modules that are imported late behave as if they had been imported at once."""

import subprocess
import sys
import types
from collections.abc import Iterator
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

PEFT = """
import sys
from uegr.benchmark import run
from transformers import BertConfig, BertForSequenceClassification, trainer, trainer_utils
config = BertConfig(vocab_size=8, hidden_size=4, num_hidden_layers=1, num_attention_heads=1)
model = BertForSequenceClassification(config)
assert not trainer_utils._is_peft_model(model)
assert "peft" not in sys.modules
from peft import LoraConfig, PeftModel, get_peft_model
assert trainer.PeftModel.from_pretrained == PeftModel.from_pretrained
adapted = get_peft_model(model, LoraConfig(target_modules=["query"]))
assert trainer_utils._is_peft_model(adapted) and not trainer_utils._is_peft_model(model)
assert isinstance(adapted, trainer.PeftModel) and not isinstance(model, trainer.PeftModel)
"""

MODULE = """
SIZE = 3
class Box: pass
def doubled(number, more=0): return 2 * number + more
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module that nobody has imported; it is forgotten after the test."""
    name = "module_to_be_deferred"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


def test_transformers_waits_with_scipy_and_finds_it() -> None:
    subprocess.run([sys.executable, "-c", SCIPY], check=True)


def test_transformers_knows_models_of_peft_without_importing_it() -> None:
    pytest.importorskip("peft")
    subprocess.run([sys.executable, "-c", PEFT], check=True)


def test_a_function_imports_its_module_when_called(module: str) -> None:
    with deferred(module, functions=["doubled"]):
        taken = __import__(module, fromlist=["doubled"]).doubled
    assert module not in sys.modules
    assert taken(4, more=1) == 9
    assert sys.modules[module].SIZE == 3


def test_anything_else_of_it_is_the_real_thing_at_once(module: str) -> None:
    with deferred(module, functions=["doubled"]):
        assert __import__(module, fromlist=["SIZE"]).SIZE == 3
        assert sys.modules[module].__file__  # the real one has taken its place
    assert sys.modules[module].doubled(1) == 2


def test_what_was_imported_before_stays(module: str) -> None:
    known = sys.modules[module] = types.ModuleType(module)
    with deferred(module, functions=["doubled"]):
        assert sys.modules[module] is known
    assert sys.modules[module] is known


def test_a_class_has_no_instances_before_its_module_is_imported(module: str) -> None:
    with deferred(module, classes=["Box"]):
        taken = __import__(module, fromlist=["Box"]).Box
        assert not isinstance(3, taken)
        assert not issubclass(int, taken)
    assert module not in sys.modules
    real = __import__(module).Box
    assert isinstance(real(), taken)
    assert issubclass(real, taken)
    assert type(taken()) is real
    assert not isinstance(3, taken)


def test_a_module_that_is_not_installed_is_missed_as_ever() -> None:
    with deferred("no_such_module_here", functions=["doubled"]), pytest.raises(ImportError):
        __import__("no_such_module_here")
