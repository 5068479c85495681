"""Which rows of a data set measure a model, and what the model's labels are called there."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from uegr.data.load import Data
from uegr.data.sample import subsample
from uegr.errors import InputError

if TYPE_CHECKING:
    from datasets import Dataset


def held_out_splits(data: Data, labelled: bool = True) -> list[str]:
    """The splits to measure on: test where there is one with labels, else validation, else whatever there is."""
    usable = [name for name, rows in data.splits.items() if not labelled or "label" in rows.column_names]
    for start in ("test", "validation", ""):
        found = [name for name in usable if name.startswith(start)]
        if found:
            return found
    raise InputError(f"{data.name} has no split with labels to measure on")


def pooled(data: Data, splits: Sequence[str], limit: int | None = None, seed: int = 0) -> "Dataset":
    """The rows of the splits together, at most `limit` of them, every label in proportion."""
    from datasets import concatenate_datasets

    rows = concatenate_datasets([data.splits[name] for name in splits])
    return rows if limit is None or limit >= len(rows) else subsample(rows, size=limit, seed=seed)


def meaning(ours: Sequence[str], theirs: Sequence[str], names: Mapping[str, str]) -> tuple[int, ...]:
    """The place among their labels of what each of our labels means there; -1 where it means none of them.

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


def matched(
    data: Data, labels: Sequence[str] | None, *, task: str | None = None, names: Mapping[str, str] | None = None
) -> tuple[int, ...] | None:
    """What each label of a model means in the data, by number; None for a regression.

    `names` maps a label of the model to its name there; default: the map of the data's card for the `task`.
    """
    if (labels is None) != (data.labels is None):
        raise InputError(
            f"{data.name} is a {data.kind} and the model's task is not; measure it on data of its own kind"
        )
    if labels is None:
        return None
    return meaning(labels, data.labels or (), card_names(data, task) if names is None else names)


def card_names(data: Data, task: str | None) -> Mapping[str, str]:
    """The label map of the data's card for a task."""
    uses = data.card.evaluates if data.card else ()
    return next((use.labels for use in uses if use.task == task), {})
