"""`uegr models fetch`: what happens without a download."""

import pytest

from uegr import models


def test_a_wrong_alias_is_named_before_anything_is_fetched(uegr, monkeypatch):
    monkeypatch.setattr(models, "fetch", lambda *args: pytest.fail("fetched"))
    code, out, error = uegr("models", "fetch", "minilmm")
    assert (code, out) == (2, "")
    assert "did you mean minilm?" in error


def test_the_folder_of_the_weights_is_printed(uegr, monkeypatch, tmp_path):
    def fetch(name, progress):
        progress("check", 1, 1)
        return tmp_path / name

    monkeypatch.setattr(models, "fetch", fetch)
    assert uegr("models", "fetch", "minilm")[:2] == (0, f"{tmp_path / 'minilm'}\n")
