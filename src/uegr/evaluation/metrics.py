"""The task metrics of GLUE (Wang et al. 2019), by scikit-learn and scipy, with a value where they are undefined.

Predictions are (rows, classes) scores, of which the largest counts, or (rows,) labels or values. A correlation with
constant predictions is undefined; it is 0 here, as in GLUE's tables.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from uegr.errors import InputError, did_you_mean
from uegr.statistics.intervals import FEW_RESAMPLES, Figure, bootstrap, interval, proportion

Metric = Callable[..., float]  # predictions (rows,), labels (rows,), and for classes how often each row counts


def accuracy(predictions: np.ndarray, labels: np.ndarray) -> float:
    """The share of rows whose prediction is the label."""
    return float(np.mean(predictions == labels))


def matthews(predictions: np.ndarray, labels: np.ndarray, counts: np.ndarray | None = None) -> float:
    """Matthews correlation (CoLA)."""
    from sklearn.metrics import matthews_corrcoef

    if not (varies(predictions) and varies(labels)):
        return 0.0
    return float(matthews_corrcoef(labels, predictions, sample_weight=counts))


def f1(predictions: np.ndarray, labels: np.ndarray, counts: np.ndarray | None = None) -> float:
    """F1 of class 1 where the classes are 0 and 1 (MRPC, QQP), the mean over classes where there are more."""
    from sklearn.metrics import f1_score

    if max(predictions.max(), labels.max()) > 1:
        return macro_f1(predictions, labels, counts)
    return float(f1_score(labels, predictions, average="binary", zero_division=0, sample_weight=counts))


def macro_f1(predictions: np.ndarray, labels: np.ndarray, counts: np.ndarray | None = None) -> float:
    """The mean of F1 over the classes that occur in labels or predictions, also where such a row counts 0 times."""
    right, truth, answers = per_class(predictions, labels, counts)
    occurs = np.bincount(np.concatenate([predictions, labels]).astype(np.int64)) > 0
    return float(np.mean(2 * right[occurs] / np.maximum(truth + answers, 1)[occurs]))


def balanced_accuracy(predictions: np.ndarray, labels: np.ndarray, counts: np.ndarray | None = None) -> float:
    """The mean over classes of the share of their rows that is found: 1 / classes for a constant answer."""
    right, truth, _ = per_class(predictions, labels, counts)
    return float(np.mean(right[truth > 0] / truth[truth > 0]))


def per_class(
    predictions: np.ndarray, labels: np.ndarray, counts: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How many rows of each class are right, labelled so, and predicted so; a hundred times as fast as scikit-learn."""
    weights = np.ones(len(labels)) if counts is None else np.asarray(counts, dtype=np.float64)
    labels, predictions = labels.astype(np.int64), predictions.astype(np.int64)
    size = int(max(predictions.max(), labels.max())) + 1
    right = np.bincount(labels, weights * (predictions == labels), size)
    return right, np.bincount(labels, weights, size), np.bincount(predictions, weights, size)


def pearson(predictions: np.ndarray, labels: np.ndarray) -> float:
    """The linear correlation (STS-B); numpy's, since scipy also computes a p-value, for each resample."""
    return float(np.corrcoef(predictions, labels)[0, 1]) if varies(predictions) and varies(labels) else 0.0


def spearman(predictions: np.ndarray, labels: np.ndarray) -> float:
    """The correlation of the ranks (STS-B)."""
    from scipy.stats import rankdata

    return pearson(rankdata(predictions), rankdata(labels))


def varies(values: np.ndarray) -> bool:
    """There are at least two different values."""
    return len(values) > 0 and bool(values.max() > values.min())


METRICS: dict[str, Metric] = {
    "accuracy": accuracy,
    "matthews": matthews,
    "f1": f1,
    "macro_f1": macro_f1,
    "balanced_accuracy": balanced_accuracy,
    "pearson": pearson,
    "spearman": spearman,
}
OF_VALUES = {"pearson", "spearman"}
OF_CLASSES = ("macro_f1", "balanced_accuracy")  # of every classifier, beside what its card names


def task_metrics(named: Sequence[str], chosen: str | None, regression: bool) -> tuple[str, ...]:
    """The metrics of a task, the one that counts first: `chosen`, or the first that its card names.

    >>> task_metrics(["accuracy"], "macro_f1", regression=False)
    ('macro_f1', 'accuracy', 'balanced_accuracy')
    >>> task_metrics(["pearson", "spearman"], None, regression=True)
    ('pearson', 'spearman')
    """
    if chosen is not None and (chosen in OF_VALUES) != regression:
        fitting = [name for name in METRICS if (name in OF_VALUES) == regression]
        kind = "numbers to predict" if regression else "classes"
        raise InputError(f"expected --metric {', '.join(fitting)} for {kind}, got {chosen}")
    first = [] if chosen is None else [chosen]
    return tuple(dict.fromkeys([*first, *named, *(() if regression else OF_CLASSES)]))


def score(names: Iterable[str], predictions: Any, labels: Any) -> dict[str, float]:
    """Each named metric of predictions (rows, classes) or (rows,) against labels (rows,).

    >>> score(["accuracy", "f1"], [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]], [0, 1, 0])
    {'accuracy': 0.6666666666666666, 'f1': 0.6666666666666666}
    """
    prepared = {name: prepare(name, predictions, labels) for name in names}
    return {name: METRICS[name](*columns) for name, columns in prepared.items()}


def measure(names: Iterable[str], predictions: Any, labels: Any, seed: int = 0) -> dict[str, Figure]:
    """As `score`, each metric with its interval.

    Wilson's for accuracy, the posterior of each class's answers for means over classes, for others the bootstrap.
    """
    return {name: figure(name, *prepare(name, predictions, labels), seed) for name in names}


def figure(name: str, predictions: np.ndarray, labels: np.ndarray, seed: int) -> Figure:
    if name == "accuracy":
        return proportion(int((predictions == labels).sum()), len(labels))
    if name in OF_VALUES:
        return bootstrap(METRICS[name], predictions, labels, seed=seed)
    if name in OF_CLASSES or (name == "f1" and max(predictions.max(), labels.max()) > 1):
        return posterior_of_classes(METRICS[name], predictions, labels, seed)
    return bootstrap_of_cells(METRICS[name], predictions, labels, seed)


def bootstrap_of_cells(metric: Metric, predictions: np.ndarray, labels: np.ndarray, seed: int) -> Figure:
    """The bootstrap over rows of a metric of the confusion matrix, by redrawing its cells: more rows take no longer."""
    cells, counts = np.unique(np.stack([predictions, labels]), axis=1, return_counts=True)
    drawn = np.random.default_rng(seed).multinomial(len(labels), counts / len(labels), size=FEW_RESAMPLES)
    resampled = [metric(*cells[:, row > 0], row[row > 0]) for row in drawn]
    return interval(metric(predictions, labels), resampled, len(labels))


def posterior_of_classes(metric: Metric, predictions: np.ndarray, labels: np.ndarray, seed: int) -> Figure:
    """A mean over classes, with the interval of what each class's rows are taken for.

    The shares of a class's answers are drawn from their posterior: that of being right is Beta(right + 1 / classes,
    wrong + 1 / classes), with Jeffreys' prior for two. A resample of the rows would leave a rare class out, and never
    doubts one that is all right or wrong.
    """
    named = np.unique(np.concatenate([predictions, labels]))
    truth, answers = np.repeat(named, len(named)), np.tile(named, len(named))  # every cell, also the empty ones
    generator, weights = np.random.default_rng(seed), np.zeros((FEW_RESAMPLES, len(truth)))
    for label in np.unique(labels):
        rows = predictions[labels == label]
        prior = np.where(named == label, 1, 1 / max(1, len(named) - 1)) / len(named)
        counts = (rows[:, None] == named).sum(0) + prior
        weights[:, truth == label] = len(rows) * generator.dirichlet(counts, size=FEW_RESAMPLES)
    value = metric(predictions, labels)
    found = interval(value, [metric(answers, truth, row) for row in weights], len(labels))
    return replace(found, low=min(found.low, value), high=max(found.high, value))


def prepare(name: str, predictions: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Predictions and labels as two checked columns, in the form that the metric takes."""
    if name not in METRICS:
        raise InputError(f"unknown metric {name!r}; {did_you_mean(name, METRICS)}")
    predictions, labels = np.asarray(predictions), np.asarray(labels)
    if predictions.ndim not in (1, 2) or predictions.shape[:1] != labels.shape or len(labels) == 0:
        raise InputError(
            f"expected a prediction for each label, (rows, classes) or (rows,), got {predictions.shape} "
            f"for labels {labels.shape}"
        )
    if not np.isfinite(predictions.astype(np.float64)).all():
        raise InputError("the predictions are not all finite numbers; did the training diverge?")
    return (values_of(predictions) if name in OF_VALUES else classes_of(predictions, labels)), labels


def values_of(predictions: np.ndarray) -> np.ndarray:
    """One value per row, (rows,)."""
    if predictions.ndim == 2 and predictions.shape[1] != 1:
        raise InputError(f"expected one value per row for a correlation, got {predictions.shape[1]} classes")
    return predictions.reshape(-1).astype(np.float64)


def classes_of(predictions: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The class with the largest score, (rows,); a column that already has one class per row is not changed."""
    if not np.array_equal(labels, np.round(labels)) or labels.min() < 0:
        raise InputError("expected labels that are class numbers from 0; hidden or fractional labels have no accuracy")
    if predictions.ndim == 1:
        return predictions
    if predictions.shape[1] == 1:
        raise InputError("expected scores of at least two classes, got one value per row: a regression has no accuracy")
    return np.asarray(predictions.argmax(1))
