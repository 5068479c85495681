"""Every figure carries its number of examples and its 95% interval.

Proportions have Wilson's interval (Wilson 1927): it stays in [0, 1] and is honest at 0 and 1, where the textbook
interval has no width. Everything else has the percentile bootstrap over examples (Efron 1979).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

NORMAL_95 = 1.959963984540054  # the 97.5% quantile of the standard normal distribution
RESAMPLES = 1_000
FEW_RESAMPLES = 200  # where one costs milliseconds; the ends are then good to a tenth of the width


@dataclass(frozen=True)
class Figure:
    """A value, its 95% interval, and the number of examples behind it; NaN where an end is not known."""

    value: float
    low: float
    high: float
    n: int

    @property
    def bounded(self) -> bool:
        """Whether both ends are known."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    def to_json(self) -> dict[str, float | int | None]:
        """The figure as JSON values: NaN becomes null.

        >>> Figure(0.5, 0.25, float("nan"), 4).to_json()
        {'value': 0.5, 'low': 0.25, 'high': None, 'n': 4}
        """
        ends = {name: finite(getattr(self, name)) for name in ("value", "low", "high")}
        return {**ends, "n": self.n}


def finite(value: float) -> float | None:
    """The number, or None for NaN and the infinities, which JSON does not have."""
    return float(value) if math.isfinite(value) else None


def proportion(hits: int, n: int, z: float = NORMAL_95) -> Figure:
    """`hits` of `n` with Wilson's interval; with no examples, nothing is known.

    >>> proportion(0, 10)
    Figure(value=0.0, low=0.0, high=0.2775327998628892, n=10)
    """
    if not 0 <= hits <= n:
        raise ValueError(f"expected 0 <= hits <= n, got {hits} of {n}")
    if n == 0:
        return Figure(math.nan, 0.0, 1.0, 0)
    share, square = hits / n, z * z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    low = 0.0 if hits == 0 else max(0.0, centre - half)
    high = 1.0 if hits == n else min(1.0, centre + half)
    return Figure(share, low, high, n)


def share_of(right: Any) -> Figure:
    """The share of true entries of a boolean array.

    >>> share_of([True, False]).value
    0.5
    """
    right = np.asarray(right, dtype=bool)
    return proportion(int(right.sum()), right.size)


def bootstrap(
    statistic: Callable[..., float],
    *columns: Any,
    resamples: int = RESAMPLES,
    seed: int = 0,
    strata: Any = None,
    centred: bool = False,
) -> Figure:
    """`statistic(*columns)`, whose rows are examples, with the 2.5% and 97.5% quantiles over resampled rows.

    `strata` (rows,) keeps the number of rows of each stratum, for statistics that need both classes. `centred` is for a
    statistic such as ECE, which is larger on resampled rows, since these repeat, than on the rows (see `interval`).

    >>> figure = bootstrap(np.mean, [0.0, 1.0, 2.0, 3.0], seed=1)
    >>> figure.value, figure.n, figure.low <= 1.5 <= figure.high
    (1.5, 4, True)
    """
    arrays = [np.asarray(column) for column in columns]
    n = len(arrays[0])
    if n == 0:
        return Figure(math.nan, math.nan, math.nan, 0)
    groups = [np.arange(n)] if strata is None else groups_of(np.asarray(strata))
    generator = np.random.default_rng(seed)
    values = []
    for _ in range(resamples):
        rows = np.concatenate([generator.choice(group, len(group)) for group in groups])
        values.append(float(statistic(*(array[rows] for array in arrays))))
    return interval(float(statistic(*arrays)), values, n, centred)


def interval(value: float, resampled: Any, n: int, centred: bool = False) -> Figure:
    """A value with the 2.5% and 97.5% quantiles of its resampled values, widened to include it.

    `centred` first moves the resampled values so that their mean is the value: of a biased statistic they show the
    spread, but around another centre. The interval is then that of the statistic's expectation on as many rows.

    >>> interval(1.0, [2.0, 3.0, 4.0], 9)
    Figure(value=1.0, low=1.0, high=3.95, n=9)
    >>> round(interval(1.0, [2.0, 3.0, 4.0], 9, centred=True).low, 2)
    0.05
    """
    low, high = (float(end) for end in np.quantile(resampled, [0.025, 0.975]))
    bias = float(np.mean(resampled)) - value if centred else 0.0
    return Figure(value, min(low - bias, value), max(high - bias, value), n)


def groups_of(strata: NDArray[Any]) -> list[NDArray[np.intp]]:
    """The rows of each stratum."""
    return [np.flatnonzero(strata == value) for value in np.unique(strata)]


def mean(values: Any, z: float = NORMAL_95) -> Figure:
    """The mean of one value per example, with the normal interval of a mean.

    >>> mean([1.0, 3.0]).value
    2.0
    """
    values = np.asarray(values, dtype=np.float64)
    if len(values) == 0:
        return Figure(math.nan, math.nan, math.nan, 0)
    centre = float(values.mean())
    half = z * float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Figure(centre, centre - half, centre + half, len(values))
