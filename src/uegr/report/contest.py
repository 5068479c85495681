"""One method against each baseline on every data set and model, by the rule that docs/study.md states.

UEGR and what comes out of it are no baselines of each other.

A method wins on a data set and model if, against every baseline, its clean score is not lower by more than the
margin, in the mean over seeds, nor shown to be lower, and its robust score is higher. The win is shown if the robust
difference has p < 0.05 against every baseline, over seeds and rows, after Holm's adjustment for their number.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from uegr.report.cells import LEVEL, Cell, compared, marked
from uegr.report.groups import Block, Group, by_block, heading
from uegr.report.tables import gain, probability

UEGR = ("uegr", "uegr_plus")
MARGIN = 0.005  # half a point, of the clean score
HEADS = ("data set, model", "against", "clean difference", "not inferior", "robust difference", "p (Holm)", "higher")


@dataclass(frozen=True)
class Match:
    """The differences to one other method."""

    against: str
    clean: Cell
    robust: Cell

    @property
    def not_inferior(self) -> bool:
        found = self.clean.difference
        return found is not None and found.value >= -MARGIN and self.clean.mark != "worse"

    @property
    def higher(self) -> bool:
        found = self.robust.difference
        return found is not None and found.value > 0

    @property
    def shown(self) -> bool:
        adjusted = self.robust.adjusted
        return self.higher and adjusted is not None and adjusted < LEVEL


@dataclass(frozen=True)
class Contest:
    """All matches of a method on one data set with one model."""

    block: Block
    matches: list[Match]

    @property
    def won(self) -> bool:
        return all(match.not_inferior and match.higher for match in self.matches)

    @property
    def shown(self) -> bool:
        return self.won and all(match.shown for match in self.matches)


def contests(groups: Sequence[Group], method: str) -> list[Contest]:
    """The contests of a method, wherever it and a baseline have both scores."""
    found = []
    for block, some in by_block(groups).items():
        scored = [group for group in some if {"own", "robust"} <= group.columns.keys()]
        own = [group for group in scored if group.label == method]
        others = [group for group in scored if group.label != method and not (own and both_ours(own[0], group))]
        found += [Contest(block, matches(own[0], others))] if own and others else []
    return found


def both_ours(one: Group, other: Group) -> bool:
    """Whether both are UEGR or come out of it."""
    return all(group.runs[0].config.method.name in UEGR for group in (one, other))


def matches(own: Group, others: Sequence[Group]) -> list[Match]:
    """A method against the others; p values are adjusted for their number."""
    tested = {key: marked([fresh(own.columns[key], other, key) for other in others]) for key in ("own", "robust")}
    pairs = zip(others, tested["own"], tested["robust"], strict=True)
    return [Match(other.label, clean, robust) for other, clean, robust in pairs]


def fresh(cell: Cell, other: Group, key: str) -> Cell:
    """A cell compared with another method's."""
    plain = replace(cell, difference=None, against="", p=None, adjusted=None, mark="", otherwise="")
    return compared(plain, other.columns[key], other.label)


def rows(contest: Contest) -> list[tuple[str, ...]]:
    """The lines of a table with these HEADS."""
    words = {True: "yes", False: "no"}
    return [
        (
            heading(contest.block),
            match.against,
            gain(match.clean) or "–",
            words[match.not_inferior],
            gain(match.robust) or "–",
            probability(match.robust.adjusted),
            words[match.higher],
        )
        for match in contest.matches
    ]


def sentence(method: str, found: Sequence[Contest]) -> str:
    """How often the method wins.

    >>> sentence("uegr", [])
    'uegr has no contest yet.'
    """
    if not found:
        return f"{method} has no contest yet."
    won, shown = ([heading(one.block) for one in found if getattr(one, key)] for key in ("won", "shown"))
    told = f"{method} wins on {len(won)} of {len(found)} data sets and models"
    told += f" ({', '.join(won)})" if won else ""
    return f"{told}; p < 0.05 against every baseline on {len(shown)}."
