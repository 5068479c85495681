"""One figure of one setting over its seeds: mean and spread, and whether it differs from the baseline's.

Over seeds, runs are paired by seed and compared with Student's paired t; p values are adjusted for the number of
comparisons (Holm 1979). With a single seed only the rows of the test set are many: two figures then differ when their
95% intervals are apart. The first says that a method is better, the second only that these two models differ.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Literal, TypeVar

from uegr.report.figures import Entry, Quantity
from uegr.statistics import Figure, apart, deviation, finite, holm, mean_over_seeds, t_test

LEVEL = 0.05
Test = Literal["seeds", "rows", ""]
Mark = Literal["better", "worse", ""]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Cell:
    """One figure of one setting over its seeds, and how it compares with the baseline's."""

    quantity: Quantity
    figures: Mapping[int, Figure]  # by seed
    difference: float | None = None  # to the baseline, paired by seed where both have several
    p: float | None = None
    adjusted: float | None = None
    test: Test = ""
    mark: Mark = ""

    @cached_property
    def figure(self) -> Figure:
        """95%: the mean over seeds with its t interval, or the one seed with its interval over rows."""
        if len(self.figures) == 1:
            return next(iter(self.figures.values()))
        return mean_over_seeds([figure.value for figure in self.figures.values()])

    @property
    def mean(self) -> float:
        return self.figure.value

    @cached_property
    def deviation(self) -> float | None:
        """Over seeds; None for a single one."""
        return deviation([figure.value for figure in self.figures.values()]) if len(self.figures) > 1 else None

    @property
    def rows(self) -> int:
        """The fewest rows that a seed's figure rests on; 0 where it rests on none."""
        return min(figure.n for figure in self.figures.values())


def over_seeds(runs: Iterable[tuple[int, Mapping[Key, Entry]]]) -> dict[Key, Cell]:
    """Each figure's values by seed; those that are not numbers are left out."""
    found: dict[Key, Cell] = {}
    for seed, entries in runs:
        for key, entry in entries.items():
            if finite(entry.figure.value) is not None:
                before = found.get(key) or Cell(entry.quantity, {})
                found[key] = Cell(before.quantity, {**before.figures, seed: entry.figure})
    return found


def compared(cell: Cell, base: Cell) -> Cell:
    """The cell with its difference to the baseline and, where seeds are shared, the p value."""
    seeds = sorted(set(cell.figures) & set(base.figures))
    if len(seeds) < 2:
        return by_rows(cell, base)
    differences = [cell.figures[seed].value - base.figures[seed].value for seed in seeds]
    return replace(cell, difference=fmean(differences), p=t_test(differences), test="seeds")


def by_rows(cell: Cell, base: Cell) -> Cell:
    """One seed against one: they differ where the intervals are apart."""
    found = replace(cell, difference=cell.mean - base.mean)
    single = len(cell.figures) == len(base.figures) == 1
    if not (single and cell.figure.bounded and base.figure.bounded):
        return found
    return replace(found, test="rows", mark=direction(found) if apart(cell.figure, base.figure) else "")


def direction(cell: Cell) -> Mark:
    """What the difference to the baseline means for this figure."""
    signed = (cell.difference or 0.0) * cell.quantity.better
    return "better" if signed > 0 else "worse" if signed < 0 else ""


def marked(cells: Sequence[Cell]) -> list[Cell]:
    """The cells of one comparison (one figure, one data set, one model), marked where the adjusted p is below 0.05."""
    adjusted = holm({place: cell.p for place, cell in enumerate(cells) if cell.p is not None})
    found = list(cells)
    for place, p in adjusted.items():
        mark = direction(cells[place]) if p < LEVEL else ""
        found[place] = replace(cells[place], adjusted=p, mark=mark)
    return found
