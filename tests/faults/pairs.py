"""Two commands on one folder that start at the same moment."""

import json
import os
from collections.abc import Callable
from pathlib import Path

from tests.faults.laws import ALL_END_WELL, SAME_RUN, SOME_END_WELL, Law
from tests.faults.table import Fault
from tests.faults.world import ATTACK, EVALUATE, World, attacks_of

KIND = "two commands on one folder"
Words = list[object]
TIMES = 20  # of each pair in the slow part


def together(world: World, *commands: Words) -> None:
    """Start the commands, open one gate for all, and wait for all."""
    wait, open_gate = os.pipe()

    def gate() -> None:
        os.close(open_gate)
        os.read(wait, 1)

    running = [world.start(*words, before=gate) for words in commands]
    os.close(wait)
    os.close(open_gate)
    for one in running:
        world.end(one)
    world.counts["pairs"] += 1


def pair(name: str, *commands: Callable[[World, Path], Words], times: int = 1) -> Callable[[World], None]:
    """Commands on a copy of something at home, or on a new run."""

    def cause(world: World) -> None:
        place = world.place
        for number in range(times):
            world.place = place if times == 1 else place / str(number)
            world.place.mkdir(exist_ok=True)
            run = world.copy(name, "run") if name else world.place / "run"
            together(world, *(command(world, run) for command in commands))
        world.place = place

    return cause


def train(world: World, run: Path) -> Words:
    return world.train(run)


def resume(world: World, run: Path) -> Words:
    return ["train", run, "--resume", "--quiet"]


def evaluate(world: World, run: Path) -> Words:
    return ["evaluate", run, *EVALUATE]


def attack(world: World, run: Path) -> Words:
    return ["attack", run, *ATTACK, "--examples", "3"]


def other_attack(world: World, run: Path) -> Words:
    return ["attack", run, *ATTACK, "--examples", "3", "--seed", "1"]


def resumed_attack(world: World, run: Path) -> Words:
    return ["attack", run, *ATTACK, "--examples", "3", "--resume"]


def predict(world: World, run: Path) -> Words:
    return ["predict", run, "--text", "a fine film"]


def export(world: World, run: Path) -> Words:
    return ["export", run, "--onnx"]


def report(world: World, run: Path) -> Words:
    return ["report", run, "--output", world.place / "page.html"]


def benchmark(world: World, run: Path) -> Words:
    return world.benchmark(run)


def runs(world: World) -> list[Path]:
    return [path.parent for path in world.place.glob("**/run/result.json")]


def with_attacks(count: int, evaluated: bool = False) -> Law:
    """What the commands added is there, beside what was there before."""

    def check(world: World) -> str | None:
        for run in runs(world):
            task = json.loads((run / "result.json").read_bytes())["tasks"]["data"]
            if len(task["attacks"]) != count or bool(task["evaluation"]) != evaluated:
                return f"{run} has the attacks {attacks_of(run)} and the evaluation {bool(task['evaluation'])}"
        return None if runs(world) else "no run is finished"

    added = "the evaluation and " if evaluated else ""
    return Law(f"the result holds {added}{count} attacks", check)


def journals(world: World) -> str | None:
    """Each journal has one line of settings and one outcome per example."""
    for path in world.place.glob("**/attacks/*.jsonl"):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        indices = [line["index"] for line in lines if line["kind"] == "outcome"]
        if sorted(indices) != list(range(len(indices))) or [line["kind"] for line in lines].count("settings") != 1:
            return f"{path} has the outcomes {indices}"
    return None


WHOLE_JOURNALS = Law("every journal has each example once", journals)
ONE = (SOME_END_WELL, SAME_RUN)
PAIRS = {
    "train, train": (pair("", train, train), ONE),
    "train --resume, train --resume": (pair("cut", resume, resume), ONE),
    "train --resume, evaluate": (pair("cut", resume, evaluate), ONE),
    "train --resume, attack": (pair("cut", resume, attack), ONE),
    "train --resume, report": (pair("cut", resume, report), ONE),
    "evaluate, attack": (pair("finished", evaluate, attack), (ALL_END_WELL, with_attacks(2, True), WHOLE_JOURNALS)),
    "evaluate, evaluate": (pair("finished", evaluate, evaluate), (ALL_END_WELL, with_attacks(1, True))),
    "attack, attack": (pair("finished", attack, attack), (SOME_END_WELL, with_attacks(2), WHOLE_JOURNALS)),
    "attack --resume, attack --resume": (
        pair("finished", resumed_attack, resumed_attack),
        (SOME_END_WELL, with_attacks(2), WHOLE_JOURNALS),
    ),
    "attack, attack with another seed": (
        pair("finished", attack, other_attack),
        (ALL_END_WELL, with_attacks(3), WHOLE_JOURNALS),
    ),
    "attack, predict": (pair("finished", attack, predict), (ALL_END_WELL, with_attacks(2))),
    "attack, report": (pair("finished", attack, report), (ALL_END_WELL, with_attacks(2))),
}
SLOW = {
    "benchmark, benchmark": (pair("", benchmark, benchmark), (ALL_END_WELL,)),
    "export, attack": (pair("finished", export, attack), (ALL_END_WELL, with_attacks(2))),
    "export, export": (pair("finished", export, export), (ALL_END_WELL,)),
    "evaluate, attack, twenty times": (
        pair("finished", evaluate, attack, times=TIMES),
        (ALL_END_WELL, with_attacks(2, True), WHOLE_JOURNALS),
    ),
    "attack --resume, attack --resume, twenty times": (
        pair("finished", resumed_attack, resumed_attack, times=TIMES),
        (SOME_END_WELL, with_attacks(2), WHOLE_JOURNALS),
    ),
    "train --resume, train --resume, twenty times": (pair("cut", resume, resume, times=TIMES), (SOME_END_WELL,)),
}
ROWS = [
    *(Fault(KIND, name, cause, holds) for name, (cause, holds) in PAIRS.items()),
    *(Fault(KIND, name, cause, holds, slow=True) for name, (cause, holds) in SLOW.items()),
]
