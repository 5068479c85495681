"""Where a grid is worked on: its folder, its locks and its journal."""

import json
import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from uegr.benchmark.plan import Cell

JOURNAL = "journal.jsonl"


@dataclass(frozen=True)
class Work:
    """The folder of a grid, when the command started, and the command itself."""

    root: Path
    since: float
    command: str = ""

    def folder(self, cell: Cell) -> Path:
        return self.root / "cells" / cell.name

    def lock(self, name: str, *, wait: bool) -> FileLock:
        """The lock of a cell or a search; a new one each time, so that no two threads share it."""
        path = self.root / "locks" / f"{name}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(path, timeout=-1 if wait else 0, is_singleton=False)

    def note(self, cell: Cell, event: str) -> None:
        """One line in the journal, in one write."""
        entry = {"time": round(time.time(), 3), "cell": cell.name, "event": event}
        entry |= {"process": os.getpid(), "host": socket.gethostname()}
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / JOURNAL).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def journal(root: Path) -> list[dict[str, Any]]:
    """The whole lines of the journal; a killed process may leave one that is cut."""
    path, entries = root / JOURNAL, []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries
