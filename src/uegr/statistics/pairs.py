"""Two models, the same rows: each measure of both, their difference with its 95% interval, and p.

Where the answers to each row are known, the difference is taken row by row: rows that are easy or hard for both models
cancel, so the interval is narrower than that of two separate figures.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from uegr.statistics.differences import difference
from uegr.statistics.intervals import FEW_RESAMPLES, NORMAL_95, Figure, bootstrap, share_of
from uegr.statistics.significance import holm, mcnemar

LEVEL = 0.05
EXCHANGES = 1_000  # draws: p is then at least 0.001, small enough for Holm over fifty measures
NOTHING = "no difference shown"


@dataclass(frozen=True)
class Pair:
    """One measure of two models; `difference` is the second minus the first."""

    label: str
    first: Figure
    second: Figure
    difference: Figure
    p: float | None  # None: judged by the interval alone
    by_row: bool
    better: int = 1  # 1: more is better, -1: less is, 0: neither
    share: bool = True  # shown in percent

    @property
    def favours(self) -> int:
        """1: the second is better, -1: the first is, 0: no difference is shown."""
        found = self.difference
        shown = self.p < LEVEL if self.p is not None else found.bounded and not found.low <= 0 <= found.high
        return int(np.sign(found.value)) * self.better if shown else 0


def paired_shares(label: str, right: Any, right_too: Any) -> Pair:
    """From which rows each model has right, (rows,): McNemar's exact test.

    >>> pair = paired_shares("accuracy", [True, False] * 10, [True] * 20)
    >>> pair.difference.value, pair.p < 0.01, pair.favours
    (0.5, True, 1)
    """
    first, second = np.asarray(right, dtype=bool), np.asarray(right_too, dtype=bool)
    test = mcnemar(second, first)
    moved = moved_share(test.gained, test.lost, test.n)
    return Pair(label, share_of(first), share_of(second), moved, test.p, by_row=True)


def moved_share(gained: int, lost: int, n: int) -> Figure:
    """The difference of two shares on the same rows, from the rows that only one model has right.

    Half a row is added to each cell of the table of both models (Agresti and Min 2005): without it, models that agree
    on a few rows would have an interval of no width.

    >>> found = moved_share(0, 0, 6)
    >>> round(found.low, 3), found.value, round(found.high, 3)
    (-0.245, 0.0, 0.245)
    """
    more, fewer, rows = gained + 0.5, lost + 0.5, n + 2
    centre = (more - fewer) / rows
    half = NORMAL_95 * math.sqrt(more + fewer - (more - fewer) ** 2 / rows) / rows
    value = (gained - lost) / n if n else math.nan
    return Figure(value, max(-1.0, centre - half), min(1.0, centre + half), n)


def paired_metric(label: str, metric: Callable[..., float], first: Any, second: Any, truth: Any) -> Pair:
    """Any metric of predictions (rows,) and labels (rows,): the bootstrap draws rows, the same ones for both models.

    p is that of `exchanged`. Where every draw gives the same difference, it tells nothing about other rows, and the
    ends are not known.

    >>> paired_metric("mean error", lambda a, b: float(np.mean(a - b)), [1.0, 2.0], [2.0, 3.0], [0.0, 0.0]).difference
    Figure(value=1.0, low=nan, high=nan, n=2)
    """

    def gap(one: Any, other: Any, labels: Any) -> float:
        return metric(other, labels) - metric(one, labels)

    ours, theirs = (bootstrap(metric, answers, truth, resamples=FEW_RESAMPLES) for answers in (first, second))
    moved = bootstrap(gap, first, second, truth, resamples=FEW_RESAMPLES)
    if moved.low == moved.high:
        moved = replace(moved, low=math.nan, high=math.nan)
    return Pair(label, ours, theirs, moved, exchanged(gap, first, second, truth), by_row=True)


def exchanged(gap: Callable[..., float], first: Any, second: Any, truth: Any, draws: int = EXCHANGES) -> float:
    """How often the gap is as large after the models exchange their answers to random rows (Noreen 1989).

    Were the models equal, it would not matter which of them gave an answer. Rows with equal answers change nothing.

    >>> gap = lambda one, other, labels: float(np.mean(other == labels) - np.mean(one == labels))
    >>> exchanged(gap, [0, 0, 1], [0, 0, 1], [0, 1, 1])
    1.0
    """
    one, other, labels = (np.asarray(column) for column in (first, second, truth))
    if np.array_equal(one, other):
        return 1.0
    found, generator = abs(gap(one, other, labels)) - 1e-12, np.random.default_rng(0)
    reached = 1  # the observed answers are one of the draws
    for _ in range(draws):
        swap = generator.random(len(labels)) < 0.5
        reached += abs(gap(np.where(swap, other, one), np.where(swap, one, other), labels)) >= found
    return reached / (draws + 1)


def separate(label: str, first: Figure, second: Figure, better: int = 1, share: bool = True) -> Pair:
    """Two figures without the answers to each row: the interval is too wide rather than too narrow."""
    found = difference([second], [first])
    return Pair(label, first, second, found.figure, found.p, by_row=False, better=better, share=share)


def adjusted(pairs: Sequence[Pair]) -> list[Pair]:
    """The same with p adjusted for their number (Holm)."""
    known = holm({place: pair.p for place, pair in enumerate(pairs) if pair.p is not None})
    return [replace(pair, p=known.get(place)) for place, pair in enumerate(pairs)]
