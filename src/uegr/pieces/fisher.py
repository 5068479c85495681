"""Which weights matter to a task: the diagonal of the Fisher information, and its largest entries.

F_i = mean over batches of (d loss / d w_i)^2          Child-Tuning eq. 5, with the batch's mean gradient
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor, distributed, nn

from uegr.pieces.embedding import Batch, unwrapped
from uegr.pieces.encoder import in_mode


def fisher(
    model: nn.Module, names: Iterable[str], batches: Iterable[Batch], loss: Callable[[Any], Tensor]
) -> dict[str, Tensor]:
    """F of the named weights; `loss` takes it from the model's output.

    Dropout is on, from a fixed seed: the outcome depends on data and weights alone, and no random number is used up.
    """
    inner, wanted = unwrapped(model), set(names)
    weights = {name: weight for name, weight in inner.named_parameters() if name in wanted}
    totals, count = {name: torch.zeros_like(weight) for name, weight in weights.items()}, 0
    with in_mode(model, training=True), torch.random.fork_rng():
        for count, batch in enumerate(batches, start=1):
            torch.manual_seed(count)
            found = torch.autograd.grad(loss(inner(**batch)), list(weights.values()), allow_unused=True)
            for total, gradient in zip(totals.values(), found, strict=True):
                if gradient is not None:
                    total.addcmul_(gradient, gradient)
    if count == 0:
        raise ValueError("expected at least one batch of training data for the Fisher information, got none")
    return {name: mean_over_processes(total / count) for name, total in totals.items()}


def mean_over_processes(values: Tensor) -> Tensor:
    """Each process has seen its part of the data, and all must go on with the same outcome."""
    if distributed.is_available() and distributed.is_initialized():
        distributed.all_reduce(values)
        values /= distributed.get_world_size()
    return values


def largest(values: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """Where the entries are among the largest share of all, as bools; ties at the edge are in.

    >>> largest({"a": torch.tensor([3.0, 1.0]), "b": torch.tensor([2.0, 0.0])}, 0.5)["b"].tolist()
    [True, False]
    """
    whole = torch.cat([value.flatten() for value in values.values()])
    kept = max(1, math.ceil(share * len(whole)))
    edge = whole.kthvalue(len(whole) - kept + 1).values
    return {name: value >= edge for name, value in values.items()}
