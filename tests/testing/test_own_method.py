"""The examples of docs/own_method.md run as they stand."""

import sys
from pathlib import Path
from typing import Any

import pytest

from tests.doc_pages import ROOT, read


def test_the_method_of_the_page_passes_every_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    method, _, once, parametrised = read(ROOT / "docs" / "own_method.md").python
    assert "uegr.pieces" not in method + once + parametrised  # public names only
    (tmp_path / "my_module.py").write_text(method)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_module", raising=False)
    exec(compile(once, "own_method.md", "exec"), {})
    names: dict[str, Any] = {}
    exec(compile(parametrised, "own_method.md", "exec"), names)
    (mark,) = names["test_my_method"].pytestmark
    found = {mark.kwargs["ids"](check): check for check in mark.args[1]}
    names["test_my_method"](found["counts_its_passes"])
