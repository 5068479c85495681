"""The long part: kills at random moments, of trainings with every method, of attacks and of grids.

    python -m tests.faults.campaign --kills 1000 --output docs/reliability.json

The counts are written after every round. A campaign that is stopped has its figures, and the same command continues
it. `--rows` runs the rows of the table instead, first the fast ones.
"""

import argparse
import json
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from tests import conftest  # noqa: F401  no hub, one thread
from tests.faults import laws, table
from tests.faults.processes import Running
from tests.faults.world import ATTACK, World, attacks_of, build, done
from uegr.files import write_text
from uegr.methods import METHODS

ROUND = 5  # kills of one folder, before it may end and is judged
SHARES = {"train": 0.75, "attack": 0.125, "benchmark": 0.125}
SIGNALS = {"train": 0.1, "attack": 0.05, "benchmark": 0.05}  # as many SIGTERM for each kill, besides
INTERRUPTED = {143, -signal.SIGTERM}  # the last: before the command has its handler
EXAMPLES = 12
MOMENT = 0.8  # a signal comes within this share of the time that the command takes


class Campaign:
    """Counts what was done and what was broken, by work; `record` is called after every round."""

    def __init__(
        self, home: Path, place: Path, record: Callable[[dict[str, Any]], None], before: dict[str, Any] | None = None
    ) -> None:
        self.home, self.place, self.record = home, place, record
        self.found: dict[str, Any] = before or {}
        self.longest: dict[str, float] = {}  # seconds that an undisturbed command takes
        self.outcomes: list[str] = []  # of the undisturbed attack
        self.rounds = sum(entry.get("rounds", 0) for entry in self.found.values())
        self.methods = islice(cycle(sorted(METHODS)), self.rounds % len(METHODS), None)

    def note(self, work: str, world: World, wrong: list[str]) -> None:
        """Add one round to the counts of a work."""
        entry = self.found.setdefault(work, {"rounds": 0})
        broken = laws.broken(world)
        for name, count in (Counter(rounds=1) + world.counts + broken).items():
            entry[name] = entry.get(name, 0) + count
        if broken or wrong:
            ends = [f"{one.code}: {one.output[-1000:]}" for one in world.ended if one.code]
            entry.setdefault("wrong", []).append([str(world.place), dict(broken), *wrong, *ends])
        else:
            shutil.rmtree(world.place)
        self.record(self.found)

    def count(self, work: str) -> int:
        """How often a work was hit."""
        entry = self.found.get(work, {})
        return int(entry.get("kills", 0) + entry.get("signals", 0))

    def whole(self, method: str) -> float:
        """How long the undisturbed training with a method took; it is made once."""
        if method not in self.longest:
            self.longest[method] = self.seconds(*self.world().train(self.home / f"whole-{method}", method))
            laws.undisturbed.cache_clear()
        return self.longest[method]

    def world(self) -> World:
        self.rounds += 1
        return World(self.home, self.place / str(self.rounds), self.rounds)

    def seconds(self, *words: object) -> float:
        """How long a command takes undisturbed, on this machine, now."""
        started = time.monotonic()
        done(self.world().uegr(*words))
        return time.monotonic() - started


def hit(world: World, running: Running, within: float, number: int = signal.SIGKILL) -> bool:
    """Send a signal at a random moment; False if the command was over before."""
    over = running.wait(world.draw.uniform(0, within))
    if not over:
        running.send(number)
    ended = running.ended()
    killed = ended.code == -signal.SIGKILL and not ended.hung
    world.counts["kills" if number == signal.SIGKILL else "signals"] += not over
    if not killed:
        world.ended.append(ended)
    return not over


def until_over(world: World, words: Callable[[], list[Any]], longest: float, number: int = signal.SIGKILL) -> None:
    """Hit a command some times, then let it end, unless it was faster once."""
    for _ in range(ROUND):
        if not hit(world, world.start(*words()), MOMENT * longest, number):
            return
    world.uegr(*words())


def trainings(campaign: Campaign, work: str, count: int, number: int) -> None:
    """Rounds over all methods until there were so many kills."""
    while campaign.count(work) < count:
        training_round(campaign, work, next(campaign.methods), number)


def training_round(campaign: Campaign, work: str, method: str, number: int) -> None:
    """A folder that is hit some times, then ends, and equals that of the undisturbed training."""
    longest, world = campaign.whole(method), campaign.world()
    world.codes |= INTERRUPTED
    run = world.place / "run"
    words = world.train(run, method)
    until_over(world, lambda: [*words, *resumed(run)], longest, number)
    whole = campaign.home / f"whole-{method}"
    other = [name for name in laws.SAME if not laws.is_same(run / name, whole / name)]
    wrong = [f"{method}: {', '.join(other)} differ"] if other else []
    campaign.note(work, world, wrong)


def resumed(run: Path) -> list[str]:
    return ["--resume"] if (run / "config.yaml").exists() else []


def attacks(campaign: Campaign, work: str, count: int, number: int) -> None:
    """An attack on a finished run, killed and resumed: the result keeps what it had, and gets the attack."""
    while campaign.count(work) < count:
        world = campaign.world()
        world.codes |= INTERRUPTED
        run = world.copy("finished")
        words = ["attack", run, *ATTACK, "--examples", EXAMPLES, "--resume"]
        if not campaign.outcomes:
            campaign.longest["attack"], campaign.outcomes = campaign.seconds(*words), outcomes(run)
            continue
        until_over(world, lambda words=words: words, campaign.longest["attack"], number)
        same = outcomes(run) == campaign.outcomes and len(attacks_of(run)) == 2
        campaign.note(work, world, [] if same else ["the attack has other outcomes"])


def outcomes(run: Path) -> list[str]:
    """The outcomes of an attack in the order of their examples."""
    lines = next((run / "attacks").glob(f"*-{EXAMPLES}.jsonl")).read_text(encoding="utf-8").splitlines()
    return sorted(line for line in lines if json.loads(line)["kind"] == "outcome")


def grids(campaign: Campaign, work: str, count: int, number: int) -> None:
    """A grid that is killed: what is finished stays as it is, byte for byte, and the rest is done."""
    while campaign.count(work) < count:
        world = campaign.world()
        world.codes |= INTERRUPTED
        grid = world.place / "grid"
        if "benchmark" not in campaign.longest:
            campaign.longest["benchmark"] = campaign.seconds(*world.benchmark(world.place / "first"))
        until_over(world, lambda world=world, grid=grid: again(world, grid), campaign.longest["benchmark"], number)
        cells = len(complete_cells(grid))
        campaign.note(work, world, [] if cells == 2 else [f"{cells} cells, {world.ended[-1].output}"])


def again(world: World, grid: Path) -> list[object]:
    """The command of a grid; the cells that are done now must stay as they are."""
    world.kept |= {path: path.read_bytes() for path in complete_cells(grid)}
    return world.benchmark(grid)


def complete_cells(grid: Path) -> list[Path]:
    """The results of the cells that are done."""
    found = [(path, json.loads(path.read_bytes())) for path in grid.glob("cells/*/result.json")]
    return [path for path, result in found if result["cell"] and result["cell"]["complete"]]


def rows(campaign: Campaign) -> None:
    """Every row of the table that was not tried before, the fast ones first."""
    for fault in sorted(table.faults(), key=lambda fault: fault.slow):
        entry = campaign.found.setdefault(fault.kind, {}).setdefault(fault.name, {"ways": []})
        if not fault.possible() or fault.variant in entry["ways"]:
            continue
        place = campaign.place / "row"
        verdict = table.tried(fault, campaign.home, place)
        shutil.rmtree(place)
        entry["ways"].append(fault.variant)
        for name, count in (verdict.counts + verdict.broken).items():
            entry[name] = entry.get(name, 0) + count
        if not verdict.holds:
            entry.setdefault("wrong", []).append([fault.variant, dict(verdict.broken), *verdict.wrong])
        campaign.record(campaign.found)


ROUNDS = {"train": trainings, "attack": attacks, "benchmark": grids}


def kills(campaign: Campaign, count: int) -> None:
    """So many kills, shared among the works, and signals; a hundred at a time, so that a part has them all."""
    for part in [*range(100, count, 100), count]:
        for work, share in SHARES.items():
            ROUNDS[work](campaign, work, round(share * part), signal.SIGKILL)
        for work, share in SIGNALS.items():
            ROUNDS[work](campaign, f"signals in {work}", round(share * part), signal.SIGTERM)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--rows", action="store_true", help="run the rows of the table, and no random kills")
    parser.add_argument("--output", type=Path, required=True, help="a JSON file; other parts in it stay")
    options = parser.parse_args()
    part = "rows" if options.rows else "kills"
    stored = json.loads(options.output.read_text(encoding="utf-8")) if options.output.exists() else {}
    before = stored.get(part, {})
    started = time.time() - 60 * before.get("minutes", 0)

    def record(found: dict[str, Any]) -> None:
        about = {"date": time.strftime("%Y-%m-%d"), "minutes": round((time.time() - started) / 60, 1)}
        write_text(options.output, json.dumps(stored | {part: about | {"found": found}}, indent=1) + "\n")

    folder = Path(tempfile.mkdtemp())  # what went wrong stays in it
    (folder / "home").mkdir()
    build(folder / "home")
    campaign = Campaign(folder / "home", folder / "place", record, before.get("found"))
    rows(campaign) if options.rows else kills(campaign, options.kills)
    if not any("wrong" in json.dumps(entry) for entry in campaign.found.values()):
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
