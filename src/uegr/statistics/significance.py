"""Is a method better than the baseline, or was it luck? Paired tests over seeds, and over the rows of one test set.

Over seeds the runs are paired by seed (same data order and initialisation): Student's paired t, Wilcoxon's signed
ranks, and the exact permutation of the signs, which assumes least. Few seeds cannot show much: the smallest two-sided
p of the last two is 2 / 2^n, so 0.0625 with five seeds and 0.03125 with six.
Over rows, McNemar's exact test asks whether two models differ on the rows where only one of them is right.

Differences that are the same for every seed have no spread, and Student's t divides by the spread: 0.1 three times
would give p = 0, certainty from three runs; 0.0 three times would give 0/0. The t test says nothing there: its p value
and the ends of its interval are unknown, and no report marks such a difference. The permutation test needs no spread.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from statistics import fmean
from typing import Any, TypeVar

import numpy as np

from uegr.errors import InputError
from uegr.statistics.intervals import Figure
from uegr.statistics.seeds import deviation, mean_over_seeds

MOST_EXACT = 16  # differences whose 2^n signs are all tried; beyond, 100,000 random ones
DRAWS = 100_000
Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True)
class Paired:
    """The mean difference with its 95% t interval, and three two-sided p values; None where there are too few runs.

    t is None, and the interval unknown, also where all differences are the same.
    """

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
        raise InputError(f"expected one score per seed of both methods, got {len(scores)} and {len(base)}")
    differences = [round(float(score) - float(other), 12) for score, other in zip(scores, base, strict=True)]
    mean = mean_over_seeds(differences)
    if len(differences) < 2:
        return Paired(mean, None, None, None, None)
    ranks, signs = signed_ranks(differences), permutation(differences)
    return Paired(mean, deviation(differences), t_test(differences), ranks, signs)


def t_test(differences: Sequence[float]) -> float | None:
    """The two-sided p of Student's paired t; None where there is no spread to judge by.

    >>> round(t_test([0.1, 0.2, 0.3]), 4), t_test([0.1, 0.1, 0.1]), t_test([0.0, 0.0])
    (0.0742, None, None)
    """
    from scipy.special import stdtr

    n = len(differences)
    spread = deviation(differences) if n > 1 else 0.0
    return 2 * float(stdtr(n - 1, -abs(fmean(differences)) * math.sqrt(n) / spread)) if spread else None


def signed_ranks(differences: Sequence[float]) -> float:
    """Wilcoxon's test; zeros are left out, as he did.

    >>> signed_ranks([0.1, 0.2, 0.3])
    0.25
    """
    from scipy.stats import wilcoxon

    moved = [difference for difference in differences if difference]
    return float(wilcoxon(moved).pvalue) if moved else 1.0


def permutation(differences: Sequence[float], seed: int = 0) -> float:
    """How often random signs give a mean difference at least as large: all signs, or many random ones.

    >>> permutation([0.1, 0.2, 0.3]), permutation([-0.1, 0.2, 0.3])
    (0.25, 0.5)
    """
    n = len(differences)
    if n <= MOST_EXACT:
        signs, drawn = np.array(list(product([1, -1], repeat=n))), 0
    else:
        signs, drawn = np.random.default_rng(seed).choice([1, -1], (DRAWS, n)), 1
    reached = np.abs(signs @ np.asarray(differences)) >= abs(sum(differences)) - 1e-12
    return float((reached.sum() + drawn) / (len(signs) + drawn))  # the observed signs are among the drawn ones


@dataclass(frozen=True)
class McNemar:
    """The two-sided p, the rows that only the first model has right, those that only the second has, and all rows."""

    p: float
    gained: int
    lost: int
    n: int


def mcnemar(right: Any, right_base: Any) -> McNemar:
    """McNemar's exact test of two models on the same rows, from which rows each has right, (rows,).

    >>> mcnemar([True] * 6 + [False], [False] * 6 + [True])
    McNemar(p=0.125, gained=6, lost=1, n=7)
    """
    from scipy.stats import binomtest

    right, right_base = np.asarray(right, dtype=bool), np.asarray(right_base, dtype=bool)
    if right.shape != right_base.shape or right.ndim != 1:
        raise InputError(f"expected the same rows of both models, got {right.shape} and {right_base.shape}")
    gained, lost = int((right & ~right_base).sum()), int((~right & right_base).sum())
    p = float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    return McNemar(p, gained, lost, len(right))


def holm(p_values: Mapping[Name, float]) -> dict[Name, float]:
    """p values adjusted for their number (Holm 1979): of twenty methods, one is "significant" by luck.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    adjusted: dict[Name, float] = {}
    largest = 0.0
    for place, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[name]))
        adjusted[name] = largest
    return {name: adjusted[name] for name in p_values}
