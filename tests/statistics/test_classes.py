"""Figures of each class: as scikit-learn has them."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, f1_score, precision_recall_fscore_support

from uegr.evaluation.metrics import METRICS, measure, task_metrics
from uegr.statistics.classes import classes

NAMES = ("a", "b", "c", "never")


@pytest.mark.parametrize("seed", range(5))
def test_classes_and_metrics_are_those_of_scikit_learn(seed):
    draw = np.random.default_rng(seed)
    labels, predictions = draw.integers(0, 3, 40), draw.integers(0, 3 + seed % 2, 40)
    found = classes(predictions, labels, NAMES)
    options = {"labels": range(4), "zero_division": 0}
    columns = zip(*precision_recall_fscore_support(labels, predictions, **options), strict=True)
    for name, (precision, recall, f1, rows) in zip(NAMES, columns, strict=True):
        one = found.table[name]
        assert (one.precision, one.recall, one.f1, one.n) == pytest.approx((precision, recall, f1, rows))
    counts = confusion_matrix(labels, predictions, labels=range(4))
    assert [[found.confusion[a].get(b, 0) for b in NAMES] for a in NAMES] == counts.tolist()
    assert found.majority_accuracy == np.bincount(labels).max() / 40
    assert METRICS["macro_f1"](predictions, labels) == pytest.approx(f1_score(labels, predictions, average="macro"))
    assert METRICS["balanced_accuracy"](predictions, labels) == pytest.approx(
        balanced_accuracy_score(labels, predictions)
    )


def test_a_constant_answer_is_seen_through():
    labels = np.array([0] * 300 + [1] * 12)
    found = measure(task_metrics(["accuracy"], None, regression=False), np.zeros(312, dtype=int), labels)
    assert found["accuracy"].value == pytest.approx(0.9615, abs=1e-4)
    assert found["balanced_accuracy"].value == 0.5
    assert found["macro_f1"].value == pytest.approx(0.4902, abs=1e-4)
    assert found["balanced_accuracy"].n == 312


def test_repeated_rows_are_counted_rows():
    labels, predictions, times = np.array([0, 1, 1, 2]), np.array([0, 1, 0, 0]), np.array([3, 1, 2, 5])
    for name in ("macro_f1", "balanced_accuracy"):
        many = METRICS[name](predictions.repeat(times), labels.repeat(times))
        assert METRICS[name](predictions, labels, times) == pytest.approx(many)
