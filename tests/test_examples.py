"""The examples: each compiles and imports what is there; the slow tests run them, the notebook cell by cell."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.doc_pages import ROOT
from tests.test_docs import check_imports

EXAMPLES = ROOT / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*.py"))
NOTEBOOK = EXAMPLES / "quickstart.ipynb"
PRINTED = {  # what each prints when it has worked
    "own_trainer.py": "train_loss",
    "own_loop.py": "7 {'task'",
    "own_method.py": "train_loss",
    "own_csv.py": "probabilities",
    "attack_sklearn.py": "accuracy 0.",
}


def cells() -> list[str]:
    """The code of the notebook."""
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    return ["".join(cell["source"]) for cell in content["cells"] if cell["cell_type"] == "code"]


def test_every_script_is_known_and_says_how_it_is_run() -> None:
    assert {script.name for script in SCRIPTS} == set(PRINTED)
    for script in SCRIPTS:
        told = ast.get_docstring(ast.parse(script.read_text(encoding="utf-8"))) or ""
        assert f"python examples/{script.name}" in told


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_imports_what_is_there(script: Path) -> None:
    check_imports(script.read_text(encoding="utf-8"))


def test_the_notebook_imports_what_is_there_and_holds_no_output() -> None:
    check_imports("\n".join(cells()))
    content = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in content["cells"])


def ran(folder: Path, *arguments: str) -> str:
    """What a Python process printed; it must succeed."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_runs(script: Path, tmp_path: Path) -> None:
    assert PRINTED[script.name] in ran(tmp_path, str(script))


@pytest.mark.slow
def test_the_notebook_runs(tmp_path: Path) -> None:
    (tmp_path / "notebook.py").write_text("\n\n".join(cells()), encoding="utf-8")
    out = ran(tmp_path, "notebook.py")
    assert out.count("epsilon") == 6
    assert out.count("before") == 2
