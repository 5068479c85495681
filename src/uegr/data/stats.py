"""Lengths and labels of a split, as numbers and as bars for a terminal."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from uegr.data.arrow import PIECE
from uegr.data.check import words

if TYPE_CHECKING:
    from datasets import Dataset

BINS = 12
PERCENTILES = (0, 25, 50, 75, 95, 99, 100)


@dataclass(frozen=True)
class Stats:
    """`lengths`: words by percentile; `histogram`: (from, to, rows); `balance`: rows by label, or bins of a number."""

    rows: int
    lengths: dict[int, int]
    histogram: tuple[tuple[int, int, int], ...]
    balance: dict[str, int]


def stats(dataset: "Dataset", labels: tuple[str, ...] | None) -> Stats:
    """One pass over a split."""
    lengths = np.array(word_counts(dataset))
    percentiles = np.percentile(lengths, PERCENTILES).round().astype(int).tolist()
    top = max(int(np.percentile(lengths, 99)), 1)  # one very long text must not flatten the histogram
    edges = np.unique(np.linspace(0, top + 1, min(BINS, top + 1) + 1).astype(int))
    counts, _ = np.histogram(np.minimum(lengths, top), edges)
    bins = zip(edges[:-1].tolist(), (edges[1:] - 1).tolist(), counts.tolist(), strict=True)
    return Stats(len(dataset), dict(zip(PERCENTILES, percentiles, strict=True)), tuple(bins), balance(dataset, labels))


def word_counts(dataset: "Dataset") -> list[int]:
    columns = [name for name in ("text", "pair") if name in dataset.column_names]
    return [
        sum(map(words, texts))
        for batch in dataset.select_columns(columns).iter(batch_size=PIECE)
        for texts in zip(*(batch[name] for name in columns), strict=True)
    ]


def balance(dataset: "Dataset", labels: tuple[str, ...] | None) -> dict[str, int]:
    """Rows by label name, or by the range of a number; empty without labels."""
    if "label" not in dataset.column_names:
        return {}
    values: Any = np.asarray(dataset.with_format("numpy", columns=["label"])[:]["label"])
    if labels is not None:
        counts = np.bincount(values, minlength=len(labels)).tolist()
        return dict(zip(labels, counts, strict=True))
    numbers, edges = np.histogram(values, bins=min(BINS, len(np.unique(values))))
    return {f"{low:.2f} to {high:.2f}": int(n) for low, high, n in zip(edges[:-1], edges[1:], numbers, strict=True)}


def bar(part: int, whole: int, width: int = 40) -> str:
    """A bar in eighths of a character.

    >>> bar(5, 10, 4), bar(1, 1000, 4), bar(0, 10, 4)
    ('██', '▏', '')
    """
    eighths = max(round(8 * width * part / max(whole, 1)), 1 if part else 0)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()
