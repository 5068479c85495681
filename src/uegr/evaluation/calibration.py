"""Does a confidence of 80% mean right in 80% of the cases? (Guo et al. 2017)

ECE = sum_b n_b / n |accuracy(b) - confidence(b)|   over 15 equal bins ((b-1)/15, b/15] of the largest probability
Brier = mean over rows of sum over classes of (p_c - [y = c])^2   (Brier 1950: 0 to 2; sklearn's binary one is half)
A temperature T divides the logits, p_c^(1/T) / sum: it changes confidences and no answer. The best one has the smallest
negative log-likelihood. It grows with the logits: c times the logits have c times the temperature.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from uegr.errors import InputError
from uegr.result import Bin, Calibration
from uegr.statistics.intervals import Figure, bootstrap, mean, proportion

BINS = 15
RANGE = (1e-3, 1e3)  # in which a temperature is looked for, in units of the logits' spread


def checked(probabilities: Any, labels: Any) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities (rows, classes) and labels (rows,), checked."""
    probabilities, labels = np.asarray(probabilities, dtype=np.float64), np.asarray(labels)
    if probabilities.ndim != 2 or probabilities.shape[1] < 2 or labels.shape != probabilities.shape[:1]:
        raise InputError(
            f"expected probabilities (rows, classes) and labels (rows,), got {probabilities.shape} and {labels.shape}"
        )
    if not np.allclose(probabilities.sum(1), 1, atol=1e-4) or probabilities.min(initial=0) < 0:
        raise InputError("expected probabilities that sum to 1 in each row, got others; are these logits?")
    return probabilities, labels


def tempered(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Probabilities (rows, classes) as if the logits were divided by a temperature.

    >>> tempered(np.array([[0.2, 0.8]]), 0.5).round(3).tolist()
    [[0.059, 0.941]]
    """
    if temperature == 1:
        return probabilities
    logits = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny)) / temperature
    raised = np.exp(logits - logits.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True))


def temperature(probabilities: Any, labels: Any) -> float:
    """The temperature with the smallest negative log-likelihood; fit it on rows that are not measured afterwards.

    If nearly all of the n rows are right, no temperature is small enough. Then it is the one at which the mean
    confidence is (n + 1) / (n + 2), which is the rule of succession: n rows do not prove more.

    >>> round(temperature([[0.1, 0.9]] * 4, [1, 1, 1, 0]), 6)
    2.0
    >>> round(float(tempered(np.array([[0.1, 0.9]]), temperature([[0.1, 0.9]] * 8, [1] * 8)).max()), 6)
    0.9
    """
    probabilities, labels = checked(probabilities, labels)
    logits = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
    spread = float(np.std(logits - logits.mean(1, keepdims=True)))
    most = (len(labels) + 1) / (len(labels) + 2)
    if spread == 0:
        return 1.0

    def loss(logarithm: float) -> float:
        of_label = tempered(probabilities, float(np.exp(logarithm)))[np.arange(len(labels)), labels]
        return -float(np.log(np.maximum(of_label, np.finfo(np.float64).tiny)).mean())

    def excess(logarithm: float) -> float:
        return float(tempered(probabilities, float(np.exp(logarithm))).max(1).mean()) - most

    bounds = np.log(RANGE) + np.log(spread)
    found = float(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-9}).x)
    if excess(found) > 0:
        found = float(brentq(excess, found, bounds[1], xtol=1e-12))
    return float(np.exp(found))


def answers(probabilities: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each row's confidence, and whether it is right."""
    return probabilities.max(1), probabilities.argmax(1) == labels


def places(confidence: np.ndarray, bins: int) -> np.ndarray:
    """Each row's bin, from 0; a confidence that rounding put above 1 is in the last one.

    >>> places(np.array([0.2, 0.21, 1.0]), 5)
    array([0, 1, 4])
    """
    return np.asarray(np.clip(np.ceil(confidence * bins).astype(int) - 1, 0, bins - 1))


def gap(place: np.ndarray, confidence: np.ndarray, right: np.ndarray) -> float:
    """The expected calibration error of rows whose bins are known: n_b cancels, only the sums count."""
    return float(np.abs(np.bincount(place, right - confidence)).sum() / len(place))


def calibration_error(confidence: np.ndarray, right: np.ndarray, *, bins: int = BINS, seed: int = 0) -> Figure:
    """ECE with the bootstrap's interval, of confidences (rows,) and whether each row is right.

    It is not quite 0 on few rows even for a perfectly calibrated model: compare models on the same rows only. The
    interval is that of its expectation on as many rows.
    """
    found = bootstrap(gap, places(confidence, bins), confidence, right, seed=seed, centred=True)
    return replace(found, low=max(0.0, found.low)) if len(confidence) else found


def expected_calibration_error(probabilities: Any, labels: Any, *, bins: int = BINS, seed: int = 0) -> Figure:
    """ECE of probabilities (rows, classes).

    >>> round(expected_calibration_error([[0.2, 0.8]] * 5, [1, 1, 1, 0, 0]).value, 6)
    0.2
    """
    return calibration_error(*answers(*checked(probabilities, labels)), bins=bins, seed=seed)


def brier(probabilities: Any, labels: Any) -> Figure:
    """The Brier score with its interval.

    >>> brier([[1.0, 0.0], [0.5, 0.5]], [0, 0]).value
    0.25
    """
    probabilities, labels = checked(probabilities, labels)
    target = np.arange(probabilities.shape[1]) == labels[:, None]
    return mean(((probabilities - target) ** 2).sum(1))


def reliability(probabilities: Any, labels: Any, *, bins: int = BINS) -> list[Bin]:
    """The reliability curve: a point for each bin that has rows, with Wilson's interval of its accuracy.

    >>> reliability([[0.2, 0.8]] * 2, [1, 0], bins=5)[0].accuracy.value
    0.5
    """
    confidence, right = answers(*checked(probabilities, labels))
    place = places(confidence, bins)
    points = []
    for number in np.unique(place):
        inside = place == number
        accuracy = proportion(int(right[inside].sum()), int(inside.sum()))
        edges = {"start": number / bins, "end": (number + 1) / bins}
        points.append(Bin(**edges, confidence=float(confidence[inside].mean()), accuracy=accuracy))
    return points


def calibration(
    probabilities: Any, labels: Any, *, bins: int = BINS, temperature: float = 1.0, fitted: float | None = None
) -> Calibration:
    """ECE, Brier score and reliability curve, after a temperature; ECE also before any, and after a `fitted` one."""
    plain = np.asarray(probabilities, dtype=np.float64)
    heated = tempered(plain, temperature)

    def error(after: float) -> Figure:
        return expected_calibration_error(tempered(plain, after), labels, bins=bins)

    return Calibration(
        ece=error(temperature),
        brier=brier(heated, labels),
        reliability=reliability(heated, labels, bins=bins),
        bins=bins,
        temperature=temperature,
        ece_before=error(1.0),
        ece_calibrated=None if fitted is None else error(fitted),
    )
