"""SIGTERM as an exception that is raised once and is not lost.

Python cannot raise everywhere: what a signal raises in a callback of a weak reference, or in `__del__`, is printed and
forgotten, and the program continues. So the signal is sent again a moment later, until its exception gets through.
"""

import os
import signal
import sys
import threading
from typing import Any

from uegr.errors import Terminated

MOMENT = 0.01  # seconds


class Ending:
    """Whether SIGTERM has come; whoever ends a group of processes often sends it twice, and once is enough."""

    def __init__(self) -> None:
        self.asked = False

    def listen(self) -> None:
        """From now on SIGTERM raises `Terminated`; Ctrl-C raises KeyboardInterrupt, as before."""
        signal.signal(signal.SIGTERM, self.ask)
        sys.unraisablehook = self.insist

    def ask(self, number: int, frame: Any) -> None:
        """The handler of SIGTERM."""
        if not self.asked:
            self.asked = True
            raise Terminated

    def insist(self, ignored: Any) -> None:
        """What Python does with an exception that cannot be raised; that of a signal must be."""
        if not isinstance(ignored.exc_value, KeyboardInterrupt):
            sys.__unraisablehook__(ignored)
            return
        self.asked = False
        number = signal.SIGTERM if isinstance(ignored.exc_value, Terminated) else signal.SIGINT
        again = threading.Timer(MOMENT, os.kill, (os.getpid(), number))
        again.daemon = True
        again.start()
