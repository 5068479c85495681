"""SIGTERM during a training: a checkpoint at the end of the step, where that takes at most five seconds, then the end.

Clusters and spot machines send SIGTERM and kill soon after. A program without a handler of its own for SIGTERM ends at
once, as before: a library must not change that. `uegr` has one (cli/program.py).

Of several processes some may be in the next step when the signal comes. So each says at the end of a step whether it
was asked, without waiting for the answer, and reads at the end of the next step what all have said: they save and end
at the same step.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, distributed
from transformers import TrainerCallback

from uegr.errors import Terminated

GRACE = 5.0  # seconds


class SaveAndEnd(TrainerCallback):
    """Ends the training between two steps, after a checkpoint. It comes before those that react to a checkpoint."""

    def __init__(self) -> None:
        self.asked = self.ending = self.listens = False
        self.votes: Votes | None = None

    def ask(self, number: int, frame: Any) -> None:
        """The handler of SIGTERM; torchrun passes on what the whole group was sent, so a second one means nothing."""
        if not self.asked:
            self.asked = True
            signal.setitimer(signal.ITIMER_REAL, GRACE)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.listens and args.world_size > 1 and distributed.is_gloo_available():
            self.votes = Votes()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.ending = self.votes.cast(self.asked) if self.votes else self.asked
        control.should_save = control.should_save or self.ending

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.votes:
            self.votes.wait()

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.ending:
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
        self.listens = True
        try:
            with self.alone():
                yield
            if self.asked:
                raise Terminated
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGTERM, before)
            signal.signal(signal.SIGALRM, alarm)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Another process may have ended first, and a common step then fails: that is the end too."""
        try:
            yield
        except RuntimeError as error:
            if self.asked and self.votes:
                raise Terminated from error
            raise


class Votes:
    """What all processes say at the end of each step; the answer is read one step later and costs no waiting."""

    def __init__(self) -> None:
        self.group = distributed.new_group(backend="gloo")
        self.said: Tensor | None = None
        self.sent: Any = None

    def cast(self, vote: bool) -> bool:
        """Whether any process voted yes at the end of the step before; the same answer in every process."""
        self.wait()
        answer = self.said is not None and bool(self.said)
        self.said = torch.tensor(int(vote))
        self.sent = distributed.all_reduce(self.said, distributed.ReduceOp.MAX, group=self.group, async_op=True)
        return answer

    def wait(self) -> None:
        """Until the answer to the last vote is here."""
        if self.sent is not None:
            self.sent.wait()


def give_up(number: int, frame: Any) -> None:
    """The step took too long: what was saved before must do."""
    raise Terminated
