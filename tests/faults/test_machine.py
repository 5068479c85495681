"""The line for what the machine refuses: path, reason and remedy. `machine.py` has the faults themselves."""

import errno
import subprocess
from pathlib import Path
from typing import Any

import pytest

from uegr.cli.failures import complaint
from uegr.errors import InputError
from uegr.packages import PackageSource, download


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
        (RuntimeError("I/O error: No space left on device (os error 28)"), "No space left on device; free some space"),
        (RuntimeError("[enforce fail] PytorchStreamWriter failed writing file"), "the file was not written"),
        (RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 16512 vs 16404"), "want of space"),
        (RuntimeError("basic_ios::clear: iostream error"), "want of space"),
        (OSError("no number"), "a file cannot be used: no number; check the path"),
    ],
)
def test_the_line_has_path_reason_and_remedy(error: Exception, line: str) -> None:
    assert line in str(complaint(error))


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
