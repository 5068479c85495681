"""Means over seeds: scipy's interval, and none where there is nothing to judge by."""

import math

import numpy as np
import pytest
from scipy import stats

from uegr.statistics import deviation, mean_over_seeds

VALUES = [0.81, 0.84, 0.80, 0.86]


def test_the_interval_is_scipys():
    found = mean_over_seeds(VALUES)
    expected = stats.t.interval(0.95, 3, loc=np.mean(VALUES), scale=stats.sem(VALUES))
    assert (found.low, found.high) == pytest.approx(expected)
    assert (found.value, found.n) == (pytest.approx(np.mean(VALUES)), 4)
    assert deviation(VALUES) == pytest.approx(np.std(VALUES, ddof=1))


@pytest.mark.parametrize("values", [[0.7], [0.7, 0.7, 0.7], [0.9 - 0.8, 0.8 - 0.7, 0.7 - 0.6]])
def test_one_seed_or_no_spread_gives_no_interval(values):
    found = mean_over_seeds(values)
    assert found.value == pytest.approx(values[0])
    assert math.isnan(found.low)
    assert math.isnan(found.high)
