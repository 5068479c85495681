"""The line for what the machine refuses: path, reason and remedy. `machine.py` has the faults themselves."""

import errno
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError

from uegr.cli.failures import complaint
from uegr.errors import InputError
from uegr.files import naming
from uegr.models.export import exported
from uegr.packages import PackageSource, download

TORCH = "cannot use runs/first: the file was not written, most often for want of space; free some space"


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "/r/run"),
            "cannot use /r/run: Permission denied; choose a",
        ),
        (OSError(errno.EROFS, "Read-only file system", "/r/run"), "Read-only file system; choose a folder that can be"),
        (
            OSError(errno.ENOSPC, "No space left on device", "a", None, "b"),
            "cannot use b: No space left on device; free",
        ),
        (OSError(errno.ENOSPC, "No space left on device"), "cannot use runs/first: No space left on device; free some"),
        (OSError(errno.EFBIG, "File too large"), "cannot use runs/first: File too large; raise the limit of a file's"),
        (RuntimeError("I/O error: (os error 28)"), "cannot use runs/first: No space left on device; free some space"),
        (SafetensorError("I/O error: (os error 27)"), "cannot use runs/first: File too large; raise the limit"),
        (RuntimeError("[enforce fail] PytorchStreamWriter failed writing file"), TORCH),
        (RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 16512 vs 16404"), TORCH),
        (RuntimeError("basic_ios::clear: iostream error"), TORCH),
    ],
)
def test_the_line_has_path_reason_and_remedy(error: Exception, line: str) -> None:
    with pytest.raises(type(error)), naming(Path("runs/second")), naming(Path("runs/first")):
        raise error
    assert str(complaint(error)).startswith("cannot use ")
    assert line in str(complaint(error))


@pytest.mark.parametrize("error", [OSError("no number"), ConnectionRefusedError(errno.ECONNREFUSED, "refused")])
def test_an_error_that_is_not_of_writing_gets_no_path(error: OSError) -> None:
    with pytest.raises(type(error)), naming(Path("runs/first")):
        raise error
    assert str(complaint(error)).startswith("a file cannot be used: ")


def test_a_full_disk_is_not_blamed_on_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failed(*args: Any, **kwargs: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(torch.onnx, "export", failed)
    with pytest.raises(OSError, match="No space left") as caught, exported(torch.nn.Linear(2, 2), {}, tmp_path / "x"):
        pass
    assert f"cannot use {tmp_path / 'x'}: No space" in str(complaint(caught.value))


@pytest.mark.parametrize("error", [ValueError("x"), KeyError("os"), RuntimeError("shape mismatch")])
def test_a_bug_keeps_its_traceback(error: Exception) -> None:
    assert complaint(error) is None


@pytest.mark.parametrize(
    ("pip", "remedy"),
    [
        (
            "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
            "free some space on",
        ),
        ("ERROR: No matching distribution found for x==1", "check the network"),
    ],
)
def test_a_full_cache_disk_is_not_blamed_on_the_network(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pip: str, remedy: str
) -> None:
    def failed(*args: Any, **kwargs: Any) -> "subprocess.CompletedProcess[str]":
        return subprocess.CompletedProcess([], 1, "", f"{pip}\n")

    monkeypatch.setattr(subprocess, "run", failed)
    with pytest.raises(InputError) as caught:
        download(PackageSource(name="x", version="1", file="f", sha256="0"), tmp_path)
    assert remedy in str(caught.value)
    assert ("network" in str(caught.value)) == ("network" in remedy)
