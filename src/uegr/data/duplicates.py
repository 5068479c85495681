"""Rows with the same text, in one split or in two, by 64-bit hashes: 8 bytes per row in memory, never the texts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from uegr.cache import data_folder, kept, key_of, remembered
from uegr.data import arrow
from uegr.data.split import text_hash
from uegr.errors import InputError, warn

if TYPE_CHECKING:
    from datasets import Dataset

NAMED = 5  # rows that a message names


@dataclass(frozen=True)
class Shared:
    """Texts that occur on both sides: how many rows of the other split, and the first of them with its twin, from 1."""

    rows: int
    first: tuple[tuple[int, int], ...]  # (row of the other split, row of train)

    def __str__(self) -> str:
        return ", ".join(f"row {other} = train row {train}" for other, train in self.first)


def text_hashes(dataset: "Dataset") -> np.ndarray:
    """The hash of every row's text, and pair, [rows] of uint64, remembered by content."""
    path = data_folder() / "hashes" / f"{key_of('hashes', arrow.VERSION, dataset._fingerprint)}.npy"
    kept(path, lambda made: np.save(made, hashed(dataset), allow_pickle=False))
    found: np.ndarray = np.load(path, mmap_mode="r", allow_pickle=False)
    return found


def hashed(dataset: "Dataset") -> np.ndarray:
    """One pass over the texts."""
    hashes = np.empty(len(dataset), dtype=np.uint64)
    columns = [name for name in ("text", "pair") if name in dataset.column_names]
    start = 0
    for batch in dataset.select_columns(columns).iter(batch_size=arrow.PIECE):
        for texts in zip(*(batch[name] for name in columns), strict=True):
            hashes[start] = text_hash(*texts)
            start += 1
    return hashes


def repeats(hashes: np.ndarray) -> np.ndarray:
    """The rows, from 0, whose text occurs in an earlier row, in order."""
    _, first = np.unique(hashes, return_index=True)
    return np.setdiff1d(np.arange(len(hashes)), first)


def shared(train: np.ndarray, other: np.ndarray) -> Shared:
    """Which rows of `other` have a text of `train`, both as hashes.

    >>> shared(np.array([5, 7, 7]), np.array([1, 7, 5]))
    Shared(rows=2, first=((2, 2), (3, 1)))
    """
    order = np.argsort(train, kind="stable")
    twins = np.minimum(np.searchsorted(train, other, sorter=order), len(train) - 1)
    rows = np.flatnonzero(train[order[twins]] == other)
    return Shared(len(rows), tuple((int(row) + 1, int(order[twins[row]]) + 1) for row in rows[:NAMED]))


def leaks(splits: "dict[str, Dataset]") -> dict[str, Shared]:
    """The splits that share texts with `train`, remembered by content."""
    if "train" not in splits or len(splits) == 1:
        return {}

    def find() -> dict[str, list[Any]]:
        hashes = {name: text_hashes(dataset) for name, dataset in splits.items()}
        train = hashes.pop("train")
        found = {name: shared(train, other) for name, other in hashes.items()}
        return {name: [leak.rows, leak.first] for name, leak in found.items() if leak.rows}

    key = key_of("leaks", arrow.VERSION, [(name, dataset._fingerprint) for name, dataset in splits.items()])
    known = remembered(key, find)
    return {name: Shared(rows, tuple((a, b) for a, b in first)) for name, (rows, first) in known.items()}


def without(rows: "Dataset", train: "Dataset", name: str, where: str) -> "Dataset":
    """The rows of the data set `name` whose text is not in `train`, the rows of `where`; warns of how many are."""
    seen = np.isin(text_hashes(rows), text_hashes(train))
    if seen.all():
        raise InputError(f"{name}: {where} was trained on all {len(rows):,} rows; choose other rows with --dataset")
    if not seen.any():
        return rows
    warn(f"{name}: {int(seen.sum()):,} of {len(rows):,} rows are left out, since {where} was trained on them")
    return rows.select(np.flatnonzero(~seen))
