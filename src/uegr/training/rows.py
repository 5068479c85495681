"""What the rows of a training must hold, looked at before it starts.

Lists and Datasets are looked at; a stream or a dataset of the user's own is not, since reading it may cost anything.
"""

from collections.abc import Iterator, Mapping, Sized
from typing import Any

import numpy as np
from datasets import Dataset
from torch import Tensor

from uegr.errors import InputError
from uegr.training.labels import KEYS, check_labels, check_numbered


def check_rows(trainer: Any) -> None:
    """Raise for rows that no training can use, with the remedy."""
    check_some(trainer.train_dataset)
    for name, rows in given_sets(trainer):
        plain = plainly_collated(trainer)
        if plain:
            check_tokens(rows, name)
        check_numbered(rows, name)
        if plain and trainer.compute_loss_func is None:
            check_labels(trainer.model, rows, name)


def check_some(rows: Any) -> None:
    """Raise for training rows that are none; whatever has a length is asked."""
    if isinstance(rows, Sized) and not len(rows):
        raise InputError(
            "expected at least one row in train_dataset, got an empty dataset; check its filter or its split"
        )


def given_sets(trainer: Any) -> Iterator[tuple[str, Any]]:
    """The training rows and every evaluation set, with the name that an error calls them."""
    yield "train_dataset", trainer.train_dataset
    sets = trainer.eval_dataset
    if isinstance(sets, Mapping):
        yield from ((f"eval_dataset[{name!r}]", rows) for name, rows in sets.items())
    else:
        yield "eval_dataset", sets


def plainly_collated(trainer: Any) -> bool:
    """Whether batches are made by transformers; a collator of the user's own may tokenise, or number the labels."""
    collator = trainer.data_collator
    return str(getattr(collator, "__module__", "")).startswith("transformers.")


def check_tokens(rows: Any, name: str) -> None:
    """Raise for rows that are texts, or nothing that a batch can be made of; the first row is looked at."""
    if not isinstance(rows, list | tuple | Dataset) or not len(rows):
        return
    first = rows[0]
    text = first if isinstance(first, str) else text_column(first)
    if text is not None:
        raise InputError(f"expected tokens in {name}, got texts; use uegr.models.tokenized({dataset_of(rows, name)})")
    if first is None or isinstance(first, int | float | list | tuple):
        raise InputError(
            f"expected rows with input_ids and labels in {name}, got {first!r:.40} (row 0); "
            "make them with uegr.models.tokenized"
        )


def text_column(row: Any) -> str | None:
    """The column of a row's text; None for a row that has tokens, or any other list of numbers.

    >>> text_column({"sentence": "a film", "label": 0}), text_column({"text": "a film", "input_ids": [5, 6]})
    ('sentence', None)
    """
    given = {key: value for key, value in row.items() if key not in KEYS} if isinstance(row, Mapping) else {}
    if any(isinstance(value, list | tuple | Tensor | np.ndarray) for value in given.values()):
        return None
    names = [key for key, value in given.items() if isinstance(value, str)]
    return "text" if "text" in names else next(iter(names), None)


def dataset_of(rows: Any, name: str) -> str:
    """The arguments that tokenise these rows, to be typed."""
    if isinstance(rows[0], str):
        return f"Dataset.from_dict({{'text': {name}, 'label': labels}}), tokenizer"
    made, column = name if isinstance(rows, Dataset) else f"Dataset.from_list({name})", text_column(rows[0])
    return f"{made}, tokenizer" if column == "text" else f"{made}.rename_column({column!r}, 'text'), tokenizer"
