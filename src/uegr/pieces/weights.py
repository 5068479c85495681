"""Weights that are moved, replaced or frozen for a time.

The contexts lay the weights aside and put them back untouched, also when the body raises. Autocast's own copies of the
weights are thrown away with every change, or it would use them again. Only trainable parameters are ever touched, so
that the frozen base of a PEFT model does not move.

    steepest:  v   = rho g / ||g||_2                  one norm over all parameters together (SAM)
    relative:  v_l = gamma ||w_l||_2 g_l / ||g_l||_2  one norm per tensor, in proportion to its weights (AWP)
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from uegr.pieces.embedding import unwrapped

Weights = Mapping[str, nn.Parameter]
Moves = Mapping[str, Tensor]


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that are trained, by their name in the unwrapped model."""
    return {name: weight for name, weight in unwrapped(model).named_parameters() if weight.requires_grad}


def at_least_single(values: Tensor) -> Tensor:
    """In single precision or better."""
    return values.to(torch.promote_types(values.dtype, torch.float32))


def gradients(value: Tensor, weights: Weights) -> dict[str, Tensor]:
    """d value / d weight of each weight that it depends on; no `.grad` is touched.

    >>> weight = nn.Parameter(torch.tensor([3.0]))
    >>> gradients(weight.square().sum(), {"w": weight})["w"].tolist(), weight.grad
    ([6.0], None)
    """
    found = torch.autograd.grad(value, list(weights.values()), allow_unused=True)
    return {name: gradient for name, gradient in zip(weights, found, strict=True) if gradient is not None}


def steepest(gradients: Moves, rho: float) -> dict[str, Tensor]:
    """The ascent of length rho along the gradient of all weights together; none along a zero or infinite gradient.

    >>> steepest({"a": torch.tensor([3.0]), "b": torch.tensor([4.0])}, 5.0)
    {'a': tensor([3.]), 'b': tensor([4.])}
    """
    whole = torch.linalg.vector_norm(lengths(gradients))
    return {name: stretched(gradient, rho, whole) for name, gradient in gradients.items()}


def relative(gradients: Moves, weights: Weights, gamma: float) -> dict[str, Tensor]:
    """The ascent of each tensor along its own gradient, gamma times as long as the tensor is.

    >>> weights = {"w": nn.Parameter(torch.tensor([0.0, 10.0]))}
    >>> relative({"w": torch.tensor([3.0, 4.0])}, weights, 0.5)["w"].tolist()
    [3.0, 4.0]
    """
    wanted = gamma * lengths({name: weights[name].detach() for name in gradients})
    pairs = zip(gradients.items(), wanted, lengths(gradients), strict=True)
    return {name: stretched(gradient, to, length) for (name, gradient), to, length in pairs}


def lengths(tensors: Moves) -> Tensor:
    """The l2 norm of each."""
    return torch.stack([torch.linalg.vector_norm(tensor) for tensor in tensors.values()])


def stretched(gradient: Tensor, to: float | Tensor, length: Tensor) -> Tensor:
    """gradient * to / length; zero where the length is zero or not finite. One pass: torch.where would take ten."""
    if not (0 < float(length) < math.inf):
        return torch.zeros_like(gradient)
    return gradient * (to / length).to(gradient.dtype)


@contextmanager
def replaced(weights: Weights, values: Moves) -> Iterator[None]:
    """Inside, each weight that has a value holds that value, in its place: nothing is copied, and it must not change.

    A backward of what is computed inside runs inside.
    """
    before = {name: weights[name].data for name in values}
    try:
        hold(weights, values)
        yield
    finally:
        hold(weights, before)


def hold(weights: Weights, values: Moves) -> None:
    """Let each weight be that tensor."""
    for name, value in values.items():
        weights[name].data = value
    torch.clear_autocast_cache()


@contextmanager
def moved(weights: Weights, moves: Moves) -> Iterator[None]:
    """Inside, each weight that has a move is that much further."""
    with replaced(weights, {name: weights[name].detach() + move for name, move in moves.items()}):
        yield


@contextmanager
def frozen(weights: Weights) -> Iterator[None]:
    """Inside, no graph is built for these weights: a forward inside costs their backward nothing."""
    before = {name: weight.requires_grad for name, weight in weights.items()}
    try:
        for weight in weights.values():
            weight.requires_grad_(False)
        yield
    finally:
        for name, weight in weights.items():
            weight.requires_grad_(before[name])


class Trailing:
    """An average of the past weights, momentum * average + (1 - momentum) * weights, moved at most once per step."""

    def __init__(self, momentum: float) -> None:
        if not 0 <= momentum < 1:
            raise ValueError(f"expected 0 <= momentum < 1, got {momentum}")
        self.momentum, self.step = momentum, -1
        self.values: dict[str, Tensor] = {}

    @torch.no_grad()
    def follow(self, weights: Weights, step: int) -> dict[str, Tensor]:
        """The average at that step."""
        if self.step != step or not self.values:
            for name, weight in weights.items():
                past = self.values.setdefault(name, weight.detach().clone())
                past.lerp_(weight.detach(), 1 - self.momentum)
            self.step = step
        return self.values

    def state_dict(self) -> dict[str, Tensor]:
        return {"averaged": torch.tensor(self.step)} | {f"teacher.{k}": v for k, v in self.values.items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.step = int(state["averaged"])
        self.values = {k.removeprefix("teacher."): v for k, v in state.items() if k.startswith("teacher.")}
