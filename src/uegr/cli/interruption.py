"""What to type after Ctrl-C: the command that resumes the one that was interrupted."""

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

RESUME = "--resume"
KEEPS_WORK = ("benchmark", "demo")  # the same command does what is missing
NEEDS_A_START = ("train",)  # with --resume, where nothing has started, it is refused
STARTED = "there is something to resume"


def advice(arguments: Sequence[str], has_resume: bool) -> str:
    """One line for the terminal; `has_resume` says whether the command takes the flag now.

    >>> advice(["train", "--dataset", "my data.csv"], has_resume=True)
    "interrupted; resume with: uegr train --dataset 'my data.csv' --resume"
    >>> advice(["evaluate", "runs/first"], has_resume=False)
    'interrupted; run it again with: uegr evaluate runs/first'
    """
    words = list(arguments)
    if has_resume and RESUME not in words:
        words.insert(words.index("--") if "--" in words else len(words), RESUME)
    how = "resume" if has_resume or (words[:1] and words[0] in KEEPS_WORK) else "run it again"
    return f"interrupted; {how} with: {shlex.join([*program(), *words])}"


def program() -> list[str]:
    """How this program was started: by itself, or as several processes by torchrun."""
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    if processes == 1:
        return ["uegr"]
    nodes = int(os.environ.get("GROUP_WORLD_SIZE", 1))
    where = ["--standalone"] if nodes == 1 else [f"--nnodes={nodes}"]
    return ["torchrun", *where, f"--nproc-per-node={processes}", "-m", "uegr.cli"]


@contextmanager
def resumable(run: Path) -> Iterator[None]:
    """An interruption in this block carries along whether the run has started."""
    try:
        yield
    except KeyboardInterrupt as stop:
        stop.args = (STARTED,) if (run / "config.yaml").is_file() else ()
        raise


def can_resume(command: str, arguments: Sequence[str], stop: KeyboardInterrupt) -> bool:
    """Whether the command, which has the flag, would find something to resume."""
    return command not in NEEDS_A_START or RESUME in arguments or STARTED in stop.args
