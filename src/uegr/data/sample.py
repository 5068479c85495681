"""Stratified parts of a data set: a validation split held out, a smaller training split, or a fold as test split."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from uegr.data.duplicates import text_hashes
from uegr.data.load import Data
from uegr.errors import InputError

if TYPE_CHECKING:
    from datasets import Dataset


def subsample(dataset: "Dataset", *, size: int | None = None, fraction: float | None = None, seed: int) -> "Dataset":
    """`size` rows, or a `fraction` of them, with every label in proportion and in the order of the data set.

    A smaller sample of the same seed is part of every larger one, so that a curve over sizes (R-AT, figure 2) adds
    rows and never swaps them.
    """
    wanted = rows_wanted(len(dataset), size, fraction)
    if wanted == len(dataset):
        return dataset
    return dataset.select(np.sort(stratified_order(strata(dataset), seed)[:wanted]))


def rows_wanted(rows: int, size: int | None, fraction: float | None) -> int:
    """
    >>> rows_wanted(10, None, 0.25), rows_wanted(10, 4, None)
    (2, 4)
    """
    if (size is None) == (fraction is None):
        raise InputError("expected either a size or a fraction of the rows, got both or neither")
    if fraction is not None:
        if not 0 < fraction <= 1:
            raise InputError(f"expected 0 < fraction <= 1, got {fraction}")
        size = max(1, round(rows * fraction))
    assert size is not None
    if not 1 <= size <= rows:
        raise InputError(f"expected a size from 1 to {rows:,}, the number of rows, got {size:,}")
    return size


def strata(dataset: "Dataset") -> np.ndarray:
    """The label ids, [rows]; one stratum when there are no classes."""
    if "label" not in dataset.column_names or dataset.features["label"].dtype != "int64":
        return np.zeros(len(dataset), dtype=np.int32)
    pieces = dataset.select_columns(["label"]).with_format("numpy").iter(batch_size=100_000)
    return np.concatenate([piece["label"].astype(np.int32) for piece in pieces])


def stratified_order(labels: np.ndarray, seed: int) -> np.ndarray:
    """All row numbers, shuffled so that every prefix of the list has each label in proportion, to rounding."""
    shuffled = np.random.default_rng(seed).permutation(len(labels)).astype(np.int32)
    labels = labels[shuffled]
    rank = np.empty(len(labels))
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        rank[members] = (np.arange(len(members)) + 0.5) / len(members)
    return shuffled[np.argsort(rank, kind="stable")]


def holdout(data: Data, fraction: float, seed: int) -> Data:
    """`data` with a `validation` split taken from `train`, stratified; equal texts stay on one side."""
    train = data.splits["train"]
    if not 0 < fraction < 1 or len(train) < 2:
        raise InputError(f"expected 0 < fraction < 1 of at least 2 rows, got {fraction} of {len(train)}")
    wanted = min(max(1, round(len(train) * fraction)), len(train) - 1)
    held = whole_texts(stratified_order(strata(train), seed), text_hashes(train), wanted)
    if not len(held):
        raise InputError(f"{data.name}: nearly all rows have the same text; no validation split can be held out")
    kept = np.ones(len(train), dtype=bool)
    kept[held] = False
    return data.with_splits(train=train.select(np.flatnonzero(kept)), validation=train.select(held))


def with_validation_as_test(data: Data) -> Data:
    """`data` whose validation split is its test split, for sets that publish no labelled test split.

    Rows for choosing an epoch or a setting are then held out of the training rows, and the test rows choose nothing.
    """
    names = [name for name in data.splits if name.startswith("validation")]
    tests = [name for name, rows in data.splits.items() if name.startswith("test") and "label" in rows.column_names]
    if len(names) != 1 or tests:
        raise InputError(
            f"{data.name}: expected one validation split and no labelled test split for validation_as_test, got "
            f"{', '.join([*names, *tests])}; leave it out"
        )
    kept = {name: rows for name, rows in data.splits.items() if not name.startswith(("validation", "test"))}
    return replace(data, splits=kept | {"test": data.splits[names[0]]})


def with_fold(data: Data, folds: int, fold: int) -> Data:
    """`data` for cross-validation: one of `folds` parts of `train` is the `test` split, the others are `train`.

    The parts depend on texts and labels alone, not on a seed or on the order of the rows. Every row is in the test
    split of one fold; equal texts are in the same. A test split of the data's own is left out.
    """
    if not (folds >= 2 and 0 <= fold < folds):
        raise InputError(f"expected folds >= 2 and 0 <= fold < folds, got folds={folds} and fold={fold}")
    train = data.splits["train"]
    places = fold_numbers(text_hashes(train), strata(train), folds)
    if len(np.unique(places)) < folds:
        raise InputError(f"{data.name}: expected at least {folds} different texts for {folds} folds; use fewer folds")
    others = {name: rows for name, rows in data.splits.items() if not name.startswith("test")}
    parts = {"train": np.flatnonzero(places != fold), "test": np.flatnonzero(places == fold)}
    return replace(data, splits=others | {name: train.select(rows) for name, rows in parts.items()})


def fold_numbers(hashes: np.ndarray, labels: np.ndarray, folds: int) -> np.ndarray:
    """The fold of every row, [rows]: the texts of each label, in the order of their hashes, are dealt out in turn.

    >>> fold_numbers(np.array([9, 5, 5, 7, 2]), np.array([0, 1, 1, 0, 1]), 2).tolist()
    [1, 1, 1, 0, 0]
    """
    texts, inverse = np.unique(hashes, return_inverse=True)
    lowest = np.full(len(texts), np.iinfo(np.int64).max)
    np.minimum.at(lowest, inverse, labels)  # of a text with several labels
    dealt = np.empty(len(texts), dtype=np.int64)
    dealt[np.argsort(lowest, kind="stable")] = np.arange(len(texts)) % folds
    numbers: np.ndarray = dealt[inverse]
    return numbers


def whole_texts(order: np.ndarray, hashes: np.ndarray, wanted: int) -> np.ndarray:
    """The first `wanted` rows of `order`, never some of the rows of one text and not the others, sorted.

    Texts that occur once come first, so that the repeated ones usually stay in training.
    """
    ascending = np.sort(hashes)
    repeated = np.unique(ascending[1:][ascending[1:] == ascending[:-1]])
    del ascending
    held: list[int] = []
    shared: list[int] = []
    for rows in np.array_split(order, len(order) // 100_000 + 1):
        if len(held) < wanted:
            again = np.isin(hashes[rows], repeated)
            held += rows[~again][: wanted - len(held)].tolist()
            shared += rows[again].tolist()
    for row in shared if len(held) < wanted else ():
        twins = np.flatnonzero(hashes == hashes[row])
        if row == twins[0] and len(held) + len(twins) <= wanted:
            held += twins.tolist()
    return np.sort(np.array(held, dtype=np.int64))
