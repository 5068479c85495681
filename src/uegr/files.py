"""Files that are whole or not there, with the permissions that the user's umask leaves.

What is not whole yet has the machine and the process in its name. A process that was killed leaves it behind; the next
one that writes into the same folder sees that its owner has ended, and removes it.
"""

import errno
import os
import re
import secrets
import shutil
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from socket import gethostname
from typing import Any

from uegr.errors import InputError, warn

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
OWNED = re.compile(r"\.([0-9a-f]{8})-(\d+)-[0-9a-f]{12}\.[a-z]+$")  # machine, process and a random number

OF_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)  # the system does not say of which file


def write_text(path: Path, text: str) -> None:
    """The whole file or nothing."""
    with replacing(path) as partial, partial.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def flush(path: Path) -> None:
    """Wait until a file is on the disk, if it is there."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        os.fsync(file.fileno())


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Give an error of writing in this block the path, as `filename`, unless it names a file; the innermost path stays.

    Libraries have errors of their own, which are no OSError: `uegr.cli.failures` knows them.
    """
    try:
        yield
    except Exception as error:
        named: Any = error
        may_be_of_writing = not isinstance(error, OSError) or error.errno in OF_WRITING
        if may_be_of_writing and getattr(error, "filename", None) is None:
            named.filename = str(path)
        raise


@contextmanager
def replacing(path: Path, suffix: str = ".partial") -> Iterator[Path]:
    """A new, empty file beside `path` to write to. It becomes `path` at the end, and is deleted if anything raises.

    A symbolic link is replaced, not followed: what it names may be outside of the folder.
    """
    refuse_special(path)
    remove_abandoned(path.parent)
    partial = path.with_name(f".{path.name[:60]}{owned(suffix)}")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    except OSError as error:
        error.filename = str(path)  # the file that the user named, not ours beside it
        raise
    try:
        with naming(path):
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
        probe = path.with_name(owned(".partial"))
        handle = os.open(probe, os.O_CREAT | os.O_EXCL, 0o666)  # the kernel applies the umask
        try:
            os.chmod(path, stat.S_IMODE(os.fstat(handle).st_mode))
        finally:
            os.close(handle)
            probe.unlink()


def flush_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk; not every system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def owned(suffix: str) -> str:
    """The end of a name, by which others see whether the process that it belongs to still runs."""
    return f".{machine()}-{os.getpid()}-{secrets.token_hex(6)}{suffix}"


def remove_abandoned(folder: Path) -> None:
    """Remove what processes that have ended left half written in a folder."""
    try:
        names = os.listdir(folder)
    except OSError:  # not there, or not to be read: whoever writes will see
        return
    for name in filter(is_abandoned, names):
        with suppress(OSError):  # another process was faster, or the folder may not be written
            remove(folder / name)


def is_abandoned(name: str) -> bool:
    """Whether the process that a name belongs to, on this machine, has ended.

    >>> is_abandoned(f".result.json{owned('.partial')}"), is_abandoned("result.json")
    (False, False)
    """
    found = OWNED.search(name)
    if found is None or found[1] != machine():
        return False
    try:
        os.kill(int(found[2]), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except OSError:
        return False
    return False


@cache
def machine() -> str:
    """A short name for this machine, or container: processes of others, on a shared disk, are not known here."""
    try:
        processes = os.readlink("/proc/self/ns/pid")
    except OSError:
        processes = ""
    return f"{zlib.crc32(f'{gethostname()} {processes}'.encode()):08x}"
