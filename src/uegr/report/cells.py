"""One figure of one setting over its seeds: mean and spread, and whether it differs from the baseline's.

Runs are paired by seed. A difference is marked where its p value, adjusted for the number of comparisons (Holm 1979),
is below 0.05; p takes the spread over seeds and over test rows together (statistics/differences.py). A single seed is
not tested: its rows can show that two models differ, but not that a method is better.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Literal, TypeVar

from uegr.report.figures import Entry, Quantity
from uegr.statistics import Figure, deviation, difference, finite, holm, mean_over_seeds, paired_row_variance, unpacked

LEVEL = 0.05
Mark = Literal["better", "worse", ""]
Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True)
class Cell:
    """One figure of one setting over its seeds, and how it compares with the baseline's."""

    quantity: Quantity
    figures: Mapping[int, Figure]  # by seed
    right: Mapping[int, tuple[str, ...]] = field(default_factory=dict)  # by seed, which rows are right, if it is known
    difference: Figure | None = None  # to the baseline, over the seeds that both have
    against: str = ""  # the baseline's label
    p: float | None = None
    adjusted: float | None = None
    mark: Mark = ""
    otherwise: str = ""  # how it was measured, where the baseline was measured in another way

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
        return min(figure.n for figure in self.figures.values()) if self.quantity.of_rows else 0


def over_seeds(runs: Iterable[tuple[int, Mapping[Key, Entry]]]) -> dict[Key, Cell]:
    """Each figure's values by seed; those that are not numbers are left out.

    Where some seeds were measured in another way than most, theirs are left out.
    """
    found: dict[Key, list[tuple[int, Entry]]] = {}
    for seed, entries in runs:
        for key, entry in entries.items():
            if finite(entry.figure.value) is not None:
                found.setdefault(key, []).append((seed, entry))
    return {key: over_same(some) for key, some in found.items()}


def over_same(entries: Sequence[tuple[int, Entry]]) -> Cell:
    """One figure's values by seed, of the way in which most seeds were measured."""
    most = Counter(entry.quantity.of for _, entry in entries).most_common(1)[0][0]
    same = [(seed, entry) for seed, entry in entries if entry.quantity.of == most]
    right = {seed: entry.right for seed, entry in same if entry.right}
    return Cell(same[0][1].quantity, {seed: entry.figure for seed, entry in same}, right)


def compared(cell: Cell, base: Cell, against: str = "") -> Cell:
    """The cell with its difference to the baseline, over the seeds that both have; none if it is of something else."""
    if cell.quantity.of != base.quantity.of:
        own, other = (sorted(set(one.quantity.of) - set(two.quantity.of)) for one, two in ((cell, base), (base, cell)))
        return replace(cell, otherwise=f"{', '.join(own) or 'less'} instead of {', '.join(other) or 'less'}")
    seeds = sorted(set(cell.figures) & set(base.figures))
    if not seeds:
        return cell
    ours, theirs = ([one.figures[seed] for seed in seeds] for one in (cell, base))
    found = difference(ours, theirs, rows=paired_rows(cell, base, seeds))
    return replace(cell, difference=found.figure, against=against, p=found.p if len(seeds) > 1 else None)


def paired_rows(cell: Cell, base: Cell, seeds: Sequence[int]) -> float | None:
    """The variance over test rows of the difference, where it is known of both which rows are right; else None.

    Of a mean over several measurements, whatever rows they share, the standard errors are averaged: an upper bound.
    """
    parts = [[one.right.get(seed, ()) for seed in seeds] for one in (cell, base)]
    sizes = {tuple(text.partition(":")[0] for text in rights) for some in parts for rights in some}
    if len(sizes) != 1 or not (count := len(parts[0][0])):
        return None
    errors = []
    for place in range(count):
        ours, theirs = ([unpacked(rights[place]) for rights in some] for some in parts)
        errors.append(math.sqrt(paired_row_variance(ours, theirs)))
    return fmean(errors) ** 2


def direction(cell: Cell) -> Mark:
    """What the difference to the baseline means for this figure."""
    signed = cell.difference.value * cell.quantity.better if cell.difference else 0.0
    return "better" if signed > 0 else "worse" if signed < 0 else ""


def marked(cells: Sequence[Cell]) -> list[Cell]:
    """The cells of one comparison (one figure, one data set, one model), marked where the adjusted p is below 0.05."""
    adjusted = holm({place: cell.p for place, cell in enumerate(cells) if cell.p is not None})
    found = list(cells)
    for place, p in adjusted.items():
        mark = direction(cells[place]) if p < LEVEL else ""
        found[place] = replace(cells[place], adjusted=p, mark=mark)
    return found
