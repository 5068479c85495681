"""How far a method is from the baseline, with an interval that knows both reasons for doubt: seeds and test rows.

Another seed trains another model, and other test rows give another score. With d the differences of S seeds:

    error^2 = deviation(d)^2 / S + rows^2
    rows^2  = mean over seeds of (h / 1.96)^2 + (h' / 1.96)^2      h, h': half of the 95% intervals over rows

All seeds are scored on the same rows, so more seeds do not shrink the second term. Two models tend to be right on the
same rows, which these intervals do not know, so rows^2 is too large rather than too small. Where it is known which rows
are right, the rows are paired too:

    rows^2  = variance over the n rows of (mean over seeds of the difference on that row) / n

A row's mean over few seeds also varies with the seeds, so that this is an upper bound too. Rows that never differ say
that a difference is rare, not that it is impossible: the variance is at least that of Agresti & Min (2005) for pairs
without any, 1 / (n + 2)^2. p and the interval are
Student's, with the degrees of freedom of Satterthwaite (1946). That is too bold where two or three seeds agree by luck,
so the t test over seeds alone must agree: the larger p and the wider interval count. One seed says nothing about other
seeds: its interval is that of the rows alone. So is that of differences that are the same for every seed, but these
have no p: that seeds agree by luck, to a row, is no evidence about other seeds. Where neither varies, there is neither.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from uegr.statistics.intervals import NORMAL_95, Figure
from uegr.statistics.seeds import deviation, quantile


@dataclass(frozen=True)
class Difference:
    """The mean difference with its 95% interval, n in seeds, and the two-sided p; None where it cannot be known."""

    figure: Figure
    p: float | None


def difference(scores: Sequence[Figure], base: Sequence[Figure], *, rows: float | None = None) -> Difference:
    """Compare figures with the baseline's, the i-th of both from the same seed, each with its interval over rows.

    `rows` is the variance over rows, where it is known better than from these intervals (`paired_row_variance`).

    >>> ours, base = [Figure(0.80, 0.72, 0.88, 100)] * 2, [Figure(0.84, 0.76, 0.92, 100), Figure(0.86, 0.78, 0.94, 100)]
    >>> found = difference(ours, base)
    >>> round(found.figure.value, 3), round(found.p, 2)
    (-0.05, 0.39)
    """
    values = [ours.value - other.value for ours, other in zip(scores, base, strict=True)]
    value, n = fmean(values), len(values)
    seeds = deviation(values) ** 2 / n if n > 1 else 0.0
    if rows is None:
        rows = fmean(row_variance(ours) + row_variance(other) for ours, other in zip(scores, base, strict=True))
    if math.isnan(rows) or not seeds + rows:
        return Difference(Figure(value, math.nan, math.nan, n), None)
    freedom = (seeds + rows) ** 2 / (seeds**2 / (n - 1)) if seeds else math.inf
    ways = [(seeds + rows, freedom)] + [(seeds, n - 1.0)] * (seeds > 0)
    half = max(math.sqrt(variance) * quantile(freedom) for variance, freedom in ways)
    p = max(2 * below(-abs(value) / math.sqrt(variance), freedom) for variance, freedom in ways)
    return Difference(Figure(value, value - half, value + half, n), p if seeds or n == 1 else None)


def paired_row_variance(ours: Sequence[np.ndarray], base: Sequence[np.ndarray]) -> float:
    """The variance over rows of the mean difference, from which rows each seed's run has right, each (rows,).

    >>> paired_row_variance([np.array([True, True, False, False])], [np.array([True, False, False, False])])
    0.0625
    """
    moved = np.mean([one.astype(float) - other for one, other in zip(ours, base, strict=True)], axis=0)
    return max(float(moved.var(ddof=1) / len(moved)), 1 / (len(moved) + 2) ** 2)


def row_variance(figure: Figure) -> float:
    """The variance of a figure over test rows, from its 95% interval."""
    return ((figure.high - figure.low) / (2 * NORMAL_95)) ** 2


def below(value: float, freedom: float) -> float:
    """The probability of less than this value, by Student's t or the normal distribution."""
    from scipy.special import ndtr, stdtr

    return float(ndtr(value)) if math.isinf(freedom) else float(stdtr(freedom, value))
