"""Processes forked from the one that runs the tests: they have everything imported and can be killed at any moment."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from uegr.cli import main


def forked(body: Callable[[], object]) -> int:
    """A process that does this and ends: with 0, with the code of its SystemExit, or with 1 after another exception."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            body()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        finally:
            os._exit(code)
    return process


def command(*arguments: Any, output: Path) -> int:
    """`uegr ARGUMENTS` in a process of its own; what it prints goes to the file."""

    def body() -> None:
        with output.open("w", encoding="utf-8") as file:
            sys.stdout = sys.stderr = file
            sys.argv = ["uegr", *map(str, arguments)]
            main()

    return forked(body)


def end_of(process: int) -> int:
    """The exit code; negative is the number of the signal that ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
