"""SIGTERM during a training: a checkpoint at the end of the step, where that takes at most five seconds, then the end.

Clusters and spot machines send SIGTERM and kill soon after. A program without a handler of its own for SIGTERM ends at
once, as before: a library must not change that. `uegr` has one (cli/program.py).
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from transformers import TrainerCallback

from uegr.errors import Terminated

GRACE = 5.0  # seconds


class SaveAndEnd(TrainerCallback):
    """Ends the training between two steps, after a checkpoint. It comes first: others react to a checkpoint."""

    def __init__(self) -> None:
        self.asked = False

    def ask(self, number: int, frame: Any) -> None:
        """The handler of SIGTERM; a second signal ends at once."""
        if self.asked:
            raise Terminated
        self.asked = True
        signal.setitimer(signal.ITIMER_REAL, GRACE)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        control.should_save = control.should_save or self.asked

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.asked:
            raise Terminated

    @contextmanager
    def listening(self) -> Iterator[None]:
        """In this block SIGTERM lets the step end; afterwards it is what it was."""
        before = signal.getsignal(signal.SIGTERM)
        if not callable(before) or threading.current_thread() is not threading.main_thread():
            yield
            return
        alarm = signal.signal(signal.SIGALRM, give_up)
        signal.signal(signal.SIGTERM, self.ask)
        try:
            yield
            if self.asked:
                raise Terminated
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGTERM, before)
            signal.signal(signal.SIGALRM, alarm)


def give_up(number: int, frame: Any) -> None:
    """The step took too long: what was saved before must do."""
    raise Terminated
