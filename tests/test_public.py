"""What users may import: it exists, it is listed, and `import uegr` is quick."""

import importlib
import subprocess
import sys

import pytest

import uegr

ROOMS = ["methods", "attacks", "evaluation", "data", "models", "result", "statistics", "testing"]


@pytest.mark.parametrize("name", ["uegr", *(f"uegr.{room}" for room in ROOMS)])
def test_every_exported_name_exists(name: str) -> None:
    module = importlib.import_module(name)
    for exported in getattr(module, "__all__", ()):
        assert getattr(module, exported) is not None


def test_dir_lists_the_exports_and_other_names_are_refused() -> None:
    assert set(dir(uegr)) == {*uegr.__all__, "__version__"}
    assert set(ROOMS) <= set(dir(uegr))
    with pytest.raises(AttributeError, match="'uegr' has no attribute 'pandas'"):
        uegr.pandas  # noqa: B018


@pytest.mark.parametrize("room", ["benchmark", "cli", "ledger", "pieces", "report", "runs", "training"])
def test_rooms_that_are_not_public_are_imported_on_access_too(room: str) -> None:
    script = f"import uegr; assert uegr.{room}.__name__ == 'uegr.{room}'; assert '{room}' not in dir(uegr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_rooms_are_imported_on_access_and_torch_is_not() -> None:
    script = """
import sys, uegr
assert not {"torch", "transformers", "pydantic"} & set(sys.modules), "import uegr"
uegr.data.cards(), uegr.statistics.proportion(3, 4), uegr.result.Result, uegr.models.cards()
assert "torch" not in sys.modules, "uegr.data, uegr.statistics, uegr.result and uegr.models"
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
