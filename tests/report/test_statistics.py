"""Means over seeds and marks: scipy's numbers, no mark without a test."""

from collections import defaultdict

import pytest
from scipy.stats import t, ttest_rel

from tests.report.synthetic_runs import result
from uegr.report.columns import improvement
from uegr.report.figures import Figure, figures_of, same_rows_mean, separate_mean, wilson
from uegr.report.groups import grouped
from uegr.report.reading import as_run
from uegr.report.statistics import Cell, compared, holm, marked, paired_p
from uegr.report.tables import view
from uegr.statistics.significance import holm as reference_holm


def cell(*values, metric="accuracy", low=None, high=None):
    figure = Figure("k", "label", metric, values[0], low, high, 100)
    return Cell(figure, dict(enumerate(values)))


def test_the_paired_test_and_the_interval_are_scipys():
    ours, base = [0.81, 0.84, 0.80, 0.86], [0.80, 0.80, 0.79, 0.83]
    found = compared(cell(*ours), cell(*base))
    assert found.p == pytest.approx(ttest_rel(ours, base).pvalue)
    assert found.difference == pytest.approx(0.0225)
    low, high = t.interval(0.95, 3, loc=0.8275, scale=found.deviation / 2)
    assert found.interval == pytest.approx((low, high))


def test_only_shared_seeds_are_paired():
    ours = Cell(cell(0.9).figure, {0: 0.9, 1: 0.8, 5: 0.1})
    base = Cell(cell(0.7).figure, {0: 0.7, 1: 0.7, 9: 0.9})
    assert compared(ours, base).difference == pytest.approx(0.15)


def test_differences_without_spread_are_not_called_certain():
    assert paired_p([0.1, 0.1, 0.1]) is None
    assert paired_p([0.0, 0.0]) == 1.0
    assert paired_p([0.1]) is None


def test_holm_is_that_of_the_evaluation():
    values = [0.2, 0.001, 0.04, 0.011, 0.5]
    reference = reference_holm({str(place): p for place, p in enumerate(values)})
    assert holm(values) == pytest.approx(list(reference.values()))


def test_marks_need_the_adjusted_p_and_know_which_way_is_better():
    base = cell(0.10, 0.11, 0.09, 0.10)
    better = compared(cell(0.20, 0.212, 0.19, 0.20), base)
    assert [one.mark for one in marked([better])] == ["better"]
    error = compared(cell(0.20, 0.212, 0.19, 0.20, metric="ece"), base)
    assert [one.mark for one in marked([error])] == ["worse"]
    weak = compared(cell(0.11, 0.13, 0.10, 0.115), base)
    assert weak.p < 0.05
    assert [one.mark for one in marked([weak] * 5)] == [""] * 5  # five such comparisons, and Holm says no


def test_a_single_seed_is_judged_by_its_rows():
    base = cell(0.70, low=0.66, high=0.74)
    assert compared(cell(0.80, low=0.76, high=0.84), base).mark == "better"
    assert compared(cell(0.73, low=0.69, high=0.77), base).mark == ""
    assert compared(cell(0.80, 0.81), base).test == ""  # many against one is neither
    assert view(compared(cell(0.80, low=0.76, high=0.84), base))["mark"] == "△"


def test_means_over_sets_and_over_the_same_rows_have_honest_intervals():
    figures = [Figure("a", "", "accuracy", 0.6, 0.5, 0.7, 10), Figure("b", "", "accuracy", 0.8, 0.7, 0.9, 10)]
    separate, same = separate_mean("m", "m", figures), same_rows_mean("m", "m", figures)
    assert (separate.value, separate.n, same.n) == (pytest.approx(0.7), 20, 10)
    assert separate.high - separate.value == pytest.approx(0.1 / 2**0.5)
    assert same.high - same.value == pytest.approx(0.1)
    unknown = [figures[0], Figure("b", "", "accuracy", 0.8)]
    assert separate_mean("m", "m", unknown).low is same_rows_mean("m", "m", unknown).low is None


def test_wilson_is_that_of_the_evaluation():
    from uegr.statistics.intervals import proportion

    figure = proportion(37, 120)
    assert wilson(37 / 120, 120) == pytest.approx((figure.low, figure.high))


def test_improvement_is_that_of_the_evaluation():
    from uegr.statistics.improvement import relative_improvement

    ours = {"in_distribution": 0.9, "shift": 0.7, "calibration": 0.05, "anomaly": 1.0}
    base = {"in_distribution": 0.8, "shift": 0.75, "calibration": 0.1, "anomaly": 1.0}
    reference = relative_improvement(ours, base)
    assert improvement(ours, base) == (pytest.approx(reference.value / 100), tuple(reference.perspectives))
    assert improvement({}, base) is None


def test_every_figure_of_a_result_is_found_with_rows_and_interval():
    found = figures_of(result("imdb", "vanilla", 0))
    kinds = defaultdict(list)
    for key, figure in found.items():
        kinds[key.split("/")[0]].append(figure)
    measured = {"clean", "perturbation", "shift", "adversarial", "anomaly", "calibration", "landscape", "drift"}
    assert set(kinds) == {*measured, "attack"}
    assert len(kinds["perturbation"]) == 2 * 7  # six radii and the mean drop, of two attacks
    assert [figure.label for figure in kinds["clean"]] == ["accuracy, test", "accuracy, validation"]
    assert all(figure.n for figure in found.values())
    assert found["attack/pwws on imdb/accuracy_after"].low is not None


def test_a_run_without_evaluation_has_the_scores_of_its_training():
    bare = {key: value for key, value in result("imdb", "vanilla", 0).items() if key not in ("evaluation", "attacks")}
    (group,) = grouped([as_run("a", bare)])
    assert group.columns["own"].figure.label == "accuracy, test"
    assert group.columns["own"].interval[0] is not None


def test_numbers_that_are_none_or_not_finite_are_left_out():
    run = result("imdb", "vanilla", 0)
    run["evaluation"]["clean"]["f1"] = {"value": None, "low": None, "high": None, "n": 0}
    run["scores"]["validation"]["accuracy"] = float("nan")
    assert not {"clean/test/f1", "clean/validation/accuracy"} & set(figures_of(run))
