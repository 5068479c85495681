"""What methods do to all weights besides their passes, without any pass: step_cost.py times these separately."""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from uegr.pieces.anchors import mixed
from uegr.pieces.weights import moved, relative, replaced, steepest, trainable


def move_weights(model: nn.Module, objective: Any) -> None:
    """SAM's ascent, without the pass that finds it."""
    weights = trainable(model)
    with moved(weights, steepest({name: weight.detach() for name, weight in weights.items()}, 0.05)):
        pass


def move_matrices(model: nn.Module, objective: Any) -> None:
    """AWP's."""
    weights = {name: weight for name, weight in trainable(model).items() if weight.dim() > 1}
    with moved(weights, relative({name: weight.detach() for name, weight in weights.items()}, weights, 0.005)):
        pass


def average_weights(model: nn.Module, objective: Any) -> None:
    """SMART's teacher."""
    weights, teacher = trainable(model), objective.teacher.values
    for name, weight in weights.items():
        teacher[name].lerp_(weight.detach(), 0.01)
    with replaced(weights, teacher):
        pass


def measure_distance(model: nn.Module, objective: Any) -> None:
    """The distance from the anchors, and its gradient on top of another."""
    objective.anchors.squared_distance(model).backward()


def mix_weights(model: nn.Module, objective: Any) -> None:
    """Mixout's mixture, and the way of its gradient back to the weights."""
    mixture = objective.mixture
    with mixed(model, mixture.anchors, mixture.p, mixture.unit):
        mixtures = [value for part in model.modules() for value in part._parameters.values() if value is not None]
        mixtures = [value for value in mixtures if not value.is_leaf]
    torch.autograd.backward(mixtures, [value.detach() for value in mixtures])


EXTRAS: dict[str, Callable[[nn.Module, Any], None]] = {
    "sam": move_weights,
    "awp": move_matrices,
    "smart": average_weights,
    "wcons": measure_distance,
    "adv_ptwd": measure_distance,
    "mixout": mix_weights,
    "adv_mixout": mix_weights,
}
