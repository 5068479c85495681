"""The difference of two methods over seeds and rows: against scipy, by simulation, and the case that misled."""

import math

import numpy as np
import pytest
from scipy import stats

from uegr.statistics import Figure, difference, proportion


def exact(value):
    """A figure whose rows leave no doubt."""
    return Figure(value, value, value, 10**9)


def test_without_doubt_about_the_rows_it_is_the_paired_t_test():
    ours, base = [0.81, 0.84, 0.80, 0.86], [0.80, 0.80, 0.79, 0.83]
    found = difference([exact(value) for value in ours], [exact(value) for value in base])
    assert found.p == pytest.approx(stats.ttest_rel(ours, base).pvalue)
    interval = stats.ttest_rel(ours, base).confidence_interval()
    assert (found.figure.low, found.figure.high) == pytest.approx((interval.low, interval.high))
    assert found.figure.n == 4


def test_of_one_seed_the_rows_alone_give_the_interval():
    found = difference([proportion(900, 1000)], [proportion(860, 1000)])
    error = math.sqrt(0.9 * 0.1 / 1000 + 0.86 * 0.14 / 1000)
    assert found.figure.high - found.figure.value == pytest.approx(1.96 * error, rel=0.01)
    assert found.p == pytest.approx(2 * stats.norm.sf(0.04 / error), rel=0.03)


def test_five_points_on_a_hundred_rows_are_not_shown_however_alike_the_seeds_are():
    """A report said "worse, p < 0.05" of this; on 1,000 rows the difference was half a point."""
    base, ours = [86, 86, 85], [81, 80, 80]
    alone = stats.ttest_rel(np.array(ours) / 100, np.array(base) / 100).pvalue
    assert alone < 0.05
    found = difference([proportion(hits, 100) for hits in ours], [proportion(hits, 100) for hits in base])
    assert found.p > 0.2
    assert found.figure.low < 0 < found.figure.high


def test_a_gain_that_is_the_same_with_every_seed_has_the_interval_of_the_rows_and_is_not_judged():
    ours, base = [proportion(hits, 1000) for hits in (900, 890)], [proportion(hits, 1000) for hits in (860, 850)]
    one = difference(ours[:1], base[:1])
    both = difference(ours, base)
    assert both.p is None
    assert both.figure.high - both.figure.low == pytest.approx(one.figure.high - one.figure.low, rel=0.05)
    few = difference([proportion(5, 6)] * 2, [proportion(4, 6)] * 2)
    assert few.figure.low < 0 < few.figure.high


def test_what_is_not_known_is_not_judged():
    bare = Figure(0.8, math.nan, math.nan, 100)
    assert difference([bare, bare], [exact(0.7), exact(0.6)]).p is None
    constant = difference([exact(0.9), exact(0.8)], [exact(0.8), exact(0.7)])
    assert constant.p is None
    assert not constant.figure.bounded
    assert difference([exact(0.8)], [exact(0.7)]).p is None


@pytest.mark.parametrize(("seeds", "spread"), [(2, 0.3), (2, 1.0), (2, 5.0), (3, 3.0), (5, 2.0)])
def test_equal_methods_are_called_different_no_more_often_than_promised(seeds, spread):
    """2,000 experiments; the spread over seeds is in units of the error that the shared rows give the difference."""
    generator, wrong = np.random.default_rng(0), 0
    for _ in range(2000):
        values = generator.normal() + generator.normal(0, spread, seeds)
        half = 1.959964 / math.sqrt(2)  # of each method's interval: a difference has an error of 1
        ours = [Figure(value, value - half, value + half, 100) for value in values]
        wrong += difference(ours, [Figure(0.0, -half, half, 100)] * seeds).p < 0.05
    assert wrong <= 0.055 * 2000 + 2 * math.sqrt(2000 * 0.05 * 0.95)


def test_a_real_difference_is_found():
    generator, found = np.random.default_rng(0), 0
    for _ in range(200):
        values = 6 + generator.normal() + generator.normal(0, 1.0, 3)
        half = 1.959964 / math.sqrt(2)
        ours = [Figure(value, value - half, value + half, 100) for value in values]
        found += difference(ours, [Figure(0.0, -half, half, 100)] * 3).p < 0.05
    assert found > 150
