"""`uegr export`: what is refused before anything is loaded (tests/runs/ has the formats)."""

from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(("given", "got"), [([], "neither"), (["--onnx", "--hub", "me/mine"], "both")])
def test_one_target_is_required(uegr: Command, tmp_path: Path, given: list[str], got: str) -> None:
    code, _, error = uegr("export", tmp_path, *given)
    assert code == 2
    assert error == f"expected one of --onnx and --hub, got {got} (the run's folder has safetensors)"


def test_flags_of_the_other_target_are_refused(uegr: Command, tmp_path: Path) -> None:
    assert uegr("export", tmp_path, "--onnx", "--public")[2] == "--public is for --hub; leave it out"
    assert "are for --onnx" in uegr("export", tmp_path, "--hub", "me/mine", "--calibrate")[2]


def test_the_files_for_the_hub_are_written_and_listed(uegr: Command, finished: Path, tmp_path: Path) -> None:
    code, out, error = uegr("export", finished, "--hub", "me/mine", "--output", tmp_path / "hub")
    assert code == 0, error
    assert {Path(line).name for line in out.splitlines()} >= {"model.safetensors", "config.json", "README.md"}
    assert "cannot upload" not in error
    assert "choose another --output" in uegr("export", finished, "--hub", "me/mine", "--output", tmp_path / "hub")[2]
