"""Does the model know what it does not know? The largest softmax probability as a detector (Hendrycks & Gimpel 2017).

Rows of the model's own data should have a larger one than rows of other data ("outliers"). `auroc`: how often an own
row has a larger one than an outlier.  `aupr`: area under precision and recall with the own data as the positive class;
`aupr_out`: with the outliers (both depend on how many there are of each).  `fpr95`: the share of outliers that pass
when 95% of the own data do (Liang et al. 2018); some papers swap the two roles.
"""

from typing import Any

import numpy as np

from uegr.errors import InputError
from uegr.statistics.intervals import FEW_RESAMPLES, Figure, bootstrap


def confidence(probabilities: Any) -> np.ndarray:
    """The largest probability of each row, (rows,).

    >>> confidence([[0.1, 0.9], [0.6, 0.4]])
    array([0.9, 0.6])
    """
    return np.asarray(np.asarray(probabilities, dtype=np.float64).max(1))


def auroc(scores: np.ndarray, inside: np.ndarray) -> float:
    from sklearn.metrics import roc_auc_score

    return float(roc_auc_score(inside, scores))


def aupr(scores: np.ndarray, inside: np.ndarray) -> float:
    """Average precision: the step-wise area; straight lines between points would give too much."""
    from sklearn.metrics import average_precision_score

    return float(average_precision_score(inside, scores))


def aupr_out(scores: np.ndarray, inside: np.ndarray) -> float:
    return aupr(-scores, ~inside)


def fpr95(scores: np.ndarray, inside: np.ndarray) -> float:
    """The share of outliers at or above the highest threshold that lets 95% of the inside rows pass.

    >>> fpr95(np.array([0.9, 0.8, 0.95, 0.1]), np.array([True, True, False, False]))
    0.5
    """
    own = np.sort(scores[inside])[::-1]
    threshold = own[int(np.ceil(0.95 * len(own) - 1e-9)) - 1]
    return float(np.mean(scores[~inside] >= threshold))


MEASURES = {"auroc": auroc, "aupr": aupr, "aupr_out": aupr_out, "fpr95": fpr95}


def anomaly(inside: Any, outliers: Any, *, seed: int = 0) -> dict[str, Figure]:
    """Each measure of confidences (rows,) inside and outside; the figures' n counts both.

    >>> anomaly([0.9, 0.8], [0.6, 0.5])["auroc"].value
    1.0
    """
    inside, outliers = np.asarray(inside, dtype=np.float64), np.asarray(outliers, dtype=np.float64)
    if inside.ndim != 1 or outliers.ndim != 1 or not len(inside) or not len(outliers):
        raise InputError(f"expected confidences inside and outside, (rows,), got {inside.shape} and {outliers.shape}")
    scores = np.concatenate([inside, outliers])
    own = np.arange(len(scores)) < len(inside)
    return {
        name: bootstrap(measure, scores, own, resamples=FEW_RESAMPLES, seed=seed, strata=own)
        for name, measure in MEASURES.items()
    }
