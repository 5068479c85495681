"""Damaged files: every file of a checkpoint, a run, a grid and the cache, changed in each of several ways by a seed."""

import random
from collections.abc import Callable
from pathlib import Path

from tests.faults.laws import SAME_ANSWER_OR_REFUSED, SAME_RUN, SAME_RUN_OR_REFUSED, Law, is_named, is_refused
from tests.faults.table import Fault
from tests.faults.world import World, attacks_of

KIND = "damaged file"
Change = Callable[[Path, random.Random], None]


def content(change: Callable[[bytes, random.Random], bytes]) -> Change:
    def changed(path: Path, draw: random.Random) -> None:
        path.write_bytes(change(path.read_bytes(), draw))

    return changed


def flipped(before: bytes, draw: random.Random) -> bytes:
    """One bit."""
    if not before:
        return b"\1"
    bit = draw.randrange(8 * len(before))
    after = bytearray(before)
    after[bit // 8] ^= 1 << bit % 8
    return bytes(after)


def digit(before: bytes, draw: random.Random) -> bytes:
    """Another digit somewhere."""
    places = [place for place, sign in enumerate(before) if chr(sign).isdigit()]
    place = draw.choice(places)
    other = draw.choice([sign for sign in b"0123456789" if sign != before[place]])
    return before[:place] + bytes([other]) + before[place + 1 :]


def missing(path: Path, draw: random.Random) -> None:
    path.unlink()


def folder(path: Path, draw: random.Random) -> None:
    """A folder where the file was."""
    path.unlink()
    path.mkdir()


MUTATIONS: dict[str, Change] = {
    "one bit flipped": content(flipped),
    "cut": content(lambda before, draw: before[: draw.randrange(len(before) or 1)]),
    "empty": content(lambda before, draw: b""),
    "zeros": content(lambda before, draw: bytes(len(before))),
    "noise": content(lambda before, draw: draw.randbytes(len(before))),
    "longer": content(lambda before, draw: before + draw.randbytes(9)),
    "missing": missing,
    "a folder in its place": folder,
}
MODEL = ("model.safetensors", "config.json")
TOKENIZER = ("tokenizer.json", "tokenizer_config.json")
CHECKPOINT = (
    *MODEL, *TOKENIZER, "method_0.safetensors", "window_0.safetensors", "optimizer.pt", "scheduler.pt",
    "trainer_state.json", "rng_state.pth", "training_args.bin", "manifest.json",
)  # fmt: skip
BEST = (*MODEL, *TOKENIZER, "training_args.bin", "manifest.json")
STARTED = ("metrics.jsonl", ".lock")
FINISHED = (*MODEL, *TOKENIZER, "manifest.json", "result.json", "config.yaml", "metrics.jsonl", "README.md", ".lock")
CELL = ("model.safetensors", "manifest.json", "result.json", "config.yaml", "metrics.jsonl")
CACHED = ("rows", "tokens", "facts", "hashes")


def in_cut(pattern: str) -> Callable[[World, Change], None]:
    """A file of an unfinished run, which is then resumed."""

    def cause(world: World, change: Change) -> None:
        run = world.copy("cut", "run")
        world.damage(max(run.glob(pattern)), change)  # of two checkpoints the newest: 3 and 6
        world.uegr("train", run, "--resume", "--quiet")

    return cause


def in_finished(name: str) -> Callable[[World, Change], None]:
    """A file of a finished run, which is then asked, and shown."""

    def cause(world: World, change: Change) -> None:
        run = world.copy("finished")
        world.damage(run / name, change)
        world.uegr("report", world.place, "--output", world.place / "page.html")
        world.uegr("predict", run, "--text", "a fine film")

    return cause


def in_journal(world: World, change: Change) -> None:
    """The journal of an attack, which is then resumed; one that is gone is made again, with other times."""
    run = world.copy("finished")
    world.kept.clear()
    world.damage(next((run / "attacks").glob("*.jsonl")), change)
    world.uegr("attack", run, "--attack", "deepwordbug", "--examples", "2", "--resume", "--quiet")


def in_grid(pattern: str) -> Callable[[World, Change], None]:
    """A file of a grid, which is then run again."""

    def cause(world: World, change: Change) -> None:
        grid = world.copy("grid")
        world.codes = {0, 1, 2}
        world.damage(min(grid.glob(pattern)), change)
        world.uegr(*world.benchmark(grid))

    return cause


def in_cache(name: str) -> Callable[[World, Change], None]:
    """Something in the cache; then comes the training that needs it."""

    def cause(world: World, change: Change) -> None:
        world.cache = world.copy("cache")
        found = [path for path in world.cache.rglob("*") if path.is_file() and name in path.parts]
        world.damage(world.draw.choice([path for path in sorted(found) if path.suffix != ".lock"]), change)
        world.uegr(*world.train(world.place / "run"))

    return cause


def grid_continues(world: World) -> str | None:
    """Both cells are done, or the one that is not is named with its reason."""
    last = world.ended[-1]
    if last.code == 0:
        return None
    return None if "uegr: failed: " in last.output or "uegr: error: " in last.output else last.output[-500:]


def keeps_attack(world: World) -> str | None:
    refused = world.ended[-1].code == 2
    if attacks_of(world.place / "finished") != attacks_of(world.home / "finished"):
        return "the result does not hold the attack any more"
    return (is_refused(world) or is_named(world)) if refused else None


GOES_ON = Law("the other cells are kept; the damaged one is done again, or fails with one line", grid_continues)
HAS_ATTACK = Law(
    "the result keeps the attack; the journal is resumed, made again, or refused by its name", keeps_attack
)
READS = Law("figures are read, or one line names the file; the report leaves it out", SAME_ANSWER_OR_REFUSED.check)
RESUMED = (SAME_RUN_OR_REFUSED,)
Cause = Callable[[World, Change], None]
FILES: list[tuple[str, Cause, tuple[Law, ...]]] = [
    *((f"`{name}` of the newest checkpoint", in_cut(f"checkpoint-*/{name}"), RESUMED) for name in CHECKPOINT),
    *((f"`{name}` of the best weights so far", in_cut(f"best-*/{name}"), RESUMED) for name in BEST),
    *((f"`{name}` of an unfinished run", in_cut(name), RESUMED) for name in STARTED),
    ("`config.yaml` of an unfinished run", in_cut("config.yaml"), RESUMED),
    *((f"`{name}` of a finished run", in_finished(name), (READS,)) for name in FINISHED),
    ("the journal of an attack", in_journal, (HAS_ATTACK,)),
    *((f"`{name}` of a cell", in_grid(f"cells/*/{name}"), (GOES_ON,)) for name in CELL),
    *((f"`{name}` of a grid", in_grid(name), (GOES_ON,)) for name in ("grid.yaml", "journal.jsonl")),
    *((f"{name} in the cache", in_cache(name), (SAME_RUN,)) for name in CACHED),
]


def row(name: str, cause: Cause, holds: tuple[Law, ...], mutation: str, slow: bool) -> Fault:
    return Fault(KIND, name, lambda world: cause(world, MUTATIONS[mutation]), holds, mutation, slow)


def rows() -> list[Fault]:
    """Each file in every way; the fast part takes one way for each file, another for the next."""
    ways = list(MUTATIONS)
    return [
        row(name, cause, holds, way, slow=number % len(ways) != place)
        for number, (name, cause, holds) in enumerate(FILES)
        for place, way in enumerate(ways)
    ]


DIGITS = [  # a text may be changed so that it can still be read
    Fault(
        KIND,
        "`config.yaml` of an unfinished run",
        lambda world: in_cut("config.yaml")(world, content(digit)),
        RESUMED,
        f"another digit ({number})",
        slow=number > 1,
    )
    for number in range(1, 9)
]
ROWS = [*rows(), *DIGITS]
