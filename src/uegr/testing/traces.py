"""What a method could leave behind: hooks, modes, weights, graphs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from uegr.testing.subject import expect


class Broken(Exception):
    """What the checks raise inside a step."""


def breaking_at(call: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, but its call of that number (from 0) raises.

    >>> broken = breaking_at(1, lambda: "fine")
    >>> broken()
    'fine'
    >>> broken()
    Traceback (most recent call last):
    uegr.testing.traces.Broken
    """
    calls = iter(range(1000))

    def perhaps(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == call:
            raise Broken
        return function(*args, **kwargs)

    return perhaps


def state(model: nn.Module) -> dict[str, Any]:
    """All that a method could leave behind, except gradients: hooks, forwards, rates, modes, weights, what trains."""
    found: dict[str, Any] = {}
    for name, module in model.named_modules():
        found[f"{name} attributes"] = sorted(module.__dict__)
        found[f"{name} members"] = list(module._modules), list(module._parameters), list(module._buffers)
        found[f"{name} hooks"] = {
            key: list(value) for key, value in module.__dict__.items() if "hooks" in key and value
        }
        found[f"{name} mode"] = module.training, getattr(module, "p", None), module.__dict__.get("forward")
    for name, weight in [*model.named_parameters(), *model.named_buffers()]:
        hooks = weight._backward_hooks, getattr(weight, "_post_accumulate_grad_hooks", None)
        found[f"{name} tensor"] = id(weight), weight.requires_grad, hooks
        found[f"{name} value"] = weight.detach().clone()
    return found


@contextmanager
def unchanged(model: nn.Module) -> Iterator[None]:
    """Raise an AssertionError if the body leaves a trace in the model."""
    before = state(model)
    yield
    after = state(model)
    expect(after.keys() == before.keys(), f"added or removed {sorted(after.keys() ^ before.keys())}")
    for key, value in before.items():
        equal = torch.equal(after[key], value) if isinstance(value, Tensor) else after[key] == value
        if not equal:  # to print tensors takes longer than the step
            raise AssertionError(f"{key} was {value}, is {after[key]}")


def check_finite(model: nn.Module) -> None:
    """Raise an AssertionError if a gradient is infinite or not a number."""
    for key, weight in model.named_parameters():
        expect(weight.grad is None or torch.isfinite(weight.grad).all(), f"the gradient of {key} is not finite")


@contextmanager
def living_graphs() -> Iterator[set[int]]:
    """The tensors that autograd holds for a backward to come."""
    living: set[int] = set()

    class Held:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor = tensor.detach() if tensor.requires_grad else tensor
            living.add(id(self))

        def __del__(self) -> None:
            living.discard(id(self))

    with torch.autograd.graph.saved_tensors_hooks(Held, lambda held: held.tensor):
        yield living
