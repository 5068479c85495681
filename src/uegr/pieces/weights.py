"""Weights moved, replaced or frozen for a moment.

The contexts keep a copy of what they touch and put it back bitwise, also when the body raises. Autocast's own copies
of the weights are thrown away with every change, or it would use them again. Only trainable parameters are ever
touched, so that on a PEFT model the frozen base stands still.

    steepest:  v   = rho g / ||g||_2                  one norm over all parameters together (SAM)
    relative:  v_l = gamma ||w_l||_2 g_l / ||g_l||_2  one norm a tensor, in proportion to its weights (AWP)
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from uegr.pieces.embedding import unwrapped
from uegr.pieces.perturbation import normalised

Weights = Mapping[str, nn.Parameter]
Moves = Mapping[str, Tensor]


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that are trained, by their name in the unwrapped model."""
    return {name: weight for name, weight in unwrapped(model).named_parameters() if weight.requires_grad}


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
    lengths = torch.stack([torch.linalg.vector_norm(gradient) for gradient in gradients.values()])
    whole = torch.linalg.vector_norm(lengths)
    return {name: rho * normalised(gradient, whole) for name, gradient in gradients.items()}


def relative(gradients: Moves, weights: Weights, gamma: float) -> dict[str, Tensor]:
    """The ascent of each tensor along its own gradient, gamma times as long as the tensor is.

    >>> weights = {"w": nn.Parameter(torch.tensor([0.0, 10.0]))}
    >>> relative({"w": torch.tensor([3.0, 4.0])}, weights, 0.5)["w"].tolist()
    [3.0, 4.0]
    """
    return {
        name: gamma
        * torch.linalg.vector_norm(weights[name].detach())
        * normalised(gradient, torch.linalg.vector_norm(gradient))
        for name, gradient in gradients.items()
    }


@contextmanager
def kept(weights: Weights) -> Iterator[None]:
    """Whatever happens to these weights inside, afterwards they are as before, bitwise."""
    copies = {name: weight.detach().clone() for name, weight in weights.items()}
    try:
        yield
    finally:
        change(weights, copies, Tensor.copy_)


@torch.no_grad()
def change(weights: Weights, values: Moves, how: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Change each weight by its value, in place."""
    for name, weight in weights.items():
        how(weight, values[name])
    torch.clear_autocast_cache()


@contextmanager
def moved(weights: Weights, moves: Moves) -> Iterator[None]:
    """Inside, each weight that has a move is that much further; a backward of what is computed inside runs inside."""
    touched = {name: weights[name] for name in moves}
    with kept(touched):
        change(touched, moves, Tensor.add_)
        yield


@contextmanager
def replaced(weights: Weights, values: Moves) -> Iterator[None]:
    """Inside, each weight that has a value holds that value."""
    touched = {name: weights[name] for name in values}
    with kept(touched):
        change(touched, values, Tensor.copy_)
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
