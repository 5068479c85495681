"""Significance on cases worked out by hand and against scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from uegr.errors import InputError
from uegr.statistics import holm, mcnemar, paired, permutation


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
    with pytest.raises(InputError, match="one score per seed"):
        paired([0.9, 0.8], [0.9])


@pytest.mark.parametrize(
    ("scores", "base", "permuted"),
    [([0.9, 0.8, 0.7], [0.8, 0.7, 0.6], 0.25), ([0.9, 0.8], [0.9, 0.8], 1.0)],
)
def test_differences_without_spread_have_no_t_test_and_no_interval(scores, base, permuted):
    """0.1 from three seeds is not certainty: p = 0 would be marked as shown."""
    found = paired(scores, base)
    assert found.t is None
    assert not found.difference.bounded
    assert found.standard_deviation == 0.0
    assert found.permutation == permuted  # it needs no spread
    assert not math.isnan(found.wilcoxon)


def test_mcnemar_is_the_exact_binomial_of_what_only_one_has_right():
    ours = np.array([1] * 50 + [0] * 10 + [1] * 25 + [0] * 15, dtype=bool)
    base = np.array([1] * 50 + [1] * 10 + [0] * 25 + [0] * 15, dtype=bool)
    found = mcnemar(ours, base)
    assert (found.gained, found.lost, found.n) == (25, 10, 100)
    assert found.p == pytest.approx(2 * sum(math.comb(35, k) for k in range(11)) / 2**35)
    assert mcnemar(ours, ours).p == 1
    with pytest.raises(InputError, match="same rows"):
        mcnemar(ours, base[:3])


def test_holm_by_hand():
    found = holm({"a": 0.04, "b": 0.01, "c": 0.03, "d": 0.005})
    assert found == pytest.approx({"d": 0.02, "b": 0.03, "c": 0.06, "a": 0.06})
    assert list(found) == ["a", "b", "c", "d"]
    assert holm({"a": 0.7, "b": 0.9}) == {"a": 1.0, "b": 1.0}
