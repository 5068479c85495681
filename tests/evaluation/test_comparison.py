"""Improvement and significance on hand-worked cases and against scipy."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from uegr.errors import InputError
from uegr.evaluation import holm, mcnemar, paired, relative_improvement
from uegr.statistics.significance import permutation

VANILLA = {"in_distribution": 0.94, "shift": 0.9, "adversarial": 0.6, "calibration": 0.10, "anomaly": 0.8}


def test_the_average_by_hand():
    scores = {"in_distribution": 0.955, "shift": 0.91, "adversarial": 0.7, "calibration": 0.08, "anomaly": 0.78}
    found = relative_improvement(scores, VANILLA)
    expected = {"in_distribution": 25, "shift": 10, "adversarial": 25, "calibration": 20, "anomaly": -10}
    assert found.perspectives == pytest.approx(expected)
    assert found.value == pytest.approx(14)
    assert found.left_out == ()
    assert found.base == "vanilla"


def test_the_base_improves_by_nothing_and_perfection_by_all():
    assert relative_improvement(VANILLA, VANILLA).value == 0
    perfect = {"in_distribution": 1, "shift": 1, "adversarial": 1, "calibration": 0, "anomaly": 1}
    assert relative_improvement(perfect, VANILLA).value == pytest.approx(100)


def test_a_perfect_base_and_what_one_side_lacks_are_left_out_by_name():
    base = {"shift": 0.5, "calibration": 0.0, "anomaly": 0.9}
    found = relative_improvement({"shift": 0.75, "calibration": 0.2, "adversarial": 0.1}, base, base_name="bert")
    assert found.value == pytest.approx(50)
    assert found.left_out == ("adversarial", "calibration", "anomaly")
    nothing = relative_improvement({"shift": 0.7}, {"shift": 1.0})
    assert nothing.value is None
    assert json.loads(json.dumps(nothing.to_json()))["left_out"] == ["shift"]


def test_percentages_and_unknown_perspectives_are_refused():
    with pytest.raises(InputError, match="divide percentages by 100"):
        relative_improvement({"shift": 91.0}, {"shift": 0.9})
    with pytest.raises(InputError, match="did you mean calibration"):
        relative_improvement({"calibratoin": 0.1}, {})


def test_paired_tests_equal_scipy():
    scores, base = [0.91, 0.90, 0.93, 0.92, 0.915, 0.9, 0.92], [0.90, 0.905, 0.91, 0.90, 0.912, 0.89, 0.915]
    found = paired(scores, base)
    assert found.t == pytest.approx(stats.ttest_rel(scores, base).pvalue)
    assert found.wilcoxon == pytest.approx(stats.wilcoxon(np.round(np.subtract(scores, base), 12)).pvalue)
    exact = stats.permutation_test((scores, base), lambda x, y: np.mean(x - y), permutation_type="samples")
    assert found.permutation == pytest.approx(exact.pvalue)
    interval = stats.ttest_rel(scores, base).confidence_interval()
    assert (found.difference.low, found.difference.high) == pytest.approx((interval.low, interval.high))
    assert found.difference.n == 7
    assert found.standard_deviation == pytest.approx(np.std(np.subtract(scores, base), ddof=1))


def test_permutation_by_hand():
    # |sum| of the signed 1, 2, 3 is at least 6 - 2 for +++, ---, -++, +--: 4 of 8; at least 6 for 2 of 8
    assert permutation(np.array([1.0, 2.0, 3.0])) == 2 / 8
    assert permutation(np.array([-1.0, 2.0, 3.0])) == 4 / 8


def test_many_differences_are_drawn_and_agree_with_the_exact_count():
    differences = np.concatenate([np.ones(15), -np.ones(7)])
    exact = stats.binomtest(15, 22).pvalue  # equal sizes: the sign test
    assert permutation(differences) == pytest.approx(exact, rel=0.05)
    assert permutation(np.ones(40)) > 0


def test_few_or_equal_runs_have_no_nonsense():
    one = paired([0.9], [0.8])
    assert (one.t, one.wilcoxon, one.permutation) == (None, None, None)
    assert one.to_json()["difference"] == {"value": pytest.approx(0.1), "low": None, "high": None, "n": 1}
    same = paired([0.9, 0.8], [0.9, 0.8])
    assert (same.t, same.wilcoxon, same.permutation) == (1.0, 1.0, 1.0)
    constant = paired([0.9, 0.8, 0.7], [0.8, 0.7, 0.6])
    assert constant.t == 0.0
    assert constant.permutation == 0.25
    assert not math.isnan(constant.wilcoxon)
    with pytest.raises(InputError, match="one a seed"):
        paired([0.9, 0.8], [0.9])


def test_mcnemar_is_the_exact_binomial_of_what_only_one_has_right():
    ours = np.array([1] * 50 + [0] * 10 + [1] * 25 + [0] * 15, dtype=bool)
    base = np.array([1] * 50 + [1] * 10 + [0] * 25 + [0] * 15, dtype=bool)
    found = mcnemar(ours, base)
    assert (found["gained"], found["lost"], found["n"]) == (25, 10, 100)
    assert found["p"] == pytest.approx(2 * sum(math.comb(35, k) for k in range(11)) / 2**35)
    assert mcnemar(ours, ours)["p"] == 1
    with pytest.raises(InputError, match="same rows"):
        mcnemar(ours, base[:3])


def test_holm_by_hand():
    found = holm({"a": 0.04, "b": 0.01, "c": 0.03, "d": 0.005})
    assert found == pytest.approx({"d": 0.02, "b": 0.03, "c": 0.06, "a": 0.06})
    assert list(found) == ["a", "b", "c", "d"]
    assert holm({"a": 0.7, "b": 0.9}) == {"a": 1.0, "b": 1.0}
