"""The mean of several figures, with an interval that is honest about what they share."""

import math
from collections.abc import Sequence
from statistics import fmean

from uegr.statistics.intervals import Figure


def mean_of_separate_sets(figures: Sequence[Figure]) -> Figure:
    """The mean over different test sets. Their errors are independent, so the half-widths add in quadrature.

    >>> mean_of_separate_sets([Figure(0.5, 0.2, 0.8, 10), Figure(0.5, 0.1, 0.9, 10)])
    Figure(value=0.5, low=0.25, high=0.75, n=20)
    """
    value, count = fmean(figure.value for figure in figures), len(figures)
    below = math.hypot(*(figure.value - figure.low for figure in figures)) / count
    above = math.hypot(*(figure.high - figure.value for figure in figures)) / count
    return Figure(value, value - below, value + above, sum(figure.n for figure in figures))


def mean_over_sets(sets: Sequence[Sequence[Figure]]) -> Figure:
    """The mean of all figures. Those of one set rest on the same rows, so their half-widths add; sets are independent.

    >>> mean_over_sets([[Figure(0.0, -0.75, 0.75, 10)], [Figure(0.0, -0.5, 0.5, 10), Figure(0.0, -0.5, 0.5, 10)]])
    Figure(value=0.0, low=-0.4166666666666667, high=0.4166666666666667, n=20)
    """
    figures = [figure for some in sets for figure in some]
    value, count = fmean(figure.value for figure in figures), len(figures)
    below = math.hypot(*(sum(figure.value - figure.low for figure in some) for some in sets)) / count
    above = math.hypot(*(sum(figure.high - figure.value for figure in some) for some in sets)) / count
    return Figure(value, value - below, value + above, sum(min(figure.n for figure in some) for some in sets))


def mean_of_same_rows(figures: Sequence[Figure]) -> Figure:
    """The mean of figures that rest on the same rows. The mean of the ends is wide enough, whatever they share.

    >>> mean_of_same_rows([Figure(0.5, 0.25, 0.75, 10), Figure(0.5, 0.0, 1.0, 10)])
    Figure(value=0.5, low=0.125, high=0.875, n=10)
    """
    value = fmean(figure.value for figure in figures)
    low, high = fmean(figure.low for figure in figures), fmean(figure.high for figure in figures)
    return Figure(value, low, high, min(figure.n for figure in figures))
