"""Accuracy on other data with the same labels: what is left of a model when the domain changes.

A model's label may be called otherwise there, or several of its labels be one (HANS knows only `non-entailment`): the
answer is the label with the largest probability, translated (McCoy et al. 2019). Rows whose label no answer of the
model can mean are left out; n counts what is measured.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import nn

from uegr.data import Data, cards, load, subsample
from uegr.errors import InputError
from uegr.evaluation.calibration import calibration_error
from uegr.evaluation.metrics import measure
from uegr.models.texts import Progress, Rows, labels_of, probabilities, texts_of
from uegr.statistics.intervals import Figure, share_of


@dataclass(frozen=True)
class Other:
    """Rows of another data set, and which of its labels each label of the model means; -1 for none of them."""

    name: str
    rows: Rows
    meaning: tuple[int, ...] | None  # None: a regression
    metrics: tuple[str, ...] = ("accuracy",)


def held_out(data: Data, labelled: bool = True) -> list[str]:
    """The splits to measure on: test where there is one with labels, else validation, else whatever there is."""
    usable = [name for name, rows in data.splits.items() if not labelled or "label" in rows.column_names]
    for start in ("test", "validation", ""):
        found = [name for name in usable if name.startswith(start)]
        if found:
            return found
    raise InputError(f"{data.name} has no split with labels to measure on")


def pooled(data: Data, splits: Sequence[str], limit: int | None = None, seed: int = 0) -> Rows:
    """The rows of the splits together, at most `limit` of them, every label in proportion."""
    from datasets import concatenate_datasets

    rows = concatenate_datasets([data.splits[name] for name in splits])
    return rows if limit is None or limit >= len(rows) else subsample(rows, size=limit, seed=seed)


def meaning(ours: Sequence[str], theirs: Sequence[str], names: Mapping[str, str]) -> tuple[int, ...]:
    """The place among their labels of what each of our labels means there.

    >>> meaning(["yes", "maybe", "no"], ["no", "yes"], {"maybe": "no"})
    (1, 0, 0)
    """
    unknown = [f"{here}: {there}" for here, there in names.items() if here not in ours or there not in theirs]
    if unknown:
        raise InputError(f"the label map {unknown[0]} does not lead from {', '.join(ours)} to {', '.join(theirs)}")
    there = [names.get(name, name) for name in ours]
    places = tuple(theirs.index(name) if name in theirs else -1 for name in there)
    if max(places) < 0:
        raise InputError(f"expected data with labels such as {', '.join(ours[:8])}, got {', '.join(theirs[:8])}")
    return places


def other(
    source: str | Data,
    labels: Sequence[str] | None,
    *,
    task: str | None = None,
    names: Mapping[str, str] | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> Other:
    """The held-out rows of a card, file, folder or `Data`, for a model of these labels (None: a regression).

    `names` maps a label of the model to its name there; without it the card's own map for the `task` is used.
    """
    data = source if isinstance(source, Data) else loaded(source, labels)
    rows = pooled(data, held_out(data), limit, seed)
    if (labels is None) != (data.labels is None):
        raise InputError(
            f"{data.name} is a {data.task} and the model's task is not; measure it on data of its own kind"
        )
    if labels is None:
        return Other(data.name, rows, None, data.metrics)
    known = names if names is not None else card_names(data, task)
    return Other(data.name, rows, meaning(labels, data.labels or (), known), ("accuracy",))


def loaded(source: str, labels: Sequence[str] | None) -> Data:
    """A card knows its labels; a file's are read as the model's."""
    kinds: dict[str, Any] = {"task": "regression"} if labels is None else {"labels": labels}
    return load(source, labelled=True) if source in cards() else load(source, labelled=True, **kinds)


def card_names(data: Data, task: str | None) -> Mapping[str, str]:
    uses = data.card.evaluates if data.card else ()
    return next((use.labels for use in uses if use.task == task), {})


def shift(
    model: nn.Module,
    tokenizer: Any,
    other: Other,
    *,
    batch_size: int = 64,
    max_length: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Figure]:
    """Accuracy and calibration error on the other data; its own metrics for a regression."""
    sizes: dict[str, Any] = {"batch_size": batch_size, "max_length": max_length, "progress": progress}
    if other.meaning is None:
        values = probabilities(model, tokenizer, texts_of(other.rows), **sizes)
        return measure(other.metrics, values, labels_of(other.rows))
    labels = labels_of(other.rows)
    kept = np.flatnonzero(np.isin(labels, [place for place in other.meaning if place >= 0]))
    if not len(kept):
        raise InputError(f"{other.name} has no rows whose label the model knows")
    texts = texts_of(other.rows)
    found = probabilities(model, tokenizer, [texts[row] for row in kept], **sizes)
    right = np.array(other.meaning)[found.argmax(1)] == labels[kept]
    return {"accuracy": share_of(right), "ece": calibration_error(found.max(1), right)}
