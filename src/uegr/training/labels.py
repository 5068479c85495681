"""Labels that the model has classes for, looked at once before a training, and in a loop of one's own per batch.

Only models whose loss is known are judged: sequence and token classifiers of transformers, peft and this package. In
another model, such as one for multiple choice, or with a loss function of the user's own, a label may mean anything.
-100 is a label that transformers leaves out of the loss.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch
from datasets import Dataset
from torch import Tensor, nn

from uegr.errors import InputError
from uegr.pieces.embedding import unwrapped

IGNORED = -100
KEYS = ("labels", "label")
CHUNK = 10_000  # rows of a column that are looked at together
LOSSES = ("transformers.", "peft.", "uegr.models.scratch")  # where the forward of a model with a known loss is written


class Wanted(NamedTuple):
    """What labels a model takes: a class per row, a class per token, a vector per row, or numbers."""

    kind: Literal["class", "tokens", "vector", "number"]
    classes: int

    @property
    def told(self) -> str:
        """For an error.

        >>> Wanted("class", 2).told
        'labels 0 to 1 (2 classes)'
        """
        if self.kind == "number":
            return "a number as the label of each row"
        if self.kind == "vector":
            return f"a vector of {self.classes} numbers as the label of each row (multi-label)"
        return f"labels 0 to {self.classes - 1} ({self.classes} classes)"


def wanted(model: nn.Module) -> Wanted | None:
    """What labels the model takes; None where this is not known."""
    inner: Any = unwrapped(model)
    names = [base.__name__ for base in type(inner).__mro__]
    if not str(type(inner).forward.__module__).startswith(LOSSES):
        return None
    if any(name.endswith("ForTokenClassification") for name in names):
        return Wanted("tokens", inner.config.num_labels)
    if not any(name.endswith("ForSequenceClassification") for name in names):
        return None
    problem, classes = inner.config.problem_type, inner.config.num_labels
    if problem == "regression" or (problem is None and classes == 1):
        return Wanted("number", classes)
    return Wanted("vector" if problem == "multi_label_classification" else "class", classes)


def label_key(rows: Any) -> str | None:
    """The name of the labels in the first row of a list or a Dataset; nothing else is looked at."""
    first = rows[0] if isinstance(rows, list | tuple | Dataset) and len(rows) else None
    return next((key for key in KEYS if isinstance(first, Mapping) and key in first), None)


def check_numbered(rows: Any, name: str = "train_dataset") -> None:
    """Raise for rows whose labels are names; a stream or a dataset of the user's own is not looked at."""
    key = label_key(rows)
    if key is not None and isinstance(rows[0][key], str):
        raise InputError(
            f"expected class numbers in the column {key} of {name}, got names such as {rows[0][key]!r:.40}; "
            f"number them with {name}.class_encode_column({key!r}), or read the file with uegr.data.load"
        )


def check_labels(model: nn.Module, rows: Any, name: str) -> None:
    """Raise for the first row (counted from 0) with a label that the model cannot take."""
    takes, key = wanted(model), label_key(rows)
    if takes is None or key is None:
        return
    for row in doubtful(rows, key, takes):
        value = plain(rows[row].get(key))
        if not fits(value, takes):
            value = first_outside(value, takes)
            raise InputError(f"expected {takes.told} in {name}, got {value!r:.40} (row {row}); {remedy(value, takes)}")


def check_batch(model: nn.Module, batch: Mapping[str, Any]) -> None:
    """Raise for a batch with a label outside the model's classes; on a GPU nothing is read, which would wait for it."""
    labels = batch.get("labels")
    if not isinstance(labels, Tensor) or labels.device.type != "cpu" or labels.is_floating_point():
        return
    takes = wanted(model)
    if takes is not None and takes.kind in ("class", "tokens") and not bool(inside(labels, takes.classes).all()):
        value = first_outside(labels, takes)
        raise InputError(f"expected {takes.told} in the batch, got {value}; {remedy(value, takes)}")


def doubtful(rows: Any, key: str, takes: Wanted) -> Iterator[int]:
    """The rows to look at: all of a list; of a Dataset's column, one per chunk that may be wrong."""
    if not isinstance(rows, Dataset):
        yield from range(len(rows))
        return
    if rows.format["type"] == "custom":  # a transform, which may tokenise, makes the labels
        return
    chunks = rows.with_format("arrow", columns=[key]).iter(batch_size=CHUNK)
    for number, table in enumerate(chunks):
        row = suspect(table.column(key).combine_chunks(), takes)
        if row is not None:
            yield number * CHUNK + row


def suspect(column: Any, takes: Wanted) -> int | None:
    """The first place of a column whose label is missing or outside; the first of all if that is not seen in arrow.

    >>> suspect(pa.array([[0, 1], [2, -100]]), Wanted("tokens", 2))
    1
    """
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    nested = any(is_kind(column.type) for is_kind in kinds)
    values = pc.list_flatten(column) if nested and not column.null_count else column
    if values.null_count:
        place = pc.index(values.is_null(), True).as_py()
    elif not pa.types.is_integer(values.type) or takes.kind != ("tokens" if nested else "class"):
        return 0 if len(column) else None
    else:
        found = np.flatnonzero(~inside(values.to_numpy(zero_copy_only=False), takes.classes))
        place = int(found[0]) if len(found) else None
    flat = place is None or values is column
    return place if flat else int(pc.list_parent_indices(column)[place].as_py())


def inside(labels: Any, classes: int) -> Any:
    """Where labels, of numpy or torch, are classes or ignored.

    >>> inside(np.array([0, 2, -1, -100]), classes=2)
    array([ True, False, False,  True])
    """
    return ((labels >= 0) & (labels < classes)) | (labels == IGNORED)


def plain(value: Any) -> Any:
    """A tensor or an array of one number as that number."""
    return value.item() if isinstance(value, Tensor | np.ndarray | np.generic) and value.ndim == 0 else value


def fits(value: Any, takes: Wanted) -> bool:
    """Whether one row's label is one that the model takes.

    >>> [fits(value, Wanted("class", 2)) for value in (1, -100, 2, 1.0, None, [0.0, 1.0])]
    [True, True, False, False, False, True]
    """
    if value is None or isinstance(value, str):
        return False
    vector = isinstance(value, list | tuple | Tensor | np.ndarray)
    if takes.kind == "number":
        return True
    if takes.kind == "vector":
        return vector
    if takes.kind == "tokens":
        return vector and first_outside(value, takes) is value
    return vector or isinstance(value, bool) or (isinstance(value, int) and bool(inside(value, takes.classes)))


def first_outside(value: Any, takes: Wanted) -> Any:
    """Of a vector of classes the first that is none; else the value as it is."""
    if takes.kind not in ("class", "tokens") or not isinstance(value, list | tuple | Tensor | np.ndarray):
        return value
    if isinstance(value, list | tuple) and None in value:
        return None
    try:
        flat = torch.as_tensor(value).flatten()
    except (TypeError, ValueError):  # ragged, or no numbers
        return value
    outside = flat[~inside(flat, takes.classes)]
    return outside[0].item() if len(outside) else value


def remedy(value: Any, takes: Wanted) -> str:
    """What to do about a wrong label."""
    if value is None:
        return "leave out the rows without a label"
    if takes.kind == "number":
        return "convert the labels to float"
    if takes.kind == "vector":
        return "give a list such as [1.0, 0.0], or load the model without problem_type"
    if takes.kind == "tokens" and bool(inside(value, takes.classes)):
        return "give one label per token"
    if isinstance(value, float):
        return "convert the labels to int, or load the model with num_labels=1 for a regression"
    if isinstance(value, int) and value >= takes.classes:
        return f"number the classes from 0, or load the model with num_labels={value + 1}"
    return "number the classes from 0, and leave out the rows without a label"
