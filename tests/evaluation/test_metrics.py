"""Metrics on cases worked out by hand."""

import math

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from uegr.errors import InputError
from uegr.evaluation import METRICS, Figure, measure, score
from uegr.statistics import proportion


def test_binary_metrics_by_hand():
    # tp 3, fp 1, fn 2, tn 4
    labels = [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    predicted = [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    found = score(["accuracy", "f1", "matthews", "macro_f1"], predicted, labels)
    assert found["accuracy"] == pytest.approx(0.7)
    assert found["f1"] == pytest.approx(2 * 3 / (2 * 3 + 1 + 2))
    assert found["matthews"] == pytest.approx((3 * 4 - 1 * 2) / math.sqrt(4 * 5 * 5 * 6))
    assert found["macro_f1"] == pytest.approx((2 / 3 + 8 / 11) / 2)


def test_f1_of_three_classes_is_the_mean_over_classes():
    found = score(["f1"], [0, 0, 1, 2], [0, 1, 1, 2])["f1"]
    assert found == pytest.approx((2 / 3 + 2 / 3 + 1) / 3)


def test_correlations_by_hand():
    found = score(["pearson", "spearman"], np.array([[1.0], [2.0], [4.0]]), [1.0, 2.0, 3.0])
    assert found["pearson"] == pytest.approx(3 / math.sqrt(2 * 14 / 3))
    assert found["spearman"] == pytest.approx(1)


def test_correlations_are_those_of_scipy():
    draw = np.random.default_rng(0)
    answers, labels = draw.normal(size=50).round(1), draw.normal(size=50).round(1)  # with ties
    found = score(["pearson", "spearman"], answers[:, None], labels)
    assert found["pearson"] == pytest.approx(pearsonr(answers, labels).statistic, abs=1e-12)
    assert found["spearman"] == pytest.approx(spearmanr(answers, labels).statistic, abs=1e-12)


@pytest.mark.parametrize("name", ["matthews", "pearson", "spearman"])
def test_constant_predictions_correlate_with_nothing(name, recwarn):
    assert score([name], [1, 1, 1], [0, 1, 1]) == {name: 0.0}
    assert measure([name], [1, 1, 1], [0, 1, 1])[name] == Figure(0.0, 0.0, 0.0, 3)
    assert not recwarn


def test_every_metric_is_1_when_all_is_right():
    for name in METRICS:
        assert score([name], [0, 1, 1, 0], [0, 1, 1, 0])[name] == pytest.approx(1)


def test_a_class_that_is_never_found_leaves_the_interval_of_its_few_rows():
    """A resample had no row of it: the interval went up to 100. Kept in each resample, it had no width at all."""
    for rare, most in ((1, 0.95), (6, 0.72), (60, 0.53)):
        labels, predictions = np.array([0] * 150 + [1] * rare), np.zeros(150 + rare, dtype=int)
        found = measure(["macro_f1", "balanced_accuracy"], predictions, labels)
        share = proportion(0, rare).high  # Wilson's for the recall
        assert found["balanced_accuracy"].low == pytest.approx(0.5, abs=0.01)
        assert found["balanced_accuracy"].high == pytest.approx(0.5 + share / 2, abs=0.12)
        assert found["balanced_accuracy"].high < most
        assert found["macro_f1"].low <= found["macro_f1"].value < found["macro_f1"].high


def test_the_interval_is_around_the_value_with_many_classes_of_few_rows():
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 119, 1749)
    predictions = np.where(draw.random(1749) < 0.7, labels, draw.integers(0, 119, 1749))
    for one in measure(["macro_f1", "balanced_accuracy"], predictions, labels).values():
        assert one.low + 0.01 < one.value < one.high - 0.01


def test_all_right_is_not_sure():
    found = measure(["macro_f1", "balanced_accuracy"], np.array([0] * 10 + [1] * 10), np.array([0] * 10 + [1] * 10))
    for one in found.values():
        assert one.high == 1
        assert 0.8 < one.low < 0.98


def test_a_class_that_is_only_predicted_stays_in_the_mean_of_a_resample():
    labels, predictions = np.array([0] * 50 + [1] * 50), np.array([0] * 49 + [2] + [1] * 50)
    found = measure(["macro_f1", "f1"], predictions, labels)
    assert found["f1"] == found["macro_f1"]
    assert found["macro_f1"].high < 0.67


def test_the_interval_of_a_mean_over_classes_holds_as_wide_as_the_spread_of_new_rows():
    draw = np.random.default_rng(0)
    labels = np.array([0] * 200 + [1] * 100)
    values = [
        score(["balanced_accuracy"], wrong, labels)["balanced_accuracy"]
        for wrong in (np.where(draw.random(300) < 0.2, 1 - labels, labels) for _ in range(300))
    ]
    low, high = np.quantile(values, [0.025, 0.975])
    predictions = labels.copy()
    predictions[[*range(40), *range(200, 220)]] ^= 1
    found = measure(["balanced_accuracy"], predictions, labels)["balanced_accuracy"]
    assert found.high - found.low == pytest.approx(high - low, rel=0.25)


@pytest.mark.parametrize(
    ("name", "predictions", "labels", "message"),
    [
        ("acuracy", [1], [1], "did you mean accuracy"),
        ("accuracy", [1, 0], [1], "prediction for each label"),
        ("accuracy", [], [], "prediction for each label"),
        ("accuracy", [[0.1, math.nan]], [1], "finite"),
        ("accuracy", [[0.3]], [0], "regression"),
        ("accuracy", [[0.3, 0.7]], [-1], "hidden"),
        ("accuracy", [[0.3, 0.7]], [0.5], "fractional"),
        ("pearson", [[0.3, 0.7]], [0.5], "one value per row"),
    ],
)
def test_what_cannot_be_scored_is_one_clear_line(name, predictions, labels, message):
    with pytest.raises(InputError, match=message):
        score([name], predictions, labels)


def test_accuracy_has_wilson_and_others_the_bootstrap():
    labels = np.arange(200) % 2
    predictions = np.where(np.arange(200) % 5 == 0, 1 - labels, labels)
    found = measure(["accuracy", "matthews"], predictions, labels)
    assert found["accuracy"] == proportion(160, 200)
    assert found["matthews"].value == pytest.approx(0.6)
    assert 0.45 < found["matthews"].low < 0.6 < found["matthews"].high < 0.75
    assert found["matthews"].n == 200
