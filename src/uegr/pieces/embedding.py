"""Where a perturbation enters the model: at the output of its input-embedding layer.

A forward hook on `get_input_embeddings()` works for every architecture: the model still makes position ids, pad
positions and masks from its own `input_ids`, which it could not with `inputs_embeds`.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

Batch = Mapping[str, Any]


def unwrapped(model: nn.Module) -> nn.Module:
    """The module inside the wrappers of data parallelism and compilation.

    >>> inner = nn.Linear(2, 2)
    >>> unwrapped(nn.DataParallel(inner)) is inner
    True
    """
    inner: nn.Module | None = model
    while inner is not None:
        model, wrapped = inner, isinstance(inner, nn.parallel.DistributedDataParallel | nn.DataParallel)
        inner = model._modules["module"] if wrapped else model._modules.get("_orig_mod")
    return model


def embedding_layer(model: nn.Module) -> nn.Module:
    """The layer that turns token ids into vectors."""
    layer: nn.Module = unwrapped(model).get_input_embeddings()  # type: ignore[operator]
    return layer


def word_norm(model: nn.Module) -> float:
    """The mean Euclidean norm of the word vectors: the unit of a relative radius. Rows of zeros, such as padding, are
    left out.

    >>> class Words(nn.Module):
    ...     def get_input_embeddings(self):
    ...         return nn.Embedding.from_pretrained(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    >>> word_norm(Words())
    3.0
    """
    weight = embedding_layer(model).weight
    assert isinstance(weight, Tensor)
    norms = weight.detach().double().norm(dim=-1)
    return float(norms[norms > 0].mean())


def token_mask(batch: Batch) -> Tensor:
    """1 for tokens, 0 for padding, (examples, tokens)."""
    mask = batch.get("attention_mask")
    return torch.ones_like(batch["input_ids"]) if mask is None else mask


def repeated(batch: Batch, times: int) -> dict[str, Any]:
    """The batch `times` times in a row, pass after pass: row k·B + i is example i of pass k.

    `num_items_in_batch`, the divisor that transformers passes to a token-level loss, grows with it.

    >>> repeated({"input_ids": torch.tensor([[1], [2]])}, 2)["input_ids"].flatten().tolist()
    [1, 2, 1, 2]
    """
    if times == 1:
        return dict(batch)
    size = len(batch["input_ids"])

    def again(name: str, value: Any) -> Any:
        if name == "num_items_in_batch":
            return value * times
        return torch.cat([value] * times) if _has_rows(value, size) else value

    return {name: again(name, value) for name, value in batch.items()}


def parts(batch: Batch, count: int, labelled: Tensor) -> Iterator[tuple[slice, dict[str, Any], float]]:
    """The batch in `count` pieces: their rows, the piece, and its share of the labelled items; those without any first.

    >>> batch = {"input_ids": torch.ones(3, 1), "labels": torch.ones(3)}
    >>> [(rows, share) for rows, _, share in parts(batch, 2, labelled=batch["labels"] != -100)]
    [(slice(0, 2, None), 0.6666666666666666), (slice(2, 3, None), 0.3333333333333333)]
    """
    size = len(batch["input_ids"])
    if count == 1:
        yield slice(0, size), dict(batch), 1.0
        return
    items = labelled.flatten(1).sum(1).tolist() if labelled.dim() > 1 else labelled.tolist()
    edges = [int(rows[-1]) + 1 if len(rows) else size for rows in torch.arange(size).tensor_split(count)]
    pieces = [slice(start, stop) for start, stop in zip([0, *edges], edges, strict=False)]
    for piece in sorted(pieces, key=lambda piece: sum(items[piece]) > 0):
        part = {name: value[piece] if _has_rows(value, size) else value for name, value in batch.items()}
        part.pop("num_items_in_batch", None)  # a mean over the piece, weighted by its share
        yield piece, part, sum(items[piece]) / max(sum(items), 1)


def _has_rows(value: Any, size: int) -> bool:
    return isinstance(value, Tensor) and value.dim() > 0 and len(value) == size


def arranged(values: Tensor, seen: Tensor, ids: Tensor) -> Tensor:
    """`values` (examples, tokens, ...) in the order in which the model shows its ids to a layer.

    Most models show (examples, tokens) as they came; XLNet turns them to (tokens, examples); a hierarchical model may
    fold them into more rows.
    """
    rest = values.shape[2:]
    if seen.shape == ids.shape and (seen is ids or torch.equal(seen, ids)):
        return values
    if seen.shape == ids.T.shape and torch.equal(seen, ids.T):
        return values.transpose(0, 1)
    if seen.numel() == ids.numel():
        return values.reshape(*seen.shape, *rest)
    raise ValueError(
        f"expected an embedding layer that sees the {tuple(ids.shape)} input ids, got {tuple(seen.shape)}; "
        "a model that embeds something else cannot be perturbed"
    )


@contextmanager
def perturbed(model: nn.Module, delta: Tensor, batch: Batch) -> Iterator[None]:
    """Inside, every forward of the model sees its embedded tokens moved by `delta` (examples, tokens, dimensions)."""
    ids = batch["input_ids"]

    def move(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
        return output + arranged(delta, inputs[0], ids).to(output.dtype)

    handle = embedding_layer(model).register_forward_hook(move)
    try:
        yield
    finally:
        handle.remove()
