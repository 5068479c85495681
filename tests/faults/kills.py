"""Kills just before each rename: of a training again and again in one folder, of other commands in a new copy each."""

from collections.abc import Callable

from tests.faults.laws import ALL_END_WELL, FINISHES, SAME_RUN, TIDY, Law
from tests.faults.processes import killed_before_rename
from tests.faults.table import Fault
from tests.faults.world import ATTACK, EVALUATE, World, attacks_of

KIND = "kill before each rename"
MOST = 200  # renames of a command; more means that a resumed one makes no progress
Words = Callable[[World], list[object]]


def training(world: World) -> None:
    """Killed before its first rename, resumed and killed before its second, and so on to the end; the cache is new."""
    world.cache = world.place / "cache"
    words, kills = world.train(world.place / "run"), 0
    while world.killed(*words, *resumed(world), before=killed_before_rename(kills + 1)):
        kills += 1
        assert kills < MOST
        if (world.place / "run" / "result.json").exists():
            break
    world.uegr(*words, *resumed(world))


def resumed(world: World) -> list[str]:
    """A training resumes what has started."""
    return ["--resume"] if (world.place / "run" / "config.yaml").exists() else []


def each_rename(name: str, words: Words) -> Callable[[World], None]:
    """The command on a copy of `name`, killed before its first rename; then on another, before its second, ..."""

    def cause(world: World) -> None:
        place, again = world.place, True
        for number in range(1, MOST):
            world.place = place / str(number)
            world.place.mkdir()
            if name:
                world.copy(name)
            again = world.killed(*words(world), before=killed_before_rename(number))
            if not again:
                break
            world.uegr(*words(world))
        world.place = place
        assert world.counts["kills"]

    return cause


def evaluation(world: World) -> list[object]:
    return ["evaluate", world.place / "finished", *EVALUATE]


def attack(world: World) -> list[object]:
    return ["attack", world.place / "finished", *ATTACK, "--examples", "3", "--resume"]


def prediction(world: World) -> list[object]:
    rows = world.home / "data" / "test.csv"
    return ["predict", world.place / "finished", rows, "--output", world.place / "answers.csv"]


def export(world: World) -> list[object]:
    return ["export", world.place / "finished", "--onnx"]


def report(world: World) -> list[object]:
    return ["report", world.home / "finished", "--output", world.place / "page.html"]


def benchmark(world: World) -> list[object]:
    return world.benchmark(world.place / "grid")


def attacked(world: World) -> str | None:
    runs = [*world.place.glob("*/finished")]
    wrong = [run for run in runs if len(attacks_of(run)) != 2]
    return f"{wrong} do not hold both attacks" if wrong or not runs else None


BOTH = Law("the result holds the attack before the kill and the one after it", attacked)
ROWS = [
    Fault(KIND, "a training, its cache included", training, (FINISHES, SAME_RUN, TIDY)),
    Fault(KIND, "an attack", each_rename("finished", attack), (ALL_END_WELL, BOTH)),
    Fault(KIND, "an evaluation", each_rename("finished", evaluation), (ALL_END_WELL,)),
    Fault(KIND, "a prediction into a file", each_rename("finished", prediction), (ALL_END_WELL,)),
    Fault(KIND, "a report", each_rename("", report), (ALL_END_WELL,)),
    Fault(KIND, "an export", each_rename("finished", export), (ALL_END_WELL,), slow=True),
    Fault(KIND, "a grid", each_rename("", benchmark), (ALL_END_WELL,), slow=True),
]
