"""Is a method better than the baseline, or was it luck? Paired tests over seeds, and over the rows of one test set.

Over seeds the runs are paired by seed (same data order and initialisation): Student's paired t, Wilcoxon's signed
ranks, and the exact permutation of the signs, which assumes least. Few seeds cannot show much: the smallest two-sided
p of the last two is 2 / 2^n, so 0.0625 with five seeds and 0.03125 with six.
Over rows, McNemar's exact test asks whether two models differ on the rows where only one of them is right.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from uegr.errors import InputError
from uegr.statistics.intervals import Figure

MOST_EXACT = 16  # differences whose 2^n signs are all tried; beyond, 100,000 random ones
DRAWS = 100_000


@dataclass(frozen=True)
class Paired:
    """The mean difference with its 95% t interval, and three two-sided p values, None where there are too few runs."""

    difference: Figure
    standard_deviation: float | None
    t: float | None
    wilcoxon: float | None
    permutation: float | None

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "difference": self.difference.to_json()}


def paired(scores: Sequence[float], base: Sequence[float]) -> Paired:
    """Compare a method's scores with the baseline's, the i-th of both from the same seed.

    >>> paired([0.9, 0.8, 0.7, 0.9, 0.8, 0.7], [0.8, 0.7, 0.6, 0.7, 0.7, 0.6]).permutation
    0.03125
    """
    if len(scores) != len(base) or not len(scores):
        raise InputError(f"expected as many scores as of the baseline, one a seed, got {len(scores)} and {len(base)}")
    differences = np.round(np.asarray(scores, dtype=np.float64) - np.asarray(base, dtype=np.float64), 12)
    if len(differences) < 2:
        value = float(differences[0])
        return Paired(Figure(value, math.nan, math.nan, 1), None, None, None, None)
    deviation = float(differences.std(ddof=1)) if np.ptp(differences) else 0.0
    return Paired(
        t_interval(differences, deviation),
        deviation,
        t_test(differences),
        signed_ranks(differences),
        permutation(differences),
    )


def t_interval(differences: np.ndarray, deviation: float) -> Figure:
    from scipy.stats import t

    n, centre = len(differences), float(differences.mean())
    half = float(t.ppf(0.975, n - 1)) * deviation / math.sqrt(n)
    return Figure(centre, centre - half, centre + half, n)


def t_test(differences: np.ndarray) -> float:
    """Student's paired t; differences that are all the same are certain (0), or nothing at all (1)."""
    from scipy.stats import ttest_1samp

    if np.ptp(differences) == 0:
        return 1.0 if differences[0] == 0 else 0.0
    return float(ttest_1samp(differences, 0).pvalue)


def signed_ranks(differences: np.ndarray) -> float:
    """Wilcoxon's test; zeros are left out, as he did."""
    from scipy.stats import wilcoxon

    differences = differences[differences != 0]
    return float(wilcoxon(differences).pvalue) if len(differences) else 1.0


def permutation(differences: np.ndarray, seed: int = 0) -> float:
    """How often random signs give a mean difference at least as large: all signs, or many random ones."""
    n = len(differences)
    if n <= MOST_EXACT:
        signs, drawn = np.array(list(product([1, -1], repeat=n))), 0
    else:
        signs, drawn = np.random.default_rng(seed).choice([1, -1], (DRAWS, n)), 1
    reached = np.abs(signs @ differences) >= abs(differences.sum()) - 1e-12
    return float((reached.sum() + drawn) / (len(signs) + drawn))  # the observed signs are among the drawn ones


def mcnemar(right: Any, right_base: Any) -> dict[str, float | int]:
    """McNemar's exact test of two models on the same rows, from which rows each has right, (rows,).

    >>> mcnemar([True] * 6 + [False], [False] * 6 + [True])
    {'p': 0.125, 'gained': 6, 'lost': 1, 'n': 7}
    """
    from scipy.stats import binomtest

    right, right_base = np.asarray(right, dtype=bool), np.asarray(right_base, dtype=bool)
    if right.shape != right_base.shape or right.ndim != 1:
        raise InputError(f"expected the same rows of both models, got {right.shape} and {right_base.shape}")
    gained, lost = int((right & ~right_base).sum()), int((~right & right_base).sum())
    p = float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    return {"p": p, "gained": gained, "lost": lost, "n": len(right)}


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """p values adjusted for their number (Holm 1979): with twenty methods, one of them is "significant" by luck.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    adjusted, largest = {}, 0.0
    for place, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}
