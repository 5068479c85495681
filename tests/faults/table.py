"""The table of faults: a row is a name, how to cause it, and what must hold. One driver runs all rows.

The laws of `laws.ALWAYS` hold for every row: no traceback, no hanging process, no odd exit code, no finished run lost,
no byte of a result lost, no silently different weights. docs/reliability.md is made of this table.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults import laws
from tests.faults.laws import Law
from tests.faults.world import World


def anywhere() -> bool:
    """Most faults need nothing special of the machine."""
    return True


@dataclass(frozen=True)
class Fault:
    """A row. `variant` tells rows of one name apart; a slow row is not in `make test`; not every machine can do all."""

    kind: str
    name: str
    cause: Callable[[World], object]
    holds: tuple[Law, ...] = ()
    variant: str = ""
    slow: bool = False
    possible: Callable[[], bool] = anywhere

    @property
    def title(self) -> str:
        return ", ".join(filter(None, (self.name, self.variant)))


@dataclass(frozen=True)
class Verdict:
    """What came out: counts of what was done, of laws that were broken, and what is wrong, in words."""

    counts: Counter[str]
    broken: Counter[str]
    wrong: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        return not self.broken and not self.wrong


def tried(fault: Fault, home: Path, place: Path) -> Verdict:
    """The driver: cause the fault in a folder of its own, then judge what it left."""
    world = World(home, place, fault.title)
    fault.cause(world)
    wrong = [found for law in fault.holds if (found := law.check(world))]
    broken = laws.broken(world)
    if broken:
        wrong += [f"{one.words[:2]} ended with {one.code}: {one.output[-1000:]}" for one in world.ended]
    return Verdict(world.counts, broken, wrong)


def faults() -> list[Fault]:
    """All rows, by kind."""
    from tests.faults import damage, hostile, kills, machine, pairs, ranks, signals

    return [row for kind in (kills, damage, pairs, machine, signals, hostile, ranks) for row in kind.ROWS]
