"""Find the sets that measure a model: by name, or all that the cards name for its task.

sets = gathered(data, shift=["snippets_tweets"], anomaly=["20newsgroups"])
evaluate(model, tokenizer, sets)
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from uegr.data import Data, cards, evaluation_sets, load
from uegr.data.matching import held_out_splits, matched, pooled
from uegr.errors import InputError
from uegr.evaluation.sets import Other, Sets

Wanted = Sequence[str | Data] | None  # None: every card that says it tests this task
Found = TypeVar("Found")


def gathered(
    data: Data,
    *,
    shift: Wanted = (),
    adversarial: Wanted = (),
    anomaly: Wanted = (),
    also: Sequence[str | Data] = (),
    only: Sequence[str] = (),
    validation: Any = None,
    rows: int | None = None,
    costly_rows: int | None = 200,
    other_rows: int | None = 3_000,
    outlier_rows: int | None = 1_000,
    seed: int = 0,
) -> Sets:
    """The held-out rows of `data`, and other sets: cards, files, folders or `Data`; None takes what the cards name.

    `also` are further sets, measured as a shift; `only` keeps, of those that cards name, some; a temperature is fitted
    on `validation` rows. `rows` bounds the rows of each set. `costly_rows` bounds those of PGD,
    input gradients and sharpness, `other_rows` those of each shifted or adversarial set, and `outlier_rows` those of
    each set of outliers. They are drawn by the seed, every label in proportion. A set that a card names and that is not
    available here is in `left_out`; a set that is asked for by name must be here.
    """
    splits = held_out_splits(data)
    left_out: dict[str, str] = {}

    def labelled(source: str | Data) -> Other:
        return other(source, data.labels, task=data.name, limit=bound(rows, other_rows), seed=seed)

    def unlabelled(source: str | Data) -> tuple[str, Any]:
        return outliers(source, bound(rows, outlier_rows), seed)

    return Sets(
        data.name,
        {split: pooled(data, [split], rows, seed) for split in splits},
        data.metrics,
        data.labels,
        few=pooled(data, splits[:1], bound(rows, costly_rows), seed),
        validation=validation,
        shift=[*found(data.name, "shift", shift, labelled, only, left_out), *map(labelled, also)],
        adversarial=found(data.name, "adversarial", adversarial, labelled, only, left_out),
        anomaly=dict(found(data.name, "anomaly", anomaly, unlabelled, only, left_out)),
        left_out=left_out,
    )


def bound(*limits: int | None) -> int | None:
    """The smallest of some bounds on rows, of which any may be None.

    >>> bound(None, 200), bound(100, 200), bound(None, None)
    (200, 100, None)
    """
    return min((limit for limit in limits if limit is not None), default=None)


def found(
    task: str,
    kind: str,
    wanted: Wanted,
    find: Callable[[str | Data], Found],
    only: Sequence[str],
    left_out: dict[str, str],
) -> list[Found]:
    """The sets that were asked for; of those that the cards name (and that are in `only`), the ones that are here."""
    if wanted is not None:
        return [find(source) for source in wanted]
    here = []
    for card, use in evaluation_sets(task):
        if use.kind == kind and (not only or card.name in only):
            try:
                here.append(find(card.name))
            except InputError as error:
                left_out[card.name] = str(error)
    return here


def other(
    source: str | Data,
    labels: Sequence[str] | None,
    *,
    task: str | None = None,
    names: Mapping[str, str] | None = None,
    limit: int | None = None,
    seed: int = 0,
) -> Other:
    """The held-out rows of a card, file, folder or `Data`, for a model of these labels (None: a regression)."""
    data = source if isinstance(source, Data) else loaded(source, labels)
    rows = pooled(data, held_out_splits(data), limit, seed)
    meaning = matched(data, labels, task=task, names=names)
    return Other(data.name, rows, meaning, data.metrics if meaning is None else ("accuracy",))


def loaded(source: str, labels: Sequence[str] | None, **reading: Any) -> Data:
    """A card knows its labels; a file's are read as the model's. `reading` as in `uegr.data.load`."""
    if source not in cards():
        known: dict[str, Any] = {"kind": "regression"} if labels is None else {"labels": labels}
        reading = known | reading
    return load(source, labelled=True, **reading)


def outliers(source: str | Data, limit: int | None, seed: int) -> tuple[str, Any]:
    """The name and the rows of texts from elsewhere, whatever their labels."""
    data = source if isinstance(source, Data) else load(source, labelled=False)
    return data.name, pooled(data, held_out_splits(data, labelled=False), limit, seed)
