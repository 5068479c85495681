"""Files that are whole or not there, with the permissions that the user's umask leaves."""

import os
import secrets
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from uegr.errors import InputError, warn

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}


def write_text(path: Path, text: str) -> None:
    """The whole file or nothing."""
    with replacing(path) as partial, partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def replacing(path: Path, suffix: str = ".partial") -> Iterator[Path]:
    """A new, empty file beside `path` to write to. It becomes `path` at the end, and is deleted if anything raises.

    A symbolic link is replaced, not followed: what it names may be outside of the folder.
    """
    refuse_special(path)
    partial = path.with_name(f".{path.name[:60]}.{secrets.token_hex(6)}{suffix}")
    os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def set_aside(path: Path, reason: str) -> None:
    """Rename what is damaged, in the place of what was set aside before, and name it in one line."""
    aside = path.with_name(f"damaged-{path.name}")
    remove(aside)
    path.rename(aside)
    warn(f"{path} is damaged ({reason}); it was set aside as {aside.name} and is made again")


def remove(path: Path) -> None:
    """Delete a file or a folder, if it is there."""
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink(missing_ok=True)


def refuse_special(path: Path) -> None:
    """Only a regular file is replaced: not a device, a pipe or a folder, nor a link to one."""
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        return
    if kind != stat.S_IFREG:
        what = KINDS.get(kind, "a special file")
        raise InputError(f"expected a file or a new path, got {path}, {what}; choose another path")


def share(paths: Iterable[Path]) -> None:
    """Give files that a library wrote for their owner alone, as safetensors does, the permissions of all others."""
    for path in paths:
        probe = path.with_name(f".{secrets.token_hex(6)}.partial")
        handle = os.open(probe, os.O_CREAT | os.O_EXCL, 0o666)  # the kernel applies the umask
        try:
            os.chmod(path, stat.S_IMODE(os.fstat(handle).st_mode))
        finally:
            os.close(handle)
            probe.unlink()
