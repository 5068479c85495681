"""The one way from texts to padded batches to scores: training, evaluation, attacks, export and prediction use it.

    for rows, batch in batches(model, tokenizer, ["a fine film", ""]):
        model(**batch)
    probabilities(model, tokenizer, [("a premise", "a hypothesis")])        # (rows, classes)

The same rules hold everywhere:

- A text, or a pair together, is cut at the smaller of `max_length` and the tokenizer's own limit (`length_limit`).
- A text without tokens becomes one unknown word that the model attends to (`never_empty`).
- A model gets the inputs that its forward names, as in the Trainer of transformers (`accepted`).
- Batches are sorted by length and padded to their longest row, on the tokenizer's side (`batches`, `padded`).
- Dropout is off, and every module gets its mode back (`evaluating`).
- Scores are float64. Only a search rounds logits first, because equal texts must stay equal (`scores`).

`models/tokens.py` keeps the tokenised rows of a training in the cache.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from uegr.errors import InputError
from uegr.pieces.embedding import unwrapped

Text = str | tuple[str, str]
Rows = Any  # a datasets.Dataset, or a sequence of mappings, with `text`, maybe `pair`, and `label`
Progress = Callable[[int, int], None]  # how many are done, of how many
WINDOW = 4_096  # rows that are tokenised and sorted together: memory stays flat, and there is almost no padding
BOUNDLESS = 1_000_000  # transformers writes "no limit" as a very large number


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


def labels_of(rows: Rows) -> NDArray[Any]:
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


def length_limit(tokenizer: Any, max_length: int | None) -> int | None:
    """After how many tokens a text is cut: the smaller of what is asked for and the tokenizer's own limit."""
    own = tokenizer.model_max_length
    bounds = [bound for bound in (max_length, own if own < BOUNDLESS else None) if bound is not None]
    limit = min(bounds, default=None)
    least = tokenizer.num_special_tokens_to_add(pair=True) + 1
    if limit is not None and limit < least:
        raise InputError(f"expected max_length of at least {least}, got {limit}: special tokens fill the row")
    return limit


def sides(texts: Sequence[Text]) -> tuple[list[str], ...]:
    """Texts as one column, pairs as two; all texts are alone, or all have a pair.

    >>> sides(["a", "b"]), sides([("a", "b"), ("c", "d")])
    ((['a', 'b'],), (['a', 'c'], ['b', 'd']))
    """
    if all(isinstance(text, str) for text in texts):
        return (list(texts),)  # type: ignore[arg-type]
    check_texts(texts)
    if not any(isinstance(text, str) for text in texts):
        return [text[0] for text in texts], [text[1] for text in texts]
    raise InputError("expected texts, or pairs of texts, got a mixture")


def check_texts(texts: Sequence[Any]) -> None:
    """Raise for the first row, counted from 0, that is neither a text nor a pair of texts."""
    for row, text in enumerate(texts):
        if not isinstance(text, str) and not is_pair(text):
            raise InputError(
                f"row {row}: expected a text or a pair of texts, got {str(text)[:60]!r}; "
                "make it a str, or leave out the row"
            )


def is_pair(text: Any) -> bool:
    """Whether this is two texts."""
    sequence = isinstance(text, tuple | list | np.ndarray) and len(text) == 2
    return sequence and all(isinstance(side, str) for side in text)


def encode(tokenizer: Any, columns: tuple[list[str], ...], limit: int | None) -> Any:
    """The tokenizer's `BatchEncoding` of one column of texts, or of two: cut, not padded, no row empty."""
    made = tokenizer(*columns, truncation=limit is not None, max_length=limit, padding=False, verbose=False)
    never_empty(made.data, stand_in(tokenizer))
    return made


def characters_read(tokenizer: Any, text: Text, limit: int | None, side: int = 0) -> int | None:
    """How many characters of a text, or of one side of a pair, come before the cut; None if all are read, or unknown.

    Only a tokenizer that cuts at the end and knows where each token stands can tell.
    """
    if limit is None or tokenizer.truncation_side != "right" or not tokenizer.is_fast:
        return None
    (made,) = encode(tokenizer, sides([text]), limit).encodings
    ends = [end for (_, end), of in zip(made.offsets, made.sequence_ids, strict=True) if of == side]
    return max(ends, default=0) if made.overflowing else None


def stand_in(tokenizer: Any) -> int:
    """The token of a text that has none: the unknown word; without one, the end of the text, or padding."""
    known = (tokenizer.unk_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id)
    return next((int(token) for token in known if token is not None), 0)


def never_empty(columns: dict[str, list[Any]], token: int) -> None:
    """Put one token into every empty row, so that no model has to read a row without tokens.

    >>> columns = {"input_ids": [[5, 6], []], "attention_mask": [[1, 1], []]}
    >>> never_empty(columns, 1)
    >>> columns
    {'input_ids': [[5, 6], [1]], 'attention_mask': [[1, 1], [1]]}
    """
    for row, ids in enumerate(columns["input_ids"]):
        if not ids:
            for name, values in columns.items():
                values[row] = [{"input_ids": token, "attention_mask": 1}.get(name, 0)]


def padded(tokenizer: Any, columns: Mapping[str, Sequence[list[int]]]) -> dict[str, Tensor]:
    """Tensors (rows, tokens) as wide as the longest row, filled on the tokenizer's side."""
    lengths = [len(ids) for ids in columns["input_ids"]]
    longest, left = max(lengths), tokenizer.padding_side == "left"
    fill = {"input_ids": tokenizer.pad_token_id, "token_type_ids": tokenizer.pad_token_type_id}
    if fill["input_ids"] is None and min(lengths) < longest:
        raise InputError("expected a tokenizer with a padding token; set tokenizer.pad_token = tokenizer.eos_token")
    found = {}
    for name, rows in columns.items():
        padding = [[fill.get(name, 0)] * (longest - len(row)) for row in rows]
        full = [pad + row if left else row + pad for row, pad in zip(rows, padding, strict=True)]
        found[name] = torch.tensor(full, dtype=torch.long)
    return found


def accepted(model: nn.Module) -> Callable[[str], bool]:
    """Whether the model's forward names an input, as the Trainer asks; a wrapper that names none takes all."""
    parameters = inspect.signature(unwrapped(model).forward).parameters
    return lambda name: name in parameters or "input_ids" not in parameters


def batches(
    model: nn.Module,
    tokenizer: Any,
    texts: Sequence[Text],
    *,
    batch_size: int = 64,
    tokens: int | None = None,
    max_length: int | None = None,
    sort: bool = True,
    progress: Progress | None = None,
) -> Iterator[tuple[NDArray[np.int64], dict[str, Tensor]]]:
    """Row numbers and the padded batch of these rows on the model's device, longest first (or in their order).

    Every row comes once. `batch_size` bounds the rows of a batch, `tokens` its rows times its longest row.
    `progress` is called for a batch when the next one is asked for: then the caller has finished it.
    """
    if batch_size < 1:
        raise InputError(f"expected batch_size >= 1, got {batch_size}")
    check_texts(texts)
    limit, wanted, device, done = length_limit(tokenizer, max_length), accepted(model), device_of(model), 0
    for start in range(0, len(texts), WINDOW):
        made = encode(tokenizer, sides(texts[start : start + WINDOW]), limit)
        columns = {name: values for name, values in made.items() if wanted(name)}
        lengths = np.array([len(ids) for ids in made["input_ids"]])
        for rows in divided(lengths if sort else np.full_like(lengths, lengths.max()), batch_size, tokens):
            part = {name: [values[row] for row in rows] for name, values in columns.items()}
            yield rows + start, {name: tensor.to(device) for name, tensor in padded(tokenizer, part).items()}
            done += len(rows)
            if progress:
                progress(done, len(texts))


def divided(lengths: NDArray[np.int64], most: int, tokens: int | None = None) -> Iterator[NDArray[np.int64]]:
    """Row numbers by batch, the longest first: at most `most` rows, and at most `tokens` tokens with padding.

    >>> [rows.tolist() for rows in divided(np.array([3, 9, 4, 5, 5]), most=64, tokens=10)]
    [[1], [3, 4], [2, 0]]
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        count = most if tokens is None else min(most, max(1, tokens // max(1, int(lengths[order[start]]))))
        yield order[start : start + count]
        start += count


def device_of(model: nn.Module) -> torch.device:
    return next(model.parameters()).device


@contextmanager
def evaluating(model: nn.Module, *, backward: bool = True) -> Iterator[None]:
    """Inside, the model is in eval mode, dropout off; afterwards every module is in the mode it was in.

    cuDNN refuses a backward pass through recurrent layers in eval mode, so they run without it, unless `backward` is
    False.
    """
    modes = {module: module.training for module in model.modules()}
    without = backward and any(isinstance(module, nn.RNNBase) for module in modes)
    model.eval()
    try:
        with torch.backends.cudnn.flags(enabled=False) if without else nullcontext():
            yield
    finally:
        for module, mode in modes.items():
            module.training = mode


def is_regression(model: nn.Module) -> bool:
    """The model gives one value, not scores of classes."""
    config: Any = unwrapped(model).config
    return bool(config.num_labels == 1 or config.problem_type == "regression")


def scores(model: nn.Module, logits: Tensor, decimals: int | None = None, temperature: float = 1.0) -> Tensor:
    """Probabilities in float64, where confident ones still differ; the values of a regression as they are.

    The logits are divided by the temperature, and then rounded to `decimals`: the same text in another batch differs by
    some 1e-6. In this order, rounding does not depend on the scale of the logits.
    """
    config: Any = unwrapped(model).config
    logits = logits.double() if is_regression(model) else logits.double() / temperature
    logits = logits if decimals is None else logits.round(decimals=decimals)
    if is_regression(model):
        return logits
    if config.problem_type == "multi_label_classification":
        return logits.sigmoid()
    return logits.softmax(-1)


def probabilities(
    model: nn.Module,
    tokenizer: Any,
    texts: Sequence[Text],
    *,
    batch_size: int = 64,
    max_length: int | None = None,
    temperature: float = 1.0,
    progress: Progress | None = None,
) -> NDArray[np.float64]:
    """Each class's probability, (rows, classes), in the order of the texts or pairs; a regression's values, (rows, 1).

    Dropout is off; afterwards the model is in the mode it was in. `temperature` divides the logits of a classifier.
    `progress(done, rows)` is called after each batch.
    """
    config: Any = unwrapped(model).config
    result = np.zeros((len(texts), config.num_labels))
    sizes: dict[str, Any] = {"batch_size": batch_size, "max_length": max_length, "progress": progress}
    with evaluating(model, backward=False), torch.inference_mode():
        for rows, batch in batches(model, tokenizer, texts, **sizes):
            result[rows] = scores(model, model(**batch).logits, temperature=temperature).cpu().numpy()
    wrong = np.flatnonzero(~np.isfinite(result).all(1))
    if len(wrong):
        raise InputError(
            f"the model's output for row {wrong[0]} is not a number ({len(wrong)} of {len(texts)} rows); "
            "its weights are damaged or its training diverged"
        )
    return result
