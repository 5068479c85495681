"""Processes forked from the one that runs the tests: they have everything imported and can be killed at any moment."""

import os
import socket
import sys
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from accelerate.state import AcceleratorState

from uegr.cli import main
from uegr.training.processes import leave_processes


def forked(body: Callable[[], object]) -> int:
    """A process that does this and ends: with 0, with the code of its SystemExit, or with 1 after another exception."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # from Python 3.12 on, where the parent has threads
        process = os.fork()
    if process == 0:
        code = 1
        try:
            body()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        except Exception:
            traceback.print_exc()
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


def pair(body: Callable[[int], object]) -> list[int]:
    """How two processes end that are rank 0 and rank 1 of one training, as torchrun would start them."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": "2"}

    def one(rank: int) -> None:
        os.environ.update(place, RANK=str(rank), LOCAL_RANK=str(rank), LOCAL_WORLD_SIZE="2")
        AcceleratorState._reset_state(reset_partial_state=True)  # earlier tests trained alone
        body(rank)
        leave_processes()

    return [end_of(process) for process in [forked(partial(one, rank)) for rank in range(2)]]
