"""Build again when a result changes: the times of the files are checked every few seconds."""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from uegr.report.reading import CONFIG, GRID

Stamp = frozenset[tuple[str, int, int]]


def stamp(paths: Iterable[Path]) -> Stamp:
    """What was last written where: it changes if and only if a new page could differ."""
    return frozenset(entry for path in paths for entry in written(path))


def written(folder: Path | str) -> Iterator[tuple[str, int, int]]:
    """(path, time, size) of the files below a folder that a report reads; a file may disappear meanwhile."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        try:
            if entry.is_dir(follow_symlinks=False):
                if not entry.name.startswith((".", "checkpoint-")):
                    yield from written(entry.path)
            elif entry.name in (CONFIG, GRID) or entry.name.endswith(".json") or is_journal(entry):
                status = entry.stat()
                yield entry.path, status.st_mtime_ns, status.st_size
        except OSError:
            continue


def is_journal(entry: "os.DirEntry[str]") -> bool:
    """Whether a file has the outcomes of an attack."""
    return entry.name.endswith(".jsonl") and "attacks" in entry.path


def watch(build: Callable[[], None], paths: Iterable[Path], seconds: float, rounds: int | None = None) -> int:
    """Call `build` now and after every change, until interrupted or for some rounds; how often it was called."""
    paths, last, built = list(paths), None, 0
    while rounds is None or rounds > 0:
        now = stamp(paths)
        if now != last:
            build()
            last, built = now, built + 1
        time.sleep(seconds)
        rounds = None if rounds is None else rounds - 1
    return built
