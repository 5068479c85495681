"""One setting trained with several seeds: the mean, its standard deviation, and the 95% t interval of the mean.

Seeds that give exactly the same value have no spread. A t interval would then have no width and claim certainty from a
handful of runs, so the ends are unknown (NaN). significance.py treats differences without spread in the same way.
"""

import math
from collections.abc import Sequence
from functools import cache
from statistics import fmean

from uegr.statistics.intervals import NORMAL_95, Figure

DUST = 1e-12  # a smaller deviation comes from rounding


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample of at least two (`statistics.stdev` is a hundred times slower).

    >>> deviation([1.0, 2.0, 3.0]), deviation([0.9 - 0.8, 0.8 - 0.7, 0.7 - 0.6])
    (1.0, 0.0)
    """
    centre = fmean(values)
    spread = math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))
    return spread if spread > DUST else 0.0


@cache
def quantile(freedom: float) -> float:
    """The 97.5% quantile of Student's t; with infinite degrees of freedom, that of the normal distribution.

    >>> round(quantile(2), 3), round(quantile(math.inf), 3)
    (4.303, 1.96)
    """
    from scipy.special import stdtrit

    return NORMAL_95 if math.isinf(freedom) else float(stdtrit(freedom, 0.975))


def mean_over_seeds(values: Sequence[float]) -> Figure:
    """The mean of one value per seed; n counts seeds. One seed, or no spread, gives no interval.

    >>> mean_over_seeds([0.5]), round(mean_over_seeds([0.4, 0.5, 0.6]).high, 3)
    (Figure(value=0.5, low=nan, high=nan, n=1), 0.748)
    """
    centre, n = fmean(values), len(values)
    spread = deviation(values) if n > 1 else 0.0
    half = quantile(n - 1) * spread / math.sqrt(n) if spread else math.nan
    return Figure(centre, centre - half, centre + half, n)
