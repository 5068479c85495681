"""The mean of several figures has an honest interval."""

import math

import pytest

from uegr.statistics import Figure, mean_of_same_rows, mean_of_separate_sets

FIGURES = [Figure(0.6, 0.5, 0.7, 10), Figure(0.8, 0.7, 0.9, 10)]


def test_errors_of_separate_sets_add_in_quadrature_and_their_rows_add_up():
    found = mean_of_separate_sets(FIGURES)
    assert (found.value, found.n) == (pytest.approx(0.7), 20)
    assert found.high - found.value == pytest.approx(0.1 / 2**0.5)
    assert found.value - found.low == pytest.approx(0.1 / 2**0.5)


def test_the_same_rows_count_once_and_keep_the_width():
    found = mean_of_same_rows(FIGURES)
    assert (found.value, found.n) == (pytest.approx(0.7), 10)
    assert found.high - found.value == pytest.approx(0.1)


@pytest.mark.parametrize("average", [mean_of_separate_sets, mean_of_same_rows])
def test_one_unknown_interval_makes_the_mean_unknown(average):
    found = average([FIGURES[0], Figure(0.8, math.nan, math.nan, 10)])
    assert found.value == pytest.approx(0.7)
    assert not found.bounded


@pytest.mark.parametrize("average", [mean_of_separate_sets, mean_of_same_rows])
def test_one_figure_is_its_own_mean(average):
    found = average(FIGURES[:1])
    assert (found.value, found.low, found.high, found.n) == pytest.approx((0.6, 0.5, 0.7, 10))
