"""What must hold: laws for every fault, which are counted, and laws that a row of the table adds."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tests.faults.world import World
from uegr.errors import InputError
from uegr.result import parsed
from uegr.runs import manifest

WEIGHTS, CONFIG = "model.safetensors", "config.yaml"
SAME = (WEIGHTS, "metrics.jsonl", CONFIG)  # what must be the same whatever happened on the way
ALWAYS = ("tracebacks", "hung", "odd ends", "finished runs lost", "bytes lost", "silently different weights")


def broken(world: World) -> Counter[str]:
    """How often each law for every fault was broken; nothing where all hold."""
    ends = [one.code for one in world.ended]
    found = Counter(
        {
            "tracebacks": sum("Traceback (most recent call last)" in one.output for one in world.ended),
            "hung": sum(one.hung for one in world.ended),
            "odd ends": sum(code not in world.codes for code in ends),
            "finished runs lost": sum(not is_readable(path) for path in world.kept),
            "bytes lost": sum(lost(before, path) for path, before in world.kept.items()),
            "silently different weights": sum(is_silent(world, run) for run in finished_below(world.place)),
        }
    )
    return +found


def is_readable(path: Path) -> bool:
    try:
        parsed(path.read_text(encoding="utf-8"), path)
    except (OSError, InputError, UnicodeDecodeError):
        return False
    return True


def lost(before: bytes, path: Path) -> int:
    """How many bytes of values in a result are not there any more."""
    try:
        now = dict(leaves(json.loads(path.read_bytes())))
    except (OSError, ValueError):
        return len(before)
    return sum(len(json.dumps(value)) for place, value in leaves(json.loads(before)) if now.get(place) != value)


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every value inside a JSON value that has no others inside, with its path."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        yield place, value
        return
    for key, item in inner:
        yield from leaves(item, (*place, key))


def finished_below(folder: Path) -> list[Path]:
    return [path.parent for path in folder.rglob("result.json") if (path.parent / CONFIG).is_file()]


def is_silent(world: World, run: Path) -> bool:
    """Whether a finished run has other weights than the undisturbed run of its configuration, and does not say so."""
    expected = undisturbed(world.home).get((run / CONFIG).read_bytes())
    if expected is None or not (run / WEIGHTS).is_file():
        return False
    return (run / WEIGHTS).read_bytes() != expected and manifest.damage(run) is None


@cache
def undisturbed(home: Path) -> dict[bytes, bytes]:
    """Configuration -> weights, of all runs at home."""
    return {(run / CONFIG).read_bytes(): (run / WEIGHTS).read_bytes() for run in finished_below(home)}


@dataclass(frozen=True)
class Law:
    """A law that a row of the table adds: in words, and what is wrong after a fault, None where it holds."""

    says: str
    check: Callable[[World], str | None]


def finishes(world: World) -> str | None:
    return None if world.ended[-1].code == 0 else f"ended with {world.ended[-1].code}: {world.ended[-1].output[-500:]}"


def ends_the_same(world: World) -> str | None:
    run = world.place / "run"
    other = [name for name in SAME if not is_same(run / name, world.home / "whole" / name)]
    return f"{', '.join(other)} of {run} is not that of the undisturbed run" if other else None


def is_same(one: Path, other: Path) -> bool:
    return one.is_file() and one.read_bytes() == other.read_bytes()


def is_refused(world: World) -> str | None:
    """The last command is an error of one line."""
    last = world.ended[-1]
    errors = [line for line in last.lines if line.startswith("uegr: error: ")]
    others = [line for line in last.lines if line.strip() and not line.startswith(("uegr: error: ", "uegr: warning: "))]
    if last.code == 2 and len(errors) == 1 and not others:
        return None
    return f"expected one line and the exit code 2, got {last.code}: {last.output[-500:]}"


def is_named(world: World) -> str | None:
    """What is damaged is named, by a warning or by an error, or made no difference and was not used."""
    names = [path.name for path in world.damaged]
    said = "\n".join(line for one in world.ended for line in one.lines if line.startswith("uegr: "))
    silent = [name for name in names if name not in said]
    return f"nobody says that {silent} is damaged" if silent else None


def refused_or(other: Callable[[World], str | None], named: bool = True) -> Callable[[World], str | None]:
    """A refusal that names the file, or the other law."""

    def check(world: World) -> str | None:
        if world.ended[-1].code == 2:
            return is_refused(world) or (is_named(world) if named else None)
        return finishes(world) or other(world)

    return check


def answers_the_same(world: World) -> str | None:
    expected = (world.home / "answer.txt").read_text(encoding="utf-8")
    return None if world.ended[-1].output.endswith(expected) else f"another answer: {world.ended[-1].output[-500:]}"


def nothing_ran(world: World) -> str | None:
    found = list(world.place.rglob("ran"))
    return f"code was run: {found}" if found else None


def is_tidy(world: World) -> str | None:
    """No temporary file is left in the folder of a run or a grid."""
    left = [path for path in world.place.rglob("*") if path.name.endswith((".partial", ".box", ".part"))]
    return f"left behind: {left}" if left else None


def some_end_well(world: World) -> str | None:
    return None if any(one.code == 0 for one in world.ended) else f"nobody ended well: {world.ended}"


def all_end_well(world: World) -> str | None:
    return next((f"ended with {one.code}: {one.output[-500:]}" for one in world.ended if one.code), None)


FINISHES = Law("the last command succeeds", finishes)
SAME_RUN = Law("weights, log and configuration are bitwise those of the undisturbed run", ends_the_same)
SAME_ANSWER = Law("the answer is that of the undisturbed run", answers_the_same)
REFUSED = Law("refused with one line and exit code 2", is_refused)
NAMED = Law("the damaged file is named in one line", is_named)
NOTHING_RAN = Law("no code of the folder or file was run", nothing_ran)
TIDY = Law("no temporary file is left", is_tidy)
SOME_END_WELL = Law("at least one of the two succeeds, the other too or is refused with one line", some_end_well)
ALL_END_WELL = Law("every command succeeds", all_end_well)
SAME_RUN_OR_REFUSED = Law(
    "the resumed run is bitwise the undisturbed one, or it is refused with one line that names the file",
    refused_or(ends_the_same),
)
SAME_ANSWER_OR_REFUSED = Law(
    "the answer is that of the undisturbed run, or one line that names the file", refused_or(answers_the_same)
)
