"""The one loader: a card, a file or a folder becomes `Data`.

A name is looked for as a local file or folder, then below `$UEGR_DATA`, then on the Hugging Face hub; a card with a
package needs none of them.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from uegr.cache import key_of, remembered
from uegr.data import arrow
from uegr.data.card import Card
from uegr.data.duplicates import Shared, leaks
from uegr.data.labels import Kind, Labelling, learn, missing, without_label
from uegr.data.local import Reading
from uegr.data.resolve import Found, resolve
from uegr.data.source import Source
from uegr.errors import FindingWarning, InputError, warn

if TYPE_CHECKING:
    from datasets import Dataset


@dataclass(frozen=True)
class Data:
    """Splits of rows with the columns `text`, `pair` if there are pairs, and `label` if there are labels."""

    name: str
    kind: Literal["classification", "regression", "unlabelled"]
    labels: tuple[str, ...] | None  # the index is the label id
    metrics: tuple[str, ...]
    splits: "dict[str, Dataset]" = field(repr=False)
    card: Card | None = field(default=None, repr=False)
    columns: tuple[str, ...] = ()  # of a user's file: the text, and the second text of a pair
    dropped: Mapping[str, list[int]] = field(default_factory=dict, repr=False)  # split -> rows left out, from 1

    def with_splits(self, **splits: "Dataset") -> "Data":
        """The same data with these splits added or replaced."""
        dropped = {name: rows for name, rows in self.dropped.items() if name not in splits}
        return replace(self, splits={**self.splits, **splits}, dropped=dropped)

    def numbers(self, split: str) -> np.ndarray:
        """The number of each row of a split in the user's file, [rows], from 1: rows that are left out count too."""
        dropped = np.asarray(self.dropped.get(split, []), dtype=np.int64)
        return np.delete(np.arange(1, len(self.splits[split]) + len(dropped) + 1), dropped - 1)

    @property
    def validation(self) -> str | None:
        """The name of the split to validate on: `validation`, or the first that starts so (MNLI has two)."""
        return next((name for name in self.splits if name.startswith("validation")), None)


def load(
    source: str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]],
    *,
    text_column: str | None = None,
    pair_column: str | None = None,
    label_column: str | None = None,
    splits: Iterable[str] | None = None,
    labelled: bool | None = None,
    labels: Iterable[str] | None = None,
    kind: Kind | None = None,
    delimiter: str | None = None,
    quoting: Literal["standard", "none"] | None = None,
    encoding: str | None = None,
    paper_split: bool = False,
    drop_missing: bool = False,
    null_as_empty: bool = False,
) -> Data:
    """Load a card by name, a file, a folder of `train.*`, `validation.*`, `test.*`, or a mapping of split to file.

    What is None is detected. `labelled=True` requires labels, `False` leaves them out. `labels` are the names a
    trained model knows, in its order; without them the training split gives them. `paper_split` cuts the split that
    the card's paper used; `drop_missing` leaves out the rows of a file that have no label, and warns with their number;
    `null_as_empty` takes a text that is null as an empty one.
    """
    reading = Reading(text_column, pair_column, label_column, delimiter, quoting, encoding, null_as_empty=null_as_empty)
    found = resolve(source, reading, paper_split)
    if found.card is not None:
        warn_of_unused(found.name, reading, kind)
    elif paper_split:
        raise InputError(
            f"expected a data set of the papers, got {found.name}, which has no card; leave out --paper-split"
        )
    wanted = chosen(found.name, found.sources, splits)
    with_labels = labelled_splits(found.sources, wanted, labelled, reading)
    if not with_labels:
        bare = {name: rows(found.sources[name], None) for name in wanted}
        return Data(found.name, "unlabelled", None, (), bare, columns=text_columns(found))
    dropped = {name: missing_of(found.sources[name]) for name in with_labels} if drop_missing and not found.card else {}
    found = replace(found, sources={**found.sources, **{name: with_label(found.sources[name]) for name in dropped}})
    labelling = labelling_of(found, labels, kind)
    data = Data(
        name=found.name,
        kind=labelling.kind,
        labels=labelling.names,
        metrics=found.card.metrics if found.card else default_metrics(labelling),
        splits={name: rows(found.sources[name], labelling if name in with_labels else None) for name in wanted},
        card=found.card,
        columns=text_columns(found),
        dropped=dropped,
    )
    if found.card is None:  # for a published set, `uegr data check` reports leaks
        warn_of_leaks(data)
    return data


def text_columns(found: Found) -> tuple[str, ...]:
    """The columns of the texts in a user's file, of a folder in its first."""
    return () if found.card is not None else next(iter(found.sources.values())).columns


def missing_of(source: Source) -> list[int]:
    """The rows without a label, from 1; warns with how many there are."""
    found: list[int] = remembered(key_of("without label", arrow.VERSION, source.key), lambda: without_label(source))
    if found:
        rows = "1 row without a label is" if len(found) == 1 else f"{len(found):,} rows without a label are"
        warn(f"{source.name}: {rows} left out", FindingWarning)
    return found


def with_label(source: Source) -> Source:
    """The rows that have a label."""
    return source.edited(lambda rows: (row for row in rows if not missing(row.label)), ["labelled"])


def warn_of_unused(name: str, reading: Reading, kind: Kind | None) -> None:
    """A card says how its rows are read, so that options for files have no effect."""
    given = {**{f"{column}_column": getattr(reading, column) for column in ("text", "pair", "label")}, "kind": kind}
    given |= {option: getattr(reading, option) for option in ("delimiter", "quoting", "encoding")}
    if unused := [option for option, value in given.items() if value is not None]:
        warn(f"{name} is a data set with a card, which says how it is read; no effect: {', '.join(unused)}")


def warn_of_leaks(data: Data) -> None:
    for name, found in leaks(data.splits).items():
        own, train = data.numbers(name), data.numbers("train")
        leak = Shared(found.rows, tuple((int(own[row - 1]), int(train[twin - 1])) for row, twin in found.first))
        warn(
            f"{data.name}: {leak.rows:,} of {len(data.splits[name]):,} texts of {name} also occur in train ({leak}); "
            "scores on them say nothing about new texts",
            FindingWarning,
        )


def chosen(name: str, sources: Mapping[str, Source], splits: Iterable[str] | None) -> list[str]:
    """The splits to load, in the order of the source."""
    if splits is None:
        return list(sources)
    wanted = list(splits)
    for split in wanted:
        if split not in sources:
            raise InputError(f"{name} has no split {split!r} here; choose one of: {', '.join(sources)}")
    return wanted


def labelled_splits(
    sources: Mapping[str, Source], wanted: list[str], labelled: bool | None, reading: Reading
) -> list[str]:
    """The splits whose labels are read; a split without labels is an error only if they are required."""
    if labelled is False:
        return []
    bare = [sources[name].name for name in wanted if not sources[name].labelled]
    if "train" in wanted and not sources["train"].labelled and len(bare) < len(wanted):
        labelled = True  # other splits have labels that training would not know
    if bare and labelled:
        raise InputError(
            f"{bare[0]} has no label column{f' {reading.label!r}' if reading.label else ''}; "
            "name it with label_column (--label-column), or call it 'label'"
        )
    return [name for name in wanted if sources[name].labelled]


def labelling_of(found: Found, labels: Iterable[str] | None, kind: Kind | None) -> Labelling:
    """From the card, the caller, or one pass over the training split, remembered by content."""
    if found.card is not None:
        return Labelling(found.card.label_names)
    known = found.labels if labels is None else tuple(labels)
    if known is not None and kind != "regression":
        return Labelling(known)
    first = found.sources.get("train") or next(source for source in found.sources.values() if source.labelled)
    key = key_of("labels", arrow.VERSION, first.key, kind)
    names = remembered(key, lambda: learn(first, kind).names)
    return Labelling(None if names is None else tuple(names))


def rows(source: Source, labelling: Labelling | None) -> "Dataset":
    """The Arrow rows of one split."""
    if labelling is None:
        return arrow.dataset_of(source, key_of("rows", arrow.VERSION, source.key, "unlabelled"), None, None)
    key = key_of("rows", arrow.VERSION, source.key, labelling.kind, labelling.names)
    return arrow.dataset_of(source, key, "double" if labelling.names is None else "int64", labelling.encoder(source))


def default_metrics(labelling: Labelling) -> tuple[str, ...]:
    return ("pearson", "spearman") if labelling.names is None else ("accuracy",)
