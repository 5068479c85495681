"""Perturbations of the embedded input: where they start, how they climb, and the ball they stay in.

delta_i = epsilon * g_i / ||g_i||_2   (UEGR eq. 2, R-AT eq. 5, FGM of Miyato et al. 2017)

The papers leave open what the norm runs over; the readings have names:
- `example`: one example's tokens and dimensions (eq. 2 is written for one x).
- `token`: one token's dimensions.
- `matrix`: the gradient of the embedding matrix, one norm for the whole batch, the same shift for every occurrence of
  a word, as R-AT released it.
- `max`: one token's dimensions in the maximum norm (RoAST).
- `sign`: every entry by itself, so that delta = epsilon * sign(g): FGSM as Goodfellow et al. 2015 write it.
Padding never moves. A zero or non-finite gradient gives a zero perturbation.

Starts: zeros, or random. `random_start` is FreeLB's and NEFTune's U(-1, 1) radius / sqrt(n), n the number of entries
that the norm runs over, so that it lies within the ball of the radius; `normal_start` is N(0, sigma^2).
"""

from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from uegr.pieces.embedding import Batch, embedding_layer, token_mask

Norm = Literal["example", "token", "matrix", "max", "sign"]


def check_norm(norm: str) -> Norm:
    """The norm's name, checked."""
    for known in get_args(Norm):
        if norm == known:
            return known  # type: ignore[no-any-return]
    raise ValueError(f"expected norm to be one of {', '.join(get_args(Norm))}, got {norm!r}")


def zero_start(model: nn.Module, batch: Batch) -> Tensor:
    """A leaf of zeros, (examples, tokens, dimensions): the clean backward leaves dL/dx in its `.grad`."""
    weight = embedding_layer(model).weight
    assert isinstance(weight, Tensor)
    shape = (*batch["input_ids"].shape, weight.shape[-1])
    return torch.zeros(shape, dtype=weight.dtype, device=weight.device, requires_grad=True)


def random_start(model: nn.Module, batch: Batch, radius: float, norm: Norm) -> Tensor:
    """Uniform noise within the ball of the radius, (examples, tokens, dimensions), nothing on padding."""
    if norm == "matrix":
        raise ValueError("expected norm example, token, max or sign for a random start, got 'matrix', without a ball")
    noise = zero_start(model, batch).detach()
    mask = token_mask(batch).to(noise.dtype).unsqueeze(-1)
    entries = mask.new_full((), 1 if norm in ("max", "sign") else noise.shape[-1])
    if norm == "example":
        entries = entries * mask.sum((1, 2), keepdim=True).clamp(min=1)
    return noise.uniform_(-1, 1) * mask * (radius / entries.sqrt())


def normal_start(model: nn.Module, batch: Batch, sigma: float) -> Tensor:
    """Normal noise of the standard deviation, (examples, tokens, dimensions), nothing on padding."""
    noise = zero_start(model, batch).detach()
    return noise.normal_() * sigma * token_mask(batch).to(noise.dtype).unsqueeze(-1)


def length(values: Tensor, norm: Norm) -> Tensor:
    """The length of each unit that the norm runs over, broadcastable to `values` (examples, tokens, dimensions).

    Measured after division by the largest entry, so that tiny gradients do not vanish when squared.

    >>> length(torch.tensor([[[3.0, 4.0], [0.0, 0.0]]]), "example").item()
    5.0
    """
    if norm == "sign":
        return values.abs()
    if norm == "max":
        return values.abs().amax(-1, keepdim=True)
    dims = (-1,) if norm == "token" else tuple(range(1 if norm == "example" else 0, values.dim()))
    largest: Tensor = values.abs().amax(dims, keepdim=True)
    scale = torch.where(largest > 0, largest, 1.0)
    scaled: Tensor = torch.linalg.vector_norm(values / scale, dim=dims, keepdim=True)
    return largest * scaled


def by_word(gradient: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of the embedding matrix at the words present, (words, dimensions), and each position's word."""
    words, index = ids.unique(return_inverse=True)
    total = gradient.new_zeros(len(words), gradient.shape[-1])
    return total.index_add_(0, index.flatten(), gradient.flatten(0, -2)), index


def unit(gradient: Tensor, batch: Batch, norm: Norm) -> Tensor:
    """The gradient with every unit of the norm at length 1 (or 0), nothing on padding.

    >>> batch = {"input_ids": torch.tensor([[5, 5, 0]]), "attention_mask": torch.tensor([[1, 1, 0]])}
    >>> unit(torch.tensor([[[3.0], [4.0], [9.0]]]), batch, "example").flatten().tolist()
    [0.6000000238418579, 0.800000011920929, 0.0]
    """
    mask = token_mask(batch).to(gradient.dtype).unsqueeze(-1)
    values = gradient * mask
    if norm == "matrix":
        matrix, index = by_word(values, batch["input_ids"])
        return normalised(matrix, length(matrix, "matrix"))[index] * mask
    return normalised(values, length(values, norm))


def normalised(values: Tensor, lengths: Tensor) -> Tensor:
    """values / lengths, and zero where a length is zero or not finite."""
    usable = torch.isfinite(lengths) & (lengths > 0)
    return torch.where(usable, values / torch.where(usable, lengths, 1.0), 0.0)


def ascend(delta: Tensor, step: float | Tensor, batch: Batch, norm: Norm) -> Tensor:
    """delta moved by `step` along its own gradient, detached: the one step of FGM when delta was zero."""
    if delta.grad is None:
        raise ValueError("expected a delta whose backward has run, got one without gradient")
    return (delta + step * unit(delta.grad, batch, norm)).detach()


def climb(
    delta: Tensor,
    value: Callable[[Tensor], Tensor],
    batch: Batch,
    *,
    steps: int,
    step: float,
    norm: Norm,
    within: Callable[[Tensor], Tensor],
) -> Tensor:
    """delta after `steps` steps of the length `step` that raise `value(delta)`, brought back `within` after each.

    Only the gradient of delta is computed: no parameter's `.grad`, no other process, no accumulation is touched.
    """
    for _ in range(steps):
        leaf = delta.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(value(leaf), leaf)
        delta = within(leaf.detach() + step * unit(gradient, batch, norm))
    return delta.detach()


def project(delta: Tensor, radius: float, norm: Norm) -> Tensor:
    """delta scaled back into the ball of the radius, unit by unit.

    >>> project(torch.tensor([[[3.0, 4.0]]]), 1.0, "example").flatten().tolist()
    [0.6000000238418579, 0.800000011920929]
    """
    if norm == "matrix":
        raise ValueError("expected norm example, token, max or sign for a projection, got 'matrix', without a ball")
    lengths = length(delta, norm)
    return delta * (radius / lengths.clamp(min=torch.finfo(delta.dtype).tiny)).clamp(max=1.0)
