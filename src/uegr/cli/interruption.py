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


def resuming(stop: KeyboardInterrupt) -> str | None:
    """The line for a run that has started: its folder knows all other settings."""
    if stop.args[:1] != (STARTED,):
        return None
    return f"interrupted; resume with: {shlex.join([*program(), *stop.args[1:]])}"


def program() -> list[str]:
    """How this program was started: by itself, or as several processes by torchrun."""
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", 1))
    if processes == 1:
        return ["uegr"]
    nodes = int(os.environ.get("GROUP_WORLD_SIZE", 1))
    where = ["--standalone"] if nodes == 1 else [f"--nnodes={nodes}"]
    return ["torchrun", *where, f"--nproc-per-node={processes}", "-m", "uegr.cli"]


@contextmanager
def resumable(run: Path, more: Sequence[str] = ()) -> Iterator[None]:
    """An interruption in this block carries along how the run is resumed, once it has started; `more` are flags."""
    try:
        yield
    except KeyboardInterrupt as stop:
        place = f"./{run}" if str(run).startswith("-") else str(run)
        stop.args = (STARTED, "train", RESUME, place, *more) if (run / "config.yaml").is_file() else ()
        raise


def can_resume(command: str, arguments: Sequence[str]) -> bool:
    """Whether the command, which has the flag, may find something to resume."""
    return command not in NEEDS_A_START or RESUME in arguments
