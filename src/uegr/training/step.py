"""One training step of a method: its losses, back-propagated in order, and its edits of the gradient."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from uegr.methods import Method
from uegr.pieces.embedding import Batch, unwrapped
from uegr.pieces.schedule import Moment
from uegr.training.labels import check_batch
from uegr.training.requirements import as_method

Backward = Callable[[Tensor], Any]


def backward(
    method: Method | str,
    model: nn.Module,
    batch: Batch,
    *,
    step: int | Moment = 0,
    backward: Backward | None = None,
) -> dict[str, float]:
    """Run one step's losses and gradient edits; the gradients are then in `.grad`, for a loop of your own.

    `step` numbers the optimizer steps from 0 (a `Moment` also tells the total, the epoch's length and the seed);
    `backward` back-propagates one loss, by default `loss.backward()`. Returns the loss terms. A method that edits the
    optimizer's update, not the gradient (`rescale="update"`), wants `finish_update` after the optimizer's step.
    """
    method = as_method(method)
    method.objective.check(model)
    check_batch(model, batch)
    moment = step if isinstance(step, Moment) else Moment(step)
    terms = accumulate(method, model, batch, moment, backward or Tensor.backward)
    edit_gradients(method, model, moment)
    return {name: float(value) for name, value in terms.items()}


def accumulate(
    method: Method,
    model: nn.Module,
    batch: Batch,
    moment: Moment,
    backward: Backward,
    no_sync: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> dict[str, Tensor]:
    """Add the gradients of one batch's losses; all but the last backward run under `no_sync`."""
    objective = method.objective
    objective.begin(moment)
    logged: dict[str, Tensor] = {}
    steps = objective.losses(model, batch)
    try:
        for remaining in reversed(range(objective.yields)):
            with no_sync() if remaining else nullcontext():
                terms = next(steps, None)
                if terms is None:
                    raise TypeError(f"{method!r} declares {objective.yields} yields, but stopped earlier")
                if terms:
                    backward(total(terms))
                for name, value in terms.items():
                    logged[name] = logged[name] + value.detach() if name in logged else value.detach()
                del terms
        if next(steps, None) is not None:
            raise TypeError(f"{method!r} declares {objective.yields} yields, but yielded more")
    finally:
        steps.close()  # type: ignore[attr-defined]  # undoes every context the objective has open
    return logged


def total(terms: dict[str, Tensor]) -> Tensor:
    """The sum of the terms; a single one is left as it is, bitwise."""
    first, *rest = terms.values()
    for value in rest:
        first = first + value
    return first


def edit_gradients(method: Method, model: nn.Module, moment: Moment) -> None:
    """Apply the method's edits to the accumulated gradient, before the optimizer's step."""
    if not method.gradients:
        return
    parameters = trainable(model)
    with torch.no_grad():
        for edit in method.gradients:
            edit.edit(parameters, moment)


def finish_update(method: Method, model: nn.Module) -> None:
    """After the optimizer's step, for edits that work on its update."""
    for edit in method.gradients:
        if edit.needs_optimizer:
            edit.after(trainable(model))


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that are trained, by their name in the unwrapped model."""
    return {name: p for name, p in unwrapped(model).named_parameters() if p.requires_grad}
