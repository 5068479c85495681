"""Selective update, the backward stage of UEGR and RoAST: which entries of the gradient are kept.

    s   = g * g                                     eq. 7, with the paper's batch approximation
        | sum over examples of g_i * g_i            `score="fisher"`: eq. 7 as printed; ranked (pieces/fisher.py)
    s~  = quantile of s among the ranked entries    `score="rank"`: alpha is then the share of them that is masked
        | s / (max s - min s)                       `score="range"`: eq. 8 as printed
    p   = sigmoid(+2 beta (s~ - alpha))             `keep="salient"`: what the text and RoAST's code do
        | sigmoid(-2 beta (s~ - alpha))             `keep="printed"`: eq. 9's printed sign
        | sigmoid(alpha - 2 beta s~)                `keep="algorithm"`: the brackets of algorithm 1, line 11
    g  <- m * g / p,  m ~ Bernoulli(p)              theorem 1: unbiased

Ranked are all entries, or with `live` those whose gradient is not zero: the rows of words that a batch lacks fill the
low ranks of an embedding matrix, and alpha is then not the share of the other entries that is masked.

p is floored at 1e-3. Ranks are exact up to a million entries; above, they come from a histogram (pieces/quantile.py),
p lies on a grid of 2^-16, and the division uses that p, so that the mean stays exactly g.
"""

from collections.abc import Callable, Sequence
from typing import Literal, get_args

import torch
from torch import Tensor

from uegr.pieces.quantile import blocks, busy_rows, exact_quantile, histogram

Score = Literal["rank", "range", "fisher"]
Keep = Literal["salient", "printed", "algorithm"]
Probability = Callable[[Tensor], Tensor]  # |g| -> p, elementwise

FLOOR = 1e-3
EXACT_UP_TO = 1_000_000
GRID = 1 << 16


def check_selection(score: str, keep: str, alpha: float, beta: float) -> None:
    """Refuse names and numbers that do not describe a selection."""
    if score not in get_args(Score):
        raise ValueError(f"expected score to be one of {', '.join(get_args(Score))}, got {score!r}")
    if keep not in get_args(Keep):
        raise ValueError(f"expected keep to be one of {', '.join(get_args(Keep))}, got {keep!r}")
    if not 0 <= alpha <= 1:
        raise ValueError(f"expected 0 <= alpha <= 1, got {alpha}")
    if not beta >= 0:
        raise ValueError(f"expected beta >= 0, got {beta}")


def keep_probability(score: Tensor, keep: Keep, alpha: float, beta: float) -> Tensor:
    """p of eq. 9 from normalised scores.

    >>> keep_probability(torch.tensor([0.9]), "salient", alpha=0.9, beta=10.0).item()
    0.5
    """
    if keep == "algorithm":
        return torch.sigmoid(alpha - 2 * beta * score).clamp(min=FLOOR)
    sign = 1 if keep == "salient" else -1
    return torch.sigmoid(sign * 2 * beta * (score - alpha)).clamp(min=FLOOR)


def probability(
    values: Sequence[Tensor], *, score: Score, keep: Keep, alpha: float, beta: float, live: bool = False
) -> Probability:
    """|g| -> p for gradients (or for the roots of summed squares), over all of them, or all `live` ones, together."""
    fine = sum(value.numel() for value in values) <= EXACT_UP_TO
    if score == "range":
        low, high = extremes([value[value != 0] for value in values] if live else values)
        root = max((high - low) ** 0.5, torch.finfo(torch.float32).tiny)  # squares of single precision underflow
        return lambda value: snapped(keep_probability(squared(value / root), keep, alpha, beta), fine)
    if fine:
        quantile = exact_quantile([value[value != 0].abs() if live else value.abs() for value in values])
        return lambda value: keep_probability(quantile(value.abs()), keep, alpha, beta)
    table, row = histogram(values, live=live)
    grid = snapped(keep_probability(table, keep, alpha, beta), fine).float()
    return lambda value: grid.index_select(0, row(value))


def squared(value: Tensor) -> Tensor:
    """Finite also where all entries are equal and the range is nothing; at least of single precision."""
    wide = value.to(torch.promote_types(value.dtype, torch.float32))
    return wide.square().clamp_(max=torch.finfo(wide.dtype).max)


def snapped(p: Tensor, fine: bool) -> Tensor:
    """p on the grid of the coarse random numbers, unless they are fine."""
    return p if fine else (p * GRID).round() / GRID


def extremes(values: Sequence[Tensor]) -> tuple[float, float]:
    """The smallest and the largest squared entry."""
    found = [torch.aminmax(value.abs()) for value in values if value.numel()]
    if not found:
        return 0.0, 0.0
    lows, highs = zip(*found, strict=True)
    return min(float(low) ** 2 for low in lows), max(float(high) ** 2 for high in highs)


def uniform(like: Tensor, generator: torch.Generator, *, fine: bool) -> Tensor:
    """Random numbers in (0, 1): of full precision, or on the half-grid of 2^-16 at a tenth of the cost."""
    if fine:
        return torch.rand(like.shape, generator=generator, dtype=like.dtype, device=like.device)
    quarter = torch.empty((like.numel() + 3) // 4, dtype=torch.int64, device=like.device)
    bits = quarter.random_(torch.iinfo(torch.int64).min, None, generator=generator).view(torch.int16)[: like.numel()]
    return bits.to(torch.float32).add_(GRID / 2 + 0.5).div_(GRID)


def select_(
    values: Sequence[Tensor],
    salient: Sequence[Tensor],
    probabilities: Probability,
    generator: torch.Generator,
    *,
    rescale: bool,
) -> None:
    """Draw the mask and apply it to `values`, in place, block by block; rows of zeros need none.

    `salient` are the tensors that p is read from: the gradients themselves, or the roots of summed squares.
    """
    fine = sum(value.numel() for value in values) <= EXACT_UP_TO
    for value, salience in zip(values, salient, strict=True):
        rows = busy_rows(value)
        part = value if rows is None else value[rows]
        for block, seen in zip(blocks(part), blocks(salience if rows is None else salience[rows]), strict=True):
            p = probabilities(seen)
            kept = uniform(p, generator, fine=fine)
            torch.gt(p, kept, out=kept)  # 1 where u < p: a mask of floats in one pass; torch.where is slow
            block.mul_(kept.div_(p) if rescale else kept)
        if rows is not None:
            value[rows] = part
