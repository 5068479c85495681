"""How each class of a classifier fares: precision, recall, F1, and which classes are taken for which.

Where a class was never predicted its precision is 0, and where it has no rows its recall is, as in scikit-learn with
`zero_division=0`. The majority baseline is the accuracy of always answering the most frequent label.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


def spelt(name: str) -> str:
    """A class as it is shown; quotes keep spaces at its ends, which a page would drop.

    >>> spelt("happy"), spelt("happy ")
    ('happy', "'happy '")
    """
    return name if name == name.strip() else repr(name)


@dataclass(frozen=True)
class ClassFigures:
    """One class: of those predicted so, the share that is right; of its own rows, the share found; and both in one."""

    precision: float
    recall: float
    f1: float
    n: int  # rows with this label


@dataclass(frozen=True)
class Classes:
    """The classes of one split by name."""

    majority: str  # the most frequent label
    majority_accuracy: float  # of always answering it
    table: dict[str, ClassFigures]
    confusion: dict[str, dict[str, int]]  # label -> prediction -> rows, without zeros


def classes(predictions: Any, labels: Any, names: Sequence[str]) -> Classes:
    """The figures of each class, from class numbers (rows,) and the names of the classes.

    >>> found = classes([0, 0, 0, 1], [0, 0, 1, 1], ["bad", "good"])
    >>> found.table["good"]
    ClassFigures(precision=1.0, recall=0.5, f1=0.6666666666666666, n=2)
    >>> found.confusion
    {'bad': {'bad': 2}, 'good': {'bad': 1, 'good': 1}}
    >>> found.majority, found.majority_accuracy
    ('bad', 0.5)
    """
    counts = confusion_matrix(predictions, labels, len(names))
    right, truth, answers = counts.diagonal(), counts.sum(1), counts.sum(0)
    table = {
        name: ClassFigures(
            precision=share(right[k], answers[k]),
            recall=share(right[k], truth[k]),
            f1=share(2 * right[k], truth[k] + answers[k]),
            n=int(truth[k]),
        )
        for k, name in enumerate(names)
    }
    confusion = {
        name: {other: int(counts[k, j]) for j, other in enumerate(names) if counts[k, j]}
        for k, name in enumerate(names)
    }
    most = int(truth.argmax())
    return Classes(names[most], share(truth[most], counts.sum()), table, confusion)


def confusion_matrix(predictions: Any, labels: Any, count: int) -> np.ndarray:
    """Rows by label (down) and prediction (across), (classes, classes)."""
    cells = np.asarray(labels, dtype=np.int64) * count + np.asarray(predictions, dtype=np.int64)
    return np.bincount(cells, minlength=count * count).reshape(count, count)


def share(part: Any, whole: Any) -> float:
    """A part of a whole; 0 of nothing.

    >>> share(1, 4), share(0, 0)
    (0.25, 0.0)
    """
    return float(part) / float(whole) if whole else 0.0
