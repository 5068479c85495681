"""The results of an attack as JSON lines: written as examples finish, read again to resume.

The first line has the settings, so that a journal is never continued with other ones. Then come outcomes in the order
in which they finish, and one line of costs per session. A line that a crash cut off is dropped. One process at a time
writes a journal: the file itself is locked.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from uegr.attacks.outcome import Effort, Outcome
from uegr.errors import InputError
from uegr.files import naming


class Journal:
    """The outcomes so far and the file that they are appended to; without a path there is no file."""

    def __init__(self, path: Path | None, settings: dict[str, Any], resume: bool) -> None:
        self.path, self.settings, self.resume = path, json.loads(json.dumps(settings)), resume
        self.outcomes: dict[int, Outcome] = {}
        self.effort = Effort()
        self.file: TextIO | None = None

    def __enter__(self) -> "Journal":
        if self.path is not None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.file = self.path.open("a", encoding="utf-8")
            try:
                self.start(self.path, self.file)
            except BaseException:
                self.close(self.path, self.file)
                raise
        return self

    def start(self, path: Path, file: TextIO) -> None:
        """Take the file, and read what is in it; a new one begins with the settings."""
        claim(file, path)
        if path.stat().st_size and not self.resume:
            raise InputError(f"{path} exists already; resume it (--resume), or start over (--overwrite, or remove it)")
        if path.stat().st_size:
            self.read(path)
        if not path.stat().st_size:
            self.line("settings", self.settings)

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.file is not None and self.path is not None:
            self.close(self.path, self.file)

    def close(self, path: Path, file: TextIO) -> None:
        """A line that could not be written is tried again, and fails again."""
        with naming(path):
            file.close()

    def line(self, kind: str, content: dict[str, Any]) -> None:
        """Write one line, on disk before the next one starts."""
        if self.file is not None and self.path is not None:
            with naming(self.path):
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
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(f"{path} is not the journal of an attack ({error}); remove the file") from error
        if lines:
            self.compare(path, lines[0] if kinds[0] == "settings" else {})
        os.truncate(path, len(complete))  # an unfinished last line

    def compare(self, path: Path, before: dict[str, Any]) -> None:
        """Refuse to continue with other settings than those the journal was started with."""
        for name in {**self.settings, **before}:
            was, now = before.get(name), self.settings.get(name)
            if was != now:
                raise InputError(
                    f"{path} was started with {name}={was!r}, got {now!r}; use the same settings, or --overwrite"
                )


def outcomes_of(path: Path) -> list[Outcome]:
    """The outcomes in a journal, in the order of the examples; there must be some. The file is not changed."""
    found = outcomes_so_far(path)
    if not found:
        raise InputError(f"{path} has no finished example; attack that run again")
    return sorted(found, key=lambda outcome: outcome.index)


def outcomes_so_far(path: Path) -> list[Outcome]:
    """The outcomes in a journal, maybe none; its last line may have been cut."""
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
        return [Outcome.decoded(line) for line in lines if line.pop("kind") == "outcome"]
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(f"{path} is not the journal of an attack ({error}); attack that run again") from None


def claim(file: TextIO, path: Path) -> None:
    """Lock the file until it is closed; the kernel lets go of the lock of a process that is killed."""
    if os.name != "posix":
        return
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(f"another process writes {path}; wait for it, then use --resume") from None


def discard(path: Path) -> None:
    """Delete a journal, unless another process writes it."""
    if path.exists():
        with path.open("a", encoding="utf-8") as file:
            claim(file, path)
            path.unlink()
