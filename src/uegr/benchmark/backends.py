"""The backends that run the cells: this process, several processes of this machine, or a Ray cluster.

None of them deals out work: each takes whatever cell is not done and not locked. So any number of commands, on one
machine or on several with a common file system, may work on one output folder at the same time.
"""

import os
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from multiprocessing import get_context, parent_process
from multiprocessing.process import BaseProcess
from typing import Any

from uegr.benchmark.cells import attempt, failed_since, is_complete, record_failure
from uegr.benchmark.plan import Cell
from uegr.benchmark.work import Work, journal
from uegr.errors import InputError

POLL = 0.5  # seconds between two checks of what other processes do
RETRIES = 3  # of a Ray task whose node or process died
FORWARDED = ("UEGR_DATA", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_OFFLINE", "TOKENIZERS_PARALLELISM")
Changed = Callable[[Cell], None]


def run_here(work: Work, cells: Sequence[Cell], changed: Changed = lambda cell: None) -> None:
    """One cell after the other; cells that another process works on are checked again, until all have ended."""
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
    """`count` processes that each do what `run_here` does; one that dies fails its cell and is replaced."""
    start = Starter(work, cells, count)
    running = [start() for _ in range(min(count, len(cells)))]
    ended: set[str] = set()
    try:
        while running:
            time.sleep(POLL)
            tell(work, cells, ended, changed)
            for process in [one for one in running if one.exitcode is not None]:
                running.remove(process)
                if process.exitcode:
                    blame(work, cells, process)
                    running.append(start())
    finally:
        for process in running:
            process.terminate()
            process.join()
    tell(work, cells, ended, changed)


class Starter:
    """Starts a worker process."""

    def __init__(self, work: Work, cells: Sequence[Cell], count: int) -> None:
        self.arguments = (work, list(cells), count)

    def __call__(self) -> BaseProcess:
        process = get_context("spawn").Process(target=worker, args=self.arguments, daemon=False)
        process.start()
        return process


def worker(work: Work, cells: Sequence[Cell], count: int) -> None:
    """The body of one of `count` worker processes, which share the processors."""
    import torch

    threading.Thread(target=end_with_parent, daemon=True).start()
    torch.set_num_threads(max(1, torch.get_num_threads() // count))
    warnings.filterwarnings("ignore")
    run_here(work, cells)


def end_with_parent() -> None:
    """Killing the parent also kills its workers."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def tell(work: Work, cells: Sequence[Cell], ended: set[str], changed: Changed) -> None:
    """Report the cells that have ended since the last time."""
    for cell in cells:
        if cell.name not in ended and (is_complete(work, cell) or failed_since(work, cell)):
            ended.add(cell.name)
            changed(cell)


def blame(work: Work, cells: Sequence[Cell], process: BaseProcess) -> None:
    """A process that died, of memory for instance, could not record its failure itself."""
    own = [entry["cell"] for entry in journal(work.root) if entry["process"] == process.pid]
    cell = next((cell for cell in cells if own and cell.name == own[-1]), None)
    if cell is None:
        raise InputError(f"a worker process ended with {process.exitcode} before it started; try --workers 1")
    if not is_complete(work, cell) and not failed_since(work, cell):
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
    """Every cell as a Ray task; the tasks of a node that dies run again elsewhere, from the last checkpoint."""
    ray = connected(address)
    task = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=RETRIES)(on_a_node)
    pending = {task.remote(work, cell, os.getcwd()): cell for cell in cells}
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


def on_a_node(work: Work, cell: Cell, folder: str) -> str:
    """The body of a task. A twin that is still alive somewhere holds the lock: wait for it, and find its result."""
    if os.path.isdir(folder):
        os.chdir(folder)  # paths in a grid are relative to where the command was given
    warnings.filterwarnings("ignore")
    return attempt(work, cell, wait=True)
