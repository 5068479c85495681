"""Several seeds of one setting: their mean and spread, and whether they differ from the baseline's.

Over seeds, runs are paired by seed and compared by Student's paired t; p values are adjusted for the number of
comparisons (Holm 1979). Of a single seed only the rows of the test set are many: two figures then differ when their
95% intervals are apart. The first says that a method is better, the second only that these two models are unlike.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from statistics import fmean
from typing import Literal

from scipy.special import stdtr, stdtrit

from uegr.report.figures import Figure

LEVEL = 0.05
Test = Literal["seeds", "rows", ""]


@dataclass(frozen=True)
class Cell:
    """One figure of one setting over its seeds, and how it compares with the baseline's."""

    figure: Figure  # of the first seed: label, metric, and for a single seed the interval
    values: Mapping[int, float]  # by seed
    difference: float | None = None  # to the baseline, paired by seed where both have several
    p: float | None = None
    adjusted: float | None = None
    test: Test = ""
    mark: Literal["better", "worse", ""] = ""

    @cached_property
    def mean(self) -> float:
        return fmean(self.values.values())

    @cached_property
    def deviation(self) -> float | None:
        return deviation(list(self.values.values())) if len(self.values) > 1 else None

    @cached_property
    def interval(self) -> tuple[float | None, float | None]:
        """95%: of the mean over seeds (t), or of the one seed over its rows."""
        if self.deviation is None:
            return self.figure.low, self.figure.high
        half = quantile(len(self.values)) * self.deviation / math.sqrt(len(self.values))
        return self.mean - half, self.mean + half


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample; `statistics.stdev` is exact, and a hundred times slower.

    >>> deviation([1.0, 2.0, 3.0])
    1.0
    """
    centre = fmean(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


@cache
def quantile(n: int) -> float:
    """The 97.5% quantile of Student's t for a mean of n.

    >>> round(quantile(3), 3)
    4.303
    """
    return float(stdtrit(n - 1, 0.975))


def paired_p(differences: Sequence[float]) -> float | None:
    """The two-sided p of Student's paired t; None where there is no spread to judge by.

    >>> round(paired_p([0.1, 0.2, 0.3]), 4)
    0.0742
    """
    n = len(differences)
    if n < 2 or not any(differences):
        return None if n < 2 else 1.0
    spread = deviation(differences)
    if spread < 1e-12:
        return None
    return 2 * float(stdtr(n - 1, -abs(fmean(differences)) * math.sqrt(n) / spread))


def compared(cell: Cell, base: Cell) -> Cell:
    """The cell with its difference to the baseline and the p value, where seeds are shared."""
    seeds = sorted(set(cell.values) & set(base.values))
    if len(seeds) < 2:
        return by_rows(cell, base)
    differences = [cell.values[seed] - base.values[seed] for seed in seeds]
    return replace(cell, difference=fmean(differences), p=paired_p(differences), test="seeds")


def by_rows(cell: Cell, base: Cell) -> Cell:
    """One seed against one: apart where the intervals are."""
    difference = cell.mean - base.mean
    if len(cell.values) > 1 or len(base.values) > 1:
        return replace(cell, difference=difference)
    (low, high), (base_low, base_high) = cell.interval, base.interval
    if low is None or high is None or base_low is None or base_high is None:
        return replace(cell, difference=difference)
    apart = low > base_high or high < base_low
    return replace(cell, difference=difference, test="rows", mark=direction(cell.figure, difference) if apart else "")


def direction(figure: Figure, difference: float) -> Literal["better", "worse", ""]:
    """What a difference means for this figure."""
    signed = difference * figure.better
    return "better" if signed > 0 else "worse" if signed < 0 else ""


def holm(p_values: Sequence[float]) -> list[float]:
    """p values adjusted for their number.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def marked(cells: Sequence[Cell]) -> list[Cell]:
    """The cells of one comparison (one figure, one data set, one model), marked where the adjusted p is below 0.05."""
    tested = [index for index, cell in enumerate(cells) if cell.p is not None]
    result = list(cells)
    for index, adjusted in zip(tested, holm([cells[i].p or 0.0 for i in tested]), strict=True):
        cell = cells[index]
        mark = direction(cell.figure, cell.difference or 0.0) if adjusted < LEVEL else ""
        result[index] = replace(cell, adjusted=adjusted, mark=mark)
    return result
