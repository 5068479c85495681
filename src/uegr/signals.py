"""SIGTERM as an exception that is not lost.

What a signal raises may get lost: Python prints and forgets it in `__del__` and in the callback of a weak reference. A
library may catch everything and continue, or raise an error of its own instead. So the signal is sent again every
moment until its exception is on its way to the end of the command. It does not disturb what cleans up on this way.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from uegr.errors import Terminated

MOMENT = 0.02  # seconds


class Ending:
    """Whether SIGTERM has come; whoever ends a group of processes often sends it twice, and once is enough."""

    def __init__(self) -> None:
        self.asked, self.over = False, threading.Event()
        self.sender = threading.Thread(target=self.send_again, daemon=True)

    @contextmanager
    def listening(self) -> Iterator["Ending"]:
        """In this block SIGTERM raises `Terminated`; afterwards it ends the process, as if nobody listened."""
        signal.signal(signal.SIGTERM, self.ask)
        before, sys.unraisablehook = sys.unraisablehook, shown
        try:
            yield self
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            self.over.set()
            if self.asked:
                self.sender.join()
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            sys.unraisablehook = before

    def ask(self, number: int, frame: Any) -> None:
        """The handler of SIGTERM."""
        if not self.asked:
            self.asked = True
            self.sender.start()
        if not is_ending(sys.exc_info()[1]):
            raise Terminated

    def send_again(self) -> None:
        while not self.over.wait(MOMENT):
            os.kill(os.getpid(), signal.SIGTERM)


def is_ending(handled: BaseException | None) -> bool:
    """Whether the exception that is being handled comes from SIGTERM.

    >>> is_ending(Terminated()), is_ending(ValueError()), is_ending(None)
    (True, False, False)
    """
    while handled is not None and not isinstance(handled, Terminated):
        handled = handled.__context__
    return handled is not None


def shown(ignored: Any) -> None:
    """Show an exception that cannot be raised; that of SIGTERM comes again, and Ctrl-C is sent again."""
    if not isinstance(ignored.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(ignored)
    elif not isinstance(ignored.exc_value, Terminated):
        again = threading.Timer(MOMENT, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()
