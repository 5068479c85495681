"""Rows to padded batches for measuring: sorted by length, padded to the longest row, on the model's device."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from uegr.data.tokenization import length_limit
from uegr.errors import InputError
from uegr.pieces.embedding import unwrapped

Text = str | tuple[str, str]
Rows = Any  # a datasets.Dataset, or a sequence of mappings, with `text`, maybe `pair`, and `label`
Progress = Callable[[int, int], None]  # how many are done, of how many
WINDOW = 4_096  # rows that are tokenised and sorted together: memory stays flat, and padding nearly nothing


def texts_of(rows: Rows) -> list[Text]:
    """The texts, or the pairs where there are any.

    >>> texts_of([{"text": "a", "pair": "b", "label": 0}])
    [('a', 'b')]
    """
    texts = column(rows, "text")
    if texts is None:
        raise InputError("expected rows with a text, got some without")
    pairs = column(rows, "pair")
    return texts if pairs is None else list(zip(texts, pairs, strict=True))


def labels_of(rows: Rows) -> np.ndarray:
    """The labels, (rows,)."""
    labels = column(rows, "label")
    if labels is None or any(label is None for label in labels):
        raise InputError("expected rows with labels, got some without; choose a split that has them")
    return np.asarray(labels)


def column(rows: Rows, name: str) -> list[Any] | None:
    """A column as a list; None where the rows have no such column."""
    names = getattr(rows, "column_names", None)
    if names is not None:
        return list(rows[name]) if name in names else None
    rows = list(rows)
    return [row[name] for row in rows] if rows and all(name in row for row in rows) else None


def device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Inside, the model is in eval mode, dropout off; afterwards every module is in the mode it was in.

    cuDNN refuses a backward pass through recurrent layers in eval mode, so they run without it.
    """
    modes = {module: module.training for module in model.modules()}
    recurrent = any(isinstance(module, nn.RNNBase) for module in modes)
    model.eval()
    try:
        with torch.backends.cudnn.flags(enabled=torch.backends.cudnn.enabled and not recurrent):
            yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def batches(
    model: nn.Module,
    tokenizer: Any,
    texts: Sequence[Text],
    *,
    batch_size: int = 64,
    max_length: int | None = None,
    sort: bool = True,
    progress: Progress | None = None,
) -> Iterator[tuple[np.ndarray, dict[str, Tensor]]]:
    """Row numbers and the padded batch of these rows, longest first (or in their order), every row once.

    `progress` hears of a batch when the next one is asked for, which is when it has been worked on.
    """
    if batch_size < 1:
        raise InputError(f"expected batch_size >= 1, got {batch_size}")
    limit, wanted, device = length_limit(tokenizer, max_length), accepted(model), device_of(model)
    done = 0
    for start in range(0, len(texts), WINDOW):
        encoded = encode(tokenizer, texts[start : start + WINDOW], limit)
        order = np.argsort([-len(ids) if sort else 0 for ids in encoded["input_ids"]], kind="stable")
        for rows in np.split(order, range(batch_size, len(order), batch_size)):
            part = {name: [values[row] for row in rows] for name, values in encoded.items() if wanted(name)}
            yield rows + start, {name: tensor.to(device) for name, tensor in padded(tokenizer, part).items()}
            done += len(rows)
            if progress:
                progress(done, len(texts))


def encode(tokenizer: Any, texts: Sequence[Text], limit: int | None) -> dict[str, list[list[int]]]:
    """Token ids without padding. All texts are alone, or all have a pair."""
    if all(isinstance(text, str) for text in texts):
        columns: tuple[list[str], ...] = (list(texts),)  # type: ignore[arg-type]
    elif all(not isinstance(text, str) and len(text) == 2 for text in texts):
        columns = ([text[0] for text in texts], [text[1] for text in texts])
    else:
        raise InputError("expected texts, or pairs of texts, got a mixture")
    return dict(tokenizer(*columns, truncation=limit is not None, max_length=limit, padding=False, verbose=False))


def padded(tokenizer: Any, part: Mapping[str, list[list[int]]]) -> dict[str, Tensor]:
    """Tensors as wide as the longest row, at least one token: a text of nothing is all padding."""
    longest = max(len(ids) for ids in part["input_ids"])
    if longest == 0:
        return dict(tokenizer.pad(dict(part), padding="max_length", max_length=1, return_tensors="pt"))
    return dict(tokenizer.pad(dict(part), padding=True, return_tensors="pt"))


def accepted(model: nn.Module) -> Callable[[str], bool]:
    """Whether the model's forward takes an argument of this name; one with **kwargs takes all."""
    parameters = inspect.signature(unwrapped(model).forward).parameters
    anything = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return lambda name: anything or name in parameters
