"""Which weights matter to a task: the diagonal of the Fisher information, and its largest entries.

F_i = mean over batches of (d loss / d w_i)^2          Child-Tuning eq. 5, with the batch's mean gradient
s_i = sum over examples of (d loss / d w_i)^2          UEGR eq. 7, example by example
"""

import math
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from typing import Any

import torch
from torch import Tensor, distributed, nn

from uegr.pieces.embedding import Batch, unwrapped
from uegr.pieces.encoder import in_mode
from uegr.pieces.places import substituted
from uegr.pieces.weights import at_least_single, trainable


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
    """Each process has seen its part of the data, and all must continue with the same result."""
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


def squared_gradients(model: nn.Module, examples: Iterable[Generator[Tensor]]) -> dict[str, Tensor]:
    """The sum over examples of the squared gradient of all losses of an example, for every trainable weight.

    The losses must be computed while the iterator runs: leaves that share the weights' memory then stand in their
    places, and collect the gradients. No parameter's `.grad`, no other process and no accumulation is touched.
    """
    weights = trainable(model)
    totals = {name: torch.zeros_like(at_least_single(weight)) for name, weight in weights.items()}
    leaves = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
    with substituted(model, {id(weight): leaves[name] for name, weight in weights.items()}):
        for losses in examples:
            with closing(losses):  # undoes every context that they have open
                for loss in losses:
                    loss.backward()
            for name, leaf in leaves.items():
                if leaf.grad is not None:
                    wide = leaf.grad.to(totals[name].dtype)
                    totals[name].addcmul_(wide, wide)
                    leaf.grad = None
    torch.clear_autocast_cache()  # it has copies of the leaves
    return totals


class Squares:
    """Sums of squared gradients: added by every micro-batch, taken once per step."""

    def __init__(self) -> None:
        self.values: dict[str, Tensor] = {}

    def add(self, found: Mapping[str, Tensor]) -> None:
        """Add those of one micro-batch."""
        for name, square in found.items():
            self.values[name] = self.values[name] + square if name in self.values else square

    def take(self) -> dict[str, Tensor]:
        """What was added since the last time, by all processes."""
        found, self.values = self.values, {}
        if not found:
            raise ValueError("expected squared gradients of single examples, got none; run the method's losses first")
        return {name: mean_over_processes(square) for name, square in found.items()}
