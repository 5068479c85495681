"""Where a grid is worked on: its folder, its locks and its journal."""

import json
import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from uegr.benchmark.plan import Cell
from uegr.files import naming

JOURNAL = "journal.jsonl"
START = "start"
WARNING = "warning: "  # what an event that is a warning begins with


@dataclass(frozen=True)
class Work:
    """The folder of a grid, when the command started, the command itself, and the study of the ledger to write to."""

    root: Path
    since: float
    command: str = ""
    study: Path | None = None
    workers: int = 1  # cells that run at the same time

    def folder(self, cell: Cell) -> Path:
        return self.root / "cells" / cell.name

    def start_folder(self, cell: Cell) -> Path | None:
        """Where the cell is that this one starts from."""
        return self.root / "cells" / cell.start.name if cell.start else None

    def lock(self, name: str, *, wait: bool) -> FileLock:
        """The lock of a cell or a search; a new one each time, so that no two threads share it."""
        path = self.root / "locks" / f"{name}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(path, timeout=-1 if wait else 0, is_singleton=False)

    def is_held(self, cell: Cell) -> bool:
        """Whether a process works on a cell: one that was killed holds no lock."""
        try:
            with self.lock(cell.name, wait=False):
                return False
        except Timeout:
            return True

    def note(self, cell: Cell, event: str) -> None:
        """One line in the journal, in one write."""
        entry = {"time": round(time.time(), 3), "cell": cell.name, "event": event}
        entry |= {"process": os.getpid(), "host": socket.gethostname()}
        self.root.mkdir(parents=True, exist_ok=True)
        path = self.root / JOURNAL
        with naming(path), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def journal(root: Path) -> list[dict[str, Any]]:
    """The whole lines of the journal; a killed process may leave one that is cut."""
    return [entry for line in journal_lines(root) if (entry := entry_in(line)) is not None]


def journal_lines(root: Path) -> list[str]:
    path = root / JOURNAL
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []


def entry_in(line: str) -> dict[str, Any] | None:
    """The entry of a line, if it is one.

    >>> entry_in('{"cell": "a", "event": "train", "time": 1.5, "process": 7}') is not None, entry_in('{"cell": "a"')
    (True, None)
    """
    try:
        entry = json.loads(line)
        fits = isinstance(entry["time"], float | int) and all(isinstance(entry[key], str) for key in ("cell", "event"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return entry if fits and isinstance(entry.get("process"), int) else None


def attempts(root: Path, cell: Cell) -> int:
    """How many times the cell was started; this is written before each start, so that a killed one counts too."""
    return sum(entry["cell"] == cell.name and entry["event"] == START for entry in journal(root))
