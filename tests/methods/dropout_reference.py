"""Adaptive dropout in float64, written down slowly: the units' ranks, the drop probabilities and the masks."""

import math
from typing import Any

import torch
from torch import Tensor, nn

Site = tuple[str, int]  # module name, units


def learned_ranks(entered: list[list[tuple[Site, Tensor]]], slopes: tuple[Tensor, ...]) -> dict[Site, list[float]]:
    """G_j of each site's units over examples and tokens, then the rank of G_j among the units."""
    squares: dict[Site, list[float]] = {}
    number = 0
    for seen in entered:
        for site, _ in seen:
            slope = slopes[number]
            number += 1
            for vector in slope.reshape(-1, site[1]).tolist():
                old = squares.get(site, [0.0] * site[1])
                squares[site] = [total + value**2 for total, value in zip(old, vector, strict=True)]
    roots = {site: [math.sqrt(total) for total in totals] for site, totals in squares.items()}
    return {site: [rank_among(value, values) for value in values] for site, values in roots.items()}


def rank_among(value: float, values: list[float]) -> float:
    """In [0, 1], ties sharing the mean rank."""
    below = sum(other < value for other in values)
    equal = sum(other == value for other in values)
    return (below + (equal - 1) / 2) / (len(values) - 1)


def centres(model: nn.Module, calls: list[Any]) -> dict[Site, float]:
    """Each site's own rate; where one of this package's models drops at all, the middle of the paper's [0.3, 0.5]."""
    scratch = type(model).__name__.startswith(("TextCNN", "BiLSTM", "TextHAN"))
    return {site: 0.4 if scratch and rate > 0 else rate for site, rate, _ in calls}


def drop_rows(
    ranks: list[float] | None, units: int, centre: float, passes: int, options: dict[str, Any]
) -> list[list[float]]:
    """q_kj = clip(rate_k + spread (2 r_j - 1), 0, 0.95); r_j = 1/2 where nothing is known."""
    ranks = ranks or [0.5] * units
    given, spread = options["rates"], options["spread"]
    if given is None:
        rates = [centre] * passes
        spread = centre * (0.25 if spread is None else spread)  # the paper's 0.1 of 0.4
    else:
        rates = list(given) if passes > 1 else [sum(given) / len(given)]
        spread = 0.1 if spread is None else spread
    return [[min(max(rate + spread * (2 * rank - 1), 0.0), 0.95) for rank in ranks] for rate in rates]


def own_mask(shape: torch.Size, rate: float) -> Tensor:
    """What nn.Dropout multiplies by."""
    return nn.functional.dropout(torch.ones(shape, dtype=torch.float64), rate, training=True)


def adaptive_mask(bits: Tensor, drops: list[list[float]]) -> Tensor:
    """1 / (1 - q) where a uniform number is below 1 - q, else 0; rows are the examples, pass after pass."""
    rows, units = len(bits) // len(drops), bits.shape[-1]
    mask = torch.zeros(bits.shape, dtype=torch.float64)
    for row, numbers in enumerate(bits.reshape(len(bits), -1, units).tolist()):
        target = mask[row].view(-1, units)
        for t, token in enumerate(numbers):
            for j, number in enumerate(token):
                kept = 1 - drops[row // rows][j]
                uniform = (number + 2**31) / 2**32
                target[t, j] = 1 / kept if uniform < kept else 0.0
    return mask
