"""The results of an attack as JSON lines: written as examples finish, read again to resume.

The first line has the settings, so that a journal is never continued with other ones. Then come outcomes in the order
in which they finish, and one line of costs per session. A line that a crash cut off is dropped.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from uegr.attacks.outcome import Effort, Outcome
from uegr.errors import InputError


class Journal:
    """The outcomes so far and the file that they are appended to; without a path there is no file."""

    def __init__(self, path: Path | None, settings: dict[str, Any], resume: bool) -> None:
        self.path, self.settings = path, json.loads(json.dumps(settings))
        self.outcomes: dict[int, Outcome] = {}
        self.effort = Effort()
        self.file: TextIO | None = None
        if path is not None and path.exists():
            if not resume:
                raise InputError(
                    f"{path} exists already; resume it (--resume), or start over (--overwrite, or remove it)"
                )
            self.read(path)

    def __enter__(self) -> "Journal":
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh = not self.path.exists()
            self.file = self.path.open("a", encoding="utf-8")
            if fresh:
                self.line("settings", self.settings)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.file is not None:
            self.file.close()

    def line(self, kind: str, content: dict[str, Any]) -> None:
        """Write one line, on disk before the next one starts."""
        if self.file is not None:
            self.file.write(json.dumps({"kind": kind, **content}, ensure_ascii=False) + "\n")
            self.file.flush()

    def add(self, outcome: Outcome) -> None:
        """A finished example."""
        self.outcomes[outcome.index] = outcome
        self.line("outcome", outcome.encoded())

    def close_session(self, effort: Effort) -> None:
        """What this session cost."""
        self.effort.add(effort)
        self.line("session", asdict(effort))

    def read(self, path: Path) -> None:
        """Read what is there; the settings must be the same."""
        content = path.read_bytes()
        complete = content[: content.rfind(b"\n") + 1]
        try:
            # not splitlines: a text may hold a Unicode line separator, which JSON does not escape
            lines = [json.loads(line) for line in complete.decode("utf-8").split("\n")[:-1]]
            kinds = [line.pop("kind") for line in lines]
            for kind, line in zip(kinds, lines, strict=True):
                if kind == "outcome":
                    outcome = Outcome.decoded(line)
                    self.outcomes[outcome.index] = outcome
                elif kind == "session":
                    self.effort.add(Effort(**line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path} is not the journal of an attack ({error}); remove the file") from error
        if lines:
            self.compare(path, lines[0] if kinds[0] == "settings" else {})
        trim(path, len(complete))

    def compare(self, path: Path, before: dict[str, Any]) -> None:
        """Refuse to continue with other settings than those the journal was started with."""
        for name in {**self.settings, **before}:
            was, now = before.get(name), self.settings.get(name)
            if was != now:
                raise InputError(
                    f"{path} was started with {name}={was!r}, got {now!r}; use the same settings, or --overwrite"
                )


def outcomes_of(path: Path) -> list[Outcome]:
    """The outcomes in a journal, in the order of the examples; the file is not changed."""
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
        found = [Outcome.decoded(line) for line in lines if line.pop("kind") == "outcome"]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path} is not the journal of an attack ({error}); attack that run again") from None
    if not found:
        raise InputError(f"{path} has no finished example; attack that run again")
    return sorted(found, key=lambda outcome: outcome.index)


def trim(path: Path, size: int) -> None:
    """Cut off an unfinished last line; delete a file without a complete line."""
    if size == 0:
        path.unlink()
    elif size < path.stat().st_size:
        os.truncate(path, size)
