"""What the machine refuses is one line with the path and the remedy, and exit code 2."""

import errno
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from uegr.cli.failures import complaint
from uegr.errors import InputError
from uegr.packages import PackageSource, download

TRAIN = ["train", "--method", "vanilla", "--epochs", "1", "--quiet"]


def uegr(*arguments: Any, **options: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "uegr.cli", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, **options)


def small_files() -> None:
    """No file of this process can be larger than 12 kB: as a full disk, the same error in the middle of a write."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, 12_000))


def refused(done: "subprocess.CompletedProcess[str]") -> str:
    assert done.returncode == 2, done
    assert done.stderr.startswith("uegr: error: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("command", ["train", "report"])
def test_a_path_that_is_too_long_or_below_a_file_is_one_line(home: Path, tmp_path: Path, command: str) -> None:
    (tmp_path / "file").write_text("")
    words = {
        "train": [*TRAIN, "--model", home / "model", "--dataset", home / "data", "--output"],
        "report": ["report", tmp_path, "--output"],
    }
    below, long = tmp_path / "file" / "run", tmp_path / ("n" * 300)
    for path, remedy in ((below, "a file is where a folder should be"), (long, "choose a shorter path")):
        line = refused(uegr(*words[command], path))
        assert remedy in line
        assert str(path)[:200] in line or str(path.parent) in line


def test_a_disk_that_takes_no_more_is_one_line(home: Path, tmp_path: Path) -> None:
    words = [*TRAIN, "--model", home / "model", "--dataset", home / "data", "--output", tmp_path / "run"]
    line = refused(uegr(*words, preexec_fn=small_files))
    assert any(remedy in line for remedy in ("raise it, or choose another folder", "free some space"))
    assert not (tmp_path / "run" / "result.json").exists()
    done = uegr(*words, "--resume")  # with space again
    assert done.returncode == 0, done.stderr


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
