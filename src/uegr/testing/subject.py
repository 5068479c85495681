"""A method under test, and one step of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from uegr.methods.contract import Method, MethodFactory
from uegr.pieces.schedule import Moment
from uegr.testing.models import Batch, batch_for, classifier, substitutes
from uegr.training.step import accumulate, edit_gradients

EARLY = Moment(step=0, total=10, epoch_steps=5, seed=0)
LATE = Moment(step=6, total=10, epoch_steps=5, seed=3)  # past every warm-up and every linear probing
MOMENTS = {"first": EARLY, "later": LATE}


@dataclass(frozen=True)
class Subject:
    """A factory of methods and the options that each check uses.

    `options` hold for every check, `per_check[name]` are added for the check of that name. `refuses` names the checks
    of a task on which the method must raise a ValueError that says what it expected, what it got, and the remedy.
    """

    factory: MethodFactory
    options: Mapping[str, Any] = field(default_factory=dict)
    per_check: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    refuses: frozenset[str] = frozenset()

    def made(self, check: str = "") -> Method:
        """A new method with the options of this check; a method that attacks by words gets a table of substitutes."""
        method = self.factory(**{**self.options, **self.per_check.get(check, {})})
        objective: Any = method.objective
        if objective.needs_tokenizer:
            objective.use_table(*substitutes())
        return method

    def ready(self, check: str = "") -> tuple[nn.Module, Batch, Method]:
        """A tiny classifier, a batch, and a method that is prepared for them."""
        model = classifier()
        batch = batch_for(model)
        return model, batch, prepared(self.made(check), model, batch)


def prepared(method: Method, model: nn.Module, batch: Batch) -> Method:
    """Do what the engine does before the first step: check, surgery, prepare."""
    method.objective.check(model)
    for operate in method.surgery:
        operate(model)
    method.objective.prepare(model, iter([batch]))
    return method


def step(
    method: Method,
    model: nn.Module,
    batch: Batch,
    *,
    moment: Moment = LATE,
    seed: int = 0,
    backward: Callable[[Tensor], Any] = Tensor.backward,
) -> dict[str, Tensor]:
    """The terms of one step from a clean `.grad` and a known seed; the edited gradient is left in `.grad`."""
    model.zero_grad()
    torch.manual_seed(seed)
    terms = accumulate(method, model, batch, moment, backward)
    edit_gradients(method, model, moment)
    return terms


def gradients(model: nn.Module) -> dict[str, Tensor]:
    """A copy of every trainable parameter's gradient, zero where it has none."""
    return {
        name: torch.zeros_like(weight) if weight.grad is None else weight.grad.clone()
        for name, weight in model.named_parameters()
        if weight.requires_grad
    }


def expect(condition: Any, message: str) -> None:
    """Raise an AssertionError, also where Python runs with -O."""
    if not condition:
        raise AssertionError(message)
