"""SIGTERM and Ctrl-C in the middle of a command: it ends with 143 or 130 and the command that resumes it."""

import signal
import time
from collections.abc import Callable
from pathlib import Path

from tests.faults.laws import FINISHES, SAME_RUN, Law
from tests.faults.processes import LIMIT, Running
from tests.faults.table import Fault
from tests.faults.world import ATTACK, World, attacks_of

KIND = "signal"
ENDS = {signal.SIGTERM: 143, signal.SIGINT: 130}
Work = Callable[[World], tuple[list[object], list[object], Callable[[], bool]]]


def interrupted(number: signal.Signals, work: Work) -> Callable[[World], None]:
    """A command gets a signal once it works, and is then resumed."""

    def cause(world: World) -> None:
        world.codes |= {ENDS[number]}
        words, resumed, works = work(world)
        running = world.start(*words)
        wait_for(running, works)
        running.send(number)
        world.end(running)
        world.counts["signals"] += 1
        world.uegr(*resumed)

    return cause


def wait_for(running: Running, works: Callable[[], bool]) -> None:
    until = time.monotonic() + LIMIT
    while not works() and not running.is_over() and time.monotonic() < until:
        time.sleep(0.002)


def has_lines(path: Path) -> bool:
    return path.is_file() and path.read_bytes().count(b"\n") > 0


def training(world: World) -> tuple[list[object], list[object], Callable[[], bool]]:
    run = world.place / "run"
    return world.train(run), ["train", "--resume", run, "--quiet"], lambda: has_lines(run / "metrics.jsonl")


def attack(world: World) -> tuple[list[object], list[object], Callable[[], bool]]:
    run = world.copy("finished")
    words = ["attack", run, *ATTACK, "--examples", "8"]
    journals = run / "attacks"
    return words, [*words, "--resume"], lambda: any(map(has_lines, journals.glob("*-8.jsonl")))


def benchmark(world: World) -> tuple[list[object], list[object], Callable[[], bool]]:
    words = world.benchmark(world.place / "grid")
    return words, words, lambda: has_lines(world.place / "grid" / "journal.jsonl")


def says_how(world: World) -> str | None:
    """The first command ended as it should, with the line that resumes it, unless it was faster than the signal."""
    first = world.ended[0]
    if first.code == 0:
        return None
    fits = "uegr: interrupted; " in first.output and " with: uegr " in first.output
    return None if fits and first.code in (130, 143) else f"ended with {first.code}: {first.output[-500:]}"


def saved(world: World) -> str | None:
    """The training that was ended by SIGTERM had written a checkpoint, from which the second one resumed."""
    import json

    result = json.loads((world.place / "run" / "result.json").read_bytes())
    return None if result["training"]["resumed"] else "it started over"


def attacked(world: World) -> str | None:
    return None if len(attacks_of(world.place / "finished")) == 2 else "an attack is not in the result"


RESUME = Law("it prints the command that resumes it", says_how)
SAVED = Law("it saves a checkpoint first", saved)
BOTH = Law("the result holds the attack", attacked)
ROWS = [
    Fault(KIND, "SIGTERM: train", interrupted(signal.SIGTERM, training), (RESUME, SAVED, FINISHES, SAME_RUN)),
    Fault(KIND, "Ctrl-C: train", interrupted(signal.SIGINT, training), (RESUME, FINISHES, SAME_RUN)),
    Fault(KIND, "SIGTERM: attack", interrupted(signal.SIGTERM, attack), (RESUME, FINISHES, BOTH)),
    Fault(KIND, "Ctrl-C: attack", interrupted(signal.SIGINT, attack), (RESUME, FINISHES, BOTH)),
    Fault(KIND, "SIGTERM: benchmark", interrupted(signal.SIGTERM, benchmark), (RESUME, FINISHES)),
    Fault(KIND, "Ctrl-C: benchmark", interrupted(signal.SIGINT, benchmark), (RESUME, FINISHES), slow=True),
]
