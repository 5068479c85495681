"""What is computed once and kept, named by content; everything in the cache can be deleted and comes back.

Beside everything that is kept is its seal, a sha256 of its bytes. What does not fit its seal is damaged: it is set
aside, named in one line, and made again. Files and folders are made in a box and put in place by one rename, so a kill
at any moment leaves nothing half made in place; the next process removes the box.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from filelock import FileLock

from uegr.files import naming, owned, remove_abandoned, set_aside

BOX = ".box"
PIECE = 1 << 23  # bytes that are hashed at a time
Stamp = tuple[tuple[str, int, int, int], ...]
_sound: dict[Path, Stamp] = {}  # what this process has checked already


def cache_folder() -> Path:
    """`$XDG_CACHE_HOME/uegr`, or `~/.cache/uegr`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "uegr"


def data_folder() -> Path:
    """Where rows, token ids and small facts about them are kept."""
    folder = cache_folder() / "data"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def key_of(*parts: Any) -> str:
    """A short name for content: equal for equal JSON, and for nothing else.

    >>> key_of("a", {"b": 1, "c": 2}) == key_of("a", {"c": 2, "b": 1}) != key_of("a")
    True
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()[:32]


def remembered(key: str, compute: Callable[[], Any]) -> Any:
    """A small JSON value by content key, computed once."""

    def write(path: Path) -> None:
        path.write_text(json.dumps(compute()), encoding="utf-8")

    return json.loads(kept(data_folder() / "facts" / f"{key}.json", write).read_text("utf-8"))


def kept(path: Path, make: Callable[[Path], None]) -> Path:
    """The file or folder `path`. `make` writes it, to another path, the first time and where it is damaged."""
    if damage(path) is None:
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = path.with_name(f".{path.name}.lock")
    try:
        with naming(path), FileLock(lock):  # one process makes it, the others wait and find it
            if not is_sound(path):
                with box(path.parent) as folder:
                    made = folder / path.name
                    make(made)
                    put(made, path)
    finally:
        lock.unlink(missing_ok=True)  # at worst two processes make it, and the later one puts the same in place
    return path


def is_sound(path: Path) -> bool:
    """Whether `path` is there and as it was written; what is damaged is set aside. Only with a lock."""
    reason = damage(path)
    if reason and path.exists():
        with suppress(FileNotFoundError):  # another process was faster
            set_aside(path, reason)
    return reason is None


def damage(path: Path) -> str | None:
    """Why `path` cannot be used; None if it is as it was written."""
    try:
        now = stamp(path)
        if _sound.get(path) == now:
            return None
        if seal(path).read_text("utf-8").strip() != digest(path):
            return "its bytes have changed since it was written"
    except (OSError, UnicodeDecodeError):
        return "its seal is missing" if path.exists() else "it is missing"
    _sound[path] = now
    return None


def put(made: Path, path: Path) -> None:
    """Give what was made its place and its seal; the seal comes first, since without the rest it means nothing."""
    written = made.with_name(f"{made.name}.seal")
    written.write_text(f"{digest(made)}\n", "utf-8")
    os.replace(written, seal(path))
    try:
        os.replace(made, path)
    except OSError:
        if not path.is_dir():  # another process was faster: a folder is not replaced
            raise


def seal(path: Path) -> Path:
    """Where the sha256 of a file or folder is kept."""
    return path.with_name(f".{path.name}.seal")


def stamp(path: Path) -> Stamp:
    """The names, sizes, times and numbers of the files; another stamp means that they were written to."""
    found = ((str(file), file.stat()) for file in files_of(path))
    return tuple((name, about.st_size, about.st_mtime_ns, about.st_ino) for name, about in found)


def files_of(path: Path) -> list[Path]:
    """A file itself, or all files of a folder."""
    return sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]


def digest(path: Path) -> str:
    """sha256 of a file, or of the names and hashes of a folder's files, as hexadecimal.

    Of a large file it is the sha256 of the hashes of its pieces, which threads make: a start waits for it.
    """
    if path.is_dir():
        return key_of([(str(file.relative_to(path)), digest(file)) for file in files_of(path)])
    pieces = range(0, max(1, path.stat().st_size), PIECE)
    if len(pieces) == 1:
        return piece_digest(path, 0)
    with ThreadPoolExecutor(min(len(pieces), os.cpu_count() or 1)) as pool:
        return hashlib.sha256("".join(pool.map(partial(piece_digest, path), pieces)).encode()).hexdigest()


def piece_digest(path: Path, start: int) -> str:
    """sha256 of the piece of a file that begins there."""
    with path.open("rb") as file:
        file.seek(start)
        return hashlib.sha256(file.read(PIECE)).hexdigest()


@contextmanager
def box(parent: Path) -> Iterator[Path]:
    """A temporary folder below `parent`. Those of processes that were killed are removed first."""
    parent.mkdir(parents=True, exist_ok=True)
    remove_abandoned(parent)
    folder = parent / owned(BOX)
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
