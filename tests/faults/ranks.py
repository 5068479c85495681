"""Two processes train one run: one of them is killed, or comes late."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults.laws import FINISHES, SAME, Law, is_same
from tests.faults.processes import Ended
from tests.faults.table import Fault
from tests.faults.world import World

KIND = "one of two processes"
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
PATIENCE = 600  # seconds until the first checkpoint, on a busy machine
LATE = "import os, time\nos.environ.get('RANK') == '1' and time.sleep(15)\n"


def command(world: World, output: Path, *more: str) -> list[str]:
    train = ["-m", "uegr.cli", "train", "--model", world.home / "model", "--dataset", world.home / "data"]
    steps = ["--epochs", "12", "--batch-size", "4", "--set", "training.checkpoint_steps=7", "--quiet"]
    return [str(part) for part in (sys.executable, *TORCHRUN, *train, "--output", output, *steps, *more)]


def environment(world: World) -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(world.cache)}


def ran(world: World, words: list[str], **variables: str) -> None:
    """A command to its end."""
    done = subprocess.run(words, capture_output=True, text=True, env=environment(world) | variables, check=False)
    world.ended.append(Ended(tuple(words[-8:]), done.returncode, done.stdout + done.stderr))


def ranks(launcher: int) -> list[int]:
    """The processes that torchrun has started, by rank."""
    listed = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    return sorted(int(number) for number in listed if b"uegr.cli" in Path(f"/proc/{number}/cmdline").read_bytes())


def killed(victim: int) -> Callable[[World], None]:
    """A whole run; another one of which a rank is killed after the first checkpoint, and which is then resumed."""

    def cause(world: World) -> None:
        ran(world, command(world, world.place / "whole"))
        words = command(world, world.place / "run")
        quiet = subprocess.DEVNULL
        with subprocess.Popen(words, stdout=quiet, stderr=quiet, env=environment(world)) as running:
            until = time.monotonic() + PATIENCE
            while not list((world.place / "run").glob("checkpoint-*/manifest.json")):
                assert running.poll() is None, "the run ended before its first checkpoint"
                assert time.monotonic() < until
                time.sleep(0.005)
            os.kill(ranks(running.pid)[victim], signal.SIGKILL)
            world.counts["kills"] += 1
            assert running.wait() != 0
        assert not (world.place / "run" / "result.json").exists()
        ran(world, command(world, world.place / "run", "--resume"))

    return cause


def late(world: World) -> None:
    """The second process starts when the first one has written to the folder: it does not take it for another run."""
    (world.place / "sitecustomize.py").write_text(LATE)
    path = os.pathsep.join([str(world.place), *filter(None, [os.environ.get("PYTHONPATH")])])
    ran(world, command(world, world.place / "run"), PYTHONPATH=path)


def is_bitwise(world: World) -> str | None:
    other = [name for name in SAME if not is_same(world.place / "run" / name, world.place / "whole" / name)]
    return f"{', '.join(other)} differ" if other else None


BITWISE = Law("the resumed run is bitwise the undisturbed one of two processes", is_bitwise)
ROWS = [
    Fault(KIND, "the first is killed", killed(0), (FINISHES, BITWISE), slow=True),
    Fault(KIND, "the second is killed", killed(1), (FINISHES, BITWISE), slow=True),
    Fault(KIND, "the second starts late", late, (FINISHES,), slow=True),
]
