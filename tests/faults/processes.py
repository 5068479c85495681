"""Commands in processes that are forked from a warm one: everything is imported, so a fault hits the work."""

import os
import select
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tests.forks import forked
from uegr.cli import main

tqdm.set_lock(threading.RLock())  # its usual lock is shared by all forks, and one that is killed may hold it for ever
LIMIT = 600.0  # seconds, on a busy machine; a command that takes longer hangs


def nothing() -> None:
    """The usual preparation of a process."""


@dataclass(frozen=True)
class Ended:
    """How a command ended, with all that it printed; a negative code is the signal that killed it."""

    words: tuple[str, ...]
    code: int
    output: str
    hung: bool = False

    @property
    def lines(self) -> list[str]:
        return self.output.splitlines()


class Running:
    """A `uegr` command in a process of its own; `before` prepares that process."""

    def __init__(self, words: Sequence[object], log: Path, before: Callable[[], object] = nothing) -> None:
        self.words, self.log = tuple(map(str, words)), log
        log.touch()  # a process may be killed before it opens its log
        self.number = forked(lambda: become(self.words, log, before))

    def is_over(self) -> bool:
        return self.wait(0)

    def wait(self, seconds: float) -> bool:
        """Whether it is over within this time."""
        handle = os.pidfd_open(self.number)
        try:
            return bool(select.select([handle], [], [], seconds)[0])
        finally:
            os.close(handle)

    def send(self, number: int = signal.SIGKILL) -> None:
        """A signal; nobody else has taken the number of the process, which nobody has waited for yet."""
        os.kill(self.number, number)

    def ended(self, seconds: float = LIMIT) -> Ended:
        """Wait for the end; a process that hangs is killed."""
        hung = not self.wait(seconds)
        if hung:
            self.send()
        code = os.waitstatus_to_exitcode(os.waitpid(self.number, 0)[1])
        return Ended(self.words, code, self.log.read_text(encoding="utf-8", errors="replace"), hung)


def become(words: tuple[str, ...], log: Path, before: Callable[[], object]) -> None:
    """Be the command line."""
    redirect(log)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.argv = ["uegr", *words]
    try:
        before()
        main()
    except Exception:
        traceback.print_exc()
        raise SystemExit(1) from None
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def redirect(log: Path) -> None:
    """Everything that is printed goes to a file, also what a library prints past Python."""
    handle = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_APPEND, 0o666)
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    sys.stdout, sys.stderr = (open(number, "w", buffering=1, closefd=False) for number in (1, 2))  # noqa: SIM115
    sys.stdin = open(os.devnull)  # noqa: SIM115


def killed_before_rename(number: int) -> Callable[[], None]:
    """The process kills itself just before its rename of this number, from 1."""
    seen = 0

    def patched(real: Callable[..., None]) -> Callable[..., None]:
        def move(*args: Any, **options: Any) -> None:
            nonlocal seen
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)
            real(*args, **options)

        return move

    def before() -> None:
        os.replace, os.rename = patched(os.replace), patched(os.rename)

    return before


def killed_at_step(step: int) -> Callable[[], None]:
    """A training kills itself at the end of this step."""

    def before() -> None:
        from uegr.training.callbacks import ShowProgress

        def on_step_end(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.global_step == step:
                os.kill(os.getpid(), signal.SIGKILL)

        ShowProgress.on_step_end = on_step_end  # type: ignore[method-assign]

    return before
