"""The backends that run the cells: processes of this machine, one per cell; this process; or a Ray cluster.

None of them deals out work: each takes whatever cell is not done and not locked. So any number of commands, on one
machine or on several with a common file system, may work on one output folder at the same time.
"""

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import connection, get_all_start_methods, get_context, parent_process
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from uegr.benchmark.cells import attempt, failed_since, is_complete, record_failure, waits
from uegr.benchmark.plan import Cell
from uegr.benchmark.work import WARNING, Work
from uegr.errors import DataWarning, InputError, Terminated, TrainingWarning
from uegr.signals import Ending

POLL = 0.5  # seconds between two checks of what other processes do
RETRIES = 3  # of a Ray task whose node or process died
FORWARDED = ("UEGR_DATA", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_OFFLINE", "TOKENIZERS_PARALLELISM")
PRELOADED = ["torch", "datasets", "uegr.training.engine", "uegr.runs.train", "uegr.runs.evaluate", "uegr.runs.attack"]
Changed = Callable[[Cell], None]


def run_here(work: Work, cells: Sequence[Cell], changed: Changed = lambda cell: None) -> None:
    """One cell after the other; cells that are busy are checked again, until all have ended."""
    waiting = list(cells)
    while waiting:
        busy = []
        for cell in waiting:
            if attempt(work, cell) == "busy":
                busy.append(cell)
            else:
                changed(cell)
        if len(busy) == len(waiting):
            time.sleep(POLL)
        waiting = busy


def run_processes(work: Work, cells: Sequence[Cell], count: int, changed: Changed = lambda cell: None) -> None:
    """`count` cells at a time, each in a process of its own: one that dies, of memory for instance, costs its cell."""
    start, waiting = Starter(work, count), list(cells)
    running: dict[BaseProcess, Cell] = {}
    try:
        while waiting or running:
            for cell in waiting[:]:
                if len(running) < count and not waits(work, cell) and not work.is_held(cell):
                    waiting.remove(cell)
                    running[start(cell)] = cell
            connection.wait([process.sentinel for process in running], POLL) if running else time.sleep(POLL)
            for process in [one for one in running if one.exitcode is not None]:
                blame(work, running[process], process)
                changed(running.pop(process))
    finally:
        for process in running:
            process.terminate()
            process.join()


class Place(NamedTuple):
    """What the process of a cell takes over from its parent; the server that it is forked from may have others."""

    folder: str
    environment: dict[str, str]
    path: list[str]
    threads: int


class Starter:
    """Starts the process of a cell, forked from a server that has imported everything and done nothing."""

    def __init__(self, work: Work, count: int) -> None:
        import torch

        self.context: Any = get_context("forkserver" if "forkserver" in get_all_start_methods() else "spawn")
        self.context.set_forkserver_preload(PRELOADED)
        self.work, self.threads = work, max(1, torch.get_num_threads() // count)

    def __call__(self, cell: Cell) -> BaseProcess:
        place = Place(os.getcwd(), dict(os.environ), list(sys.path), self.threads)
        process: BaseProcess = self.context.Process(target=do_cell, args=(self.work, cell, place))
        process.start()
        return process


def do_cell(work: Work, cell: Cell, place: Place) -> None:
    """The body of the process of a cell."""
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent is interrupted too, and ends its processes
    threading.Thread(target=end_with_parent, daemon=True).start()
    os.chdir(place.folder)
    os.environ.clear()
    os.environ.update(place.environment)
    sys.path[:] = place.path
    torch.set_num_threads(place.threads)
    try:
        with Ending().listening(), noted_warnings(work, cell):  # a training saves first (training/termination.py)
            attempt(work, cell, wait=True)
    except Terminated:
        raise SystemExit(128 + signal.SIGTERM) from None


@contextmanager
def noted_warnings(work: Work, cell: Cell) -> Iterator[None]:
    """The tool's own warnings go to the journal: the terminal belongs to the parent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for category in (DataWarning, TrainingWarning):
            warnings.simplefilter("always", category)
        warnings.showwarning = lambda message, *args, **kwargs: work.note(cell, f"{WARNING}{message}")
        yield


def end_with_parent() -> None:
    """Killing the parent also kills its workers."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def blame(work: Work, cell: Cell, process: BaseProcess) -> None:
    """A process that died could not record its failure itself."""
    if process.exitcode and not is_complete(work, cell) and not failed_since(work, cell):
        record_failure(work, cell, f"its process ended with {process.exitcode}; -9 is often too little memory")


def run_on_ray(
    work: Work,
    cells: Sequence[Cell],
    *,
    address: str | None = None,
    cpus: float = 1,
    gpus: float = 0,
    changed: Changed = lambda cell: None,
) -> None:
    """Every cell as a Ray task; the tasks of a node that dies run again elsewhere, from the last checkpoint.

    Ray starts a task when the one that its cell starts from has ended; the plan has that one first.
    """
    ray = connected(address)
    task = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=RETRIES)(on_a_node)
    tasks: dict[str, Any] = {}
    for cell in cells:
        after = tasks.get(cell.start.name) if cell.start else None
        tasks[cell.name] = task.remote(work, cell, os.getcwd(), after)
    pending = {tasks[cell.name]: cell for cell in cells}
    while pending:
        for reference in ray.wait(list(pending), num_returns=1)[0]:
            cell = pending.pop(reference)
            try:
                ray.get(reference)
            except ray.exceptions.RayError as error:
                record_failure(work, cell, error)
            changed(cell)


def connected(address: str | None) -> Any:
    """Ray, connected to an existing cluster, or to a new one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # a cluster that we start sends no usage statistics
    try:
        import ray
    except ImportError:
        raise InputError("--backend ray needs Ray, which is not installed; pip install 'uegr[ray]'") from None
    environment = {name: os.environ[name] for name in FORWARDED if name in os.environ}
    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, runtime_env={"env_vars": environment})
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise InputError(f"no Ray cluster at {address}: {error}; start one with `ray start --head`") from None
    return ray


def on_a_node(work: Work, cell: Cell, folder: str, after: str | None) -> str:
    """The body of a task, which Ray starts when `after`, another task, has ended.

    A twin that is still alive somewhere holds the lock: wait for it, and find its result.
    """
    if os.path.isdir(folder):
        os.chdir(folder)  # paths in a grid are relative to where the command was given
    warnings.filterwarnings("ignore")
    return attempt(work, cell, wait=True)
