"""One headline per data set and model: a method's clean score, its robust score, and what they cost.

The robust score is the mean of the accuracies under a calibrated word attack and under PGD within a radius relative to
the mean norm of the word vectors. Transfer is the accuracy on adversarial texts that were found on vanilla. The
reasons to doubt a figure are derived from the results (uegr.ledger.doubts).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from uegr.ledger.doubts import REPLAYED
from uegr.report.cells import Cell
from uegr.report.columns import Column, titles
from uegr.report.cost import Cost, cost_of
from uegr.report.groups import Group, by_block, heading
from uegr.report.tables import View, column_view, gain

KEYS = ("own", "robust", "shift", "ece", "ece_calibrated", "anomaly", "improvement")
NAMES = {"ece": "ECE before"}
GAINS = ("own", "robust")  # also shown as a difference to the baseline


@dataclass(frozen=True)
class Line:
    """One method of a data set and model."""

    group: Group
    cells: list[Cell | None]  # of the columns
    gains: list[str]  # of GAINS, with their 95% intervals
    cost: Cost
    doubts: list[str]

    @property
    def views(self) -> list[View]:
        return [column_view(cell) for cell in self.cells]


@dataclass(frozen=True)
class Headline:
    """The methods of one data set and model."""

    title: str
    columns: list[Column]
    gains: list[str]  # the titles of the differences
    lines: list[Line]
    chosen: tuple[str, ...] = GAINS  # the columns that are shown at first


def headlines(groups: Sequence[Group]) -> list[Headline]:
    """A table for each data set and model that has a robust score."""
    blocks = by_block(groups).items()
    return [headline(heading(block), some) for block, some in blocks if any("robust" in one.columns for one in some)]


def headline(title: str, groups: Sequence[Group]) -> Headline:
    """The columns that some method has."""
    present = {key for group in groups for key in group.columns}
    moved = sorted(key for key in present if key.startswith("attack ") and key.endswith(REPLAYED))
    columns = [called(key) for key in (*KEYS, *moved) if key in present]
    lines = [line(group, [column.key for column in columns]) for group in groups]
    return Headline(title, columns, [f"{called(key).title} gain" for key in GAINS], lines)


def called(key: str) -> Column:
    """A column by its name in a headline."""
    (column,) = titles([key])
    if key.endswith(REPLAYED):
        attack = column.title.removesuffix(REPLAYED)
        return Column(key, "Transfer", f"accuracy on the texts that {attack} found on another method's model")
    return Column(key, NAMES.get(key, column.title), column.meaning)


def line(group: Group, keys: Sequence[str]) -> Line:
    """One method."""
    cells = [group.columns.get(key) for key in keys]
    gains = [gain(group.columns[key]) if key in group.columns else "" for key in GAINS]
    return Line(group, cells, gains, cost_of(group), group.doubts)


def doubted(found: Headline) -> dict[str, list[str]]:
    """The reasons to doubt, each with the methods that it is about.

    >>> doubted(Headline("sst2", [], [], []))
    {}
    """
    reasons: dict[str, list[str]] = {}
    for one in found.lines:
        for reason in one.doubts:
            reasons.setdefault(reason, []).append(one.group.label)
    return reasons
