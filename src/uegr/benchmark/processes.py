"""One cell trained by several processes, one per GPU, through torchrun."""

import ctypes
import signal
import subprocess
import sys
from pathlib import Path

import yaml

from uegr.benchmark.plan import Cell
from uegr.benchmark.work import Work
from uegr.files import write_text
from uegr.runs.folder import CONFIG
from uegr.runs.prepare import resolved
from uegr.training.config import RunConfig

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def train_together(work: Work, cell: Cell, config: RunConfig) -> None:
    """`uegr train` under torchrun; the batch size is that of one process."""
    file = work.root / "locks" / f"{cell.name}.yaml"
    write_text(file, yaml.safe_dump(resolved(config), sort_keys=False, allow_unicode=True))
    words, nowhere, pipe = command(file, work.folder(cell), cell.processes), subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(words, stdout=nowhere, stderr=pipe, preexec_fn=end_with_parent) as run:
        try:
            _, errors = run.communicate()
        finally:
            run.terminate()  # torchrun ends its processes when it is asked to
    if run.returncode:
        raise RuntimeError(last_error(errors.decode("utf-8", "replace"), run.returncode))


def command(file: Path, place: Path, processes: int) -> list[str]:
    """What trains a configuration in a folder; a run that has started there is resumed."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
    train = ["-m", "uegr.cli", "train", "--config", str(file), "--output", str(place), "--quiet"]
    train += ["--allow-code"]  # what the file names was allowed when the grid was read
    return [sys.executable, *launcher, *train, *(["--resume"] if (place / CONFIG).is_file() else [])]


def end_with_parent() -> None:
    """Killing the parent also kills its workers: its lock on the cell is gone, and another process may take over."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def last_error(errors: str, code: int) -> str:
    """The error of the program itself, not torchrun's report of it.

    >>> last_error("x\\nuegr: error: no data\\n==== FAILED ====", 1)
    'uegr: error: no data'
    """
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("uegr: error:") or "Error: " in line]
    return own[0] if own else f"torchrun ended with {code}: {lines[-1] if lines else 'no message'}"
