"""The private names of libraries: all listed in `uegr.private`, and all as the installed libraries have them."""

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import accelerate
import datasets
import pytest
import transformers
from torch import Tensor, nn

from uegr import private

SOURCE = Path(private.__file__).parent
OWNERS = [
    Tensor,
    nn.Module,
    transformers.Trainer,
    transformers.TrainingArguments,
    transformers.TrainerCallback,
    transformers.PreTrainedModel,
    transformers.PretrainedConfig,
    transformers.PreTrainedTokenizerBase,
    accelerate.Accelerator,
    datasets.Dataset,
    datasets.DatasetDict,
]
# modules below the libraries' first level whose names are in their documentation
DOCUMENTED = {"transformers.utils:logging", "transformers.modeling_outputs:SequenceClassifierOutput"}
LISTED = {name.name for name in private.NAMES}
DEPTHS = re.compile(r"(transformers|accelerate|datasets)\.")


def test_every_name_is_as_expected() -> None:
    assert not private.changes()


def test_every_private_name_in_the_source_is_listed() -> None:
    assert {name for name in used() if belongs_to_a_library(name)} <= LISTED


def test_every_import_from_the_depths_of_a_library_is_listed() -> None:
    known = {f"{name.owner}:{name.name}" for name in private.NAMES} | {name.owner for name in private.NAMES}
    assert set(deep_imports()) <= DOCUMENTED | known


@pytest.mark.parametrize("name", sorted(LISTED))
def test_every_listed_name_is_used(name: str) -> None:
    assert any(re.search(rf"\b{name}\b", text) for text in texts()), f"{name} is used no more: leave it out of the list"


def texts() -> Iterator[str]:
    for file in sorted(SOURCE.rglob("*.py")):
        if file.name != "private.py":
            yield file.read_text(encoding="utf-8")


def used() -> set[str]:
    """Attributes, functions, variables and strings with a leading underscore."""
    names: set[str] = set()
    for text in texts():
        for node in ast.walk(ast.parse(text)):
            match node:
                case ast.Attribute(attr=name) | ast.Name(id=name) | ast.FunctionDef(name=name):
                    names.add(name)
                case ast.Constant(value=str(name)):
                    names.add(name)
    return {name for name in names if re.fullmatch(r"_[a-z]\w*", name)}


def belongs_to_a_library(name: str) -> bool:
    """Does one of the classes that uegr inherits from or holds have it?"""
    return any(hasattr(owner, name) or re.search(rf"self\.{name}\b", private.source(owner)) for owner in OWNERS)


def deep_imports() -> Iterator[str]:
    """module:name of what is imported from a submodule of transformers, accelerate or datasets."""
    for text in texts():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and DEPTHS.match(node.module or ""):
                yield from (f"{node.module}:{alias.name}" for alias in node.names)


def test_the_scan_sees_what_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "wrong.py").write_text(
        "from transformers.trainer_utils import seed_worker\n"
        "class Own(Trainer):\n    def _inner_training_loop(self): return getattr(x, '_fingerprint'), self._own\n"
    )
    monkeypatch.setitem(globals(), "SOURCE", tmp_path)
    assert {name for name in used() if belongs_to_a_library(name)} == {"_inner_training_loop", "_fingerprint"}
    assert list(deep_imports()) == ["transformers.trainer_utils:seed_worker"]


def test_a_changed_signature_is_named() -> None:
    wrong = private.Private("transformers:Trainer", "_prepare_inputs", "(self)", "")
    assert private.changes([wrong]) == [f"transformers:Trainer._prepare_inputs: expected (self), got {given()}"]


def given() -> str:
    return f"({', '.join(inspect.signature(transformers.Trainer._prepare_inputs).parameters)})"
