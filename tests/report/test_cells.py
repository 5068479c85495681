"""Means over seeds and marks: scipy's numbers, no mark without a test."""

import math

import pytest
from scipy.stats import t, ttest_rel

from uegr.report.cells import Cell, compared, marked, over_seeds
from uegr.report.figures import Entry, Quantity
from uegr.report.tables import view
from uegr.statistics import Figure

UNKNOWN = math.nan


def cell(*values, metric="accuracy", half=0.0, seeds=None):
    """Figures by seed; `half` is half of the interval over rows."""
    figures = [Figure(value, value - half, value + half, 100) for value in values]
    return Cell(Quantity("k", "label", metric), dict(zip(seeds or range(len(values)), figures, strict=True)))


def test_where_rows_leave_no_doubt_the_test_and_the_interval_are_scipys():
    ours, base = [0.81, 0.84, 0.80, 0.86], [0.80, 0.80, 0.79, 0.83]
    found = compared(cell(*ours), cell(*base))
    assert found.p == pytest.approx(ttest_rel(ours, base).pvalue)
    assert found.difference.value == pytest.approx(0.0225)
    low, high = t.interval(0.95, 3, loc=0.8275, scale=found.deviation / 2)
    assert (found.figure.low, found.figure.high) == pytest.approx((low, high))


def test_only_shared_seeds_are_paired():
    ours = cell(0.9, 0.8, 0.1, seeds=(0, 1, 5))
    base = cell(0.7, 0.7, 0.9, seeds=(0, 1, 9))
    assert compared(ours, base).difference.value == pytest.approx(0.15)
    assert compared(cell(0.9, seeds=(3,)), base).difference is None


def test_the_same_difference_in_every_seed_is_not_called_certain():
    """The one answer of uegr.statistics: without spread a t test says nothing."""
    found = marked([compared(cell(0.9, 0.8, 0.7), cell(0.8, 0.7, 0.6))])[0]
    assert (found.p, found.adjusted, found.mark) == (None, None, "")
    assert found.difference.value == pytest.approx(0.1)


def test_marks_need_the_adjusted_p_and_know_which_way_is_better():
    base = cell(0.10, 0.11, 0.09, 0.10)
    better = compared(cell(0.20, 0.212, 0.19, 0.20), base)
    assert [one.mark for one in marked([better])] == ["better"]
    error = compared(cell(0.20, 0.212, 0.19, 0.20, metric="ece"), base)
    assert [one.mark for one in marked([error])] == ["worse"]
    weak = compared(cell(0.11, 0.13, 0.10, 0.115), base)
    assert weak.p < 0.05
    assert [one.mark for one in marked([weak] * 5)] == [""] * 5  # five such comparisons, and Holm says no


def test_a_mark_needs_the_rows_too():
    ours, base = (0.81, 0.80, 0.805, 0.80), (0.86, 0.855, 0.85, 0.855)
    assert marked([compared(cell(*ours), cell(*base))])[0].mark == "worse"  # many rows
    few = marked([compared(cell(*ours, half=0.075), cell(*base, half=0.07))])[0]
    assert few.mark == ""
    assert few.p > 0.05
    unknown = marked([compared(cell(*ours, half=UNKNOWN), cell(*base))])[0]
    assert (unknown.mark, unknown.p) == ("", None)


@pytest.mark.parametrize("ours", [(0.80,), (0.80, 0.81)])  # in the second case one seed is shared
def test_a_single_seed_has_an_interval_over_its_rows_and_no_mark(ours):
    found = marked([compared(cell(*ours, half=0.01), cell(0.70, half=0.01))])[0]
    assert found.difference.low > 0
    assert (found.mark, found.p, view(found).mark) == ("", None, "")


def test_values_that_are_not_numbers_are_left_out_of_the_mean():
    quantity = Quantity("k", "label", "accuracy")
    runs = [(seed, {"k": Entry(quantity, Figure(value, 0, 1, 10))}) for seed, value in enumerate((0.5, UNKNOWN, 0.7))]
    assert list(over_seeds(runs)["k"].figures) == [0, 2]
    assert over_seeds(runs)["k"].mean == pytest.approx(0.6)
