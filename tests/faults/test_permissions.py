"""The files of a run have one set of permissions, and -o replaces regular files only."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.conftest import config_of
from uegr.runs.attack import attack_run
from uegr.runs.export import export_onnx
from uegr.runs.train import train


@pytest.mark.parametrize("umask", [0o022, 0o027])
def test_every_file_of_a_run_has_the_permissions_that_the_umask_leaves(home: Path, tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        train(config_of(home), tmp_path / "run", quiet=True)
        attack_run(tmp_path / "run", attack="deepwordbug", examples=2, quiet=True)
        export_onnx(tmp_path / "run")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert {"model.safetensors", "model.onnx", "result.json", "config.yaml", "tokenizer.json"} <= set(modes)
    modes.pop(".lock")
    assert set(modes.values()) == {0o666 & ~umask}, modes


@pytest.mark.parametrize("kind", ["pipe", "device", "link"])
@pytest.mark.parametrize("command", ["predict", "export", "report", "report --csv"])
def test_output_refuses_what_is_not_a_regular_file(
    uegr: Callable[..., str], finished: Path, tmp_path: Path, command: str, kind: str
) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    path = {"device": Path("/dev/null")}.get(kind, tmp_path / kind)
    words = {
        "predict": ["predict", finished, "--text", "a fine film", "--output", path],
        "export": ["export", finished, "--onnx", "--output", path],
        "report": ["report", finished, "--output", path],
        "report --csv": ["report", finished, "--output", tmp_path / "page.html", "--csv", path],
    }
    error = uegr(*words[command])
    assert error.startswith(f"expected a file or a new path, got {path}, a ")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
