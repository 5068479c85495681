"""The loss on the labels: the model's own, or another in its place, for every method alike.

A method takes this loss from the model's output (`task_loss`). `OwnLoss` puts another one there: it takes the labels
away before a pass, as transformers does for `compute_loss_func`, and asks the function afterwards. A method that splits
or repeats a batch calls the function once for each pass, so it must return a mean over the rows that it is given.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from uegr.errors import InputError

Balance = Literal["weights", "sampling"]
LossFunction = Callable[..., Tensor]  # outputs, labels, num_items_in_batch
TAKEN = ("labels", "num_items_in_batch")  # from a pass whose loss is not the model's


class OwnLoss:
    """A function of outputs and labels in place of the model's loss; None leaves the model's."""

    def __init__(self, function: LossFunction | None) -> None:
        self.function, self.applies = function, False

    @contextmanager
    def applied(self, model: nn.Module) -> Iterator[None]:
        """The model's passes return this loss for their labels; inside another such block nothing changes.

        >>> class Answers(nn.Module):
        ...     def forward(self, labels=None):
        ...         return {"logits": torch.zeros(1, 2), "loss": labels}
        >>> model = Answers()
        >>> with OwnLoss(lambda outputs, labels, num_items_in_batch=None: labels + 1).applied(model):
        ...     model(labels=torch.tensor([1]))["loss"]
        tensor([2])
        """
        if self.function is None or self.applies:
            yield
            return
        hooks = self.hooks(model, self.function)
        self.applies = True
        try:
            yield
        finally:
            self.applies = False
            for hook in hooks:
                hook.remove()

    def hooks(self, model: nn.Module, function: LossFunction) -> list[Any]:
        """One before each pass, and one after it."""
        held: dict[str, Any] = {}

        def take(module: nn.Module, args: Any, given: dict[str, Any]) -> Any:
            held["labels"] = given.get("labels")
            return args, {name: value for name, value in given.items() if name not in TAKEN}

        def give(module: nn.Module, args: Any, output: Any) -> Any:
            labels = held.pop("labels", None)
            if labels is not None and not isinstance(output, dict):
                raise InputError(f"expected outputs by name for compute_loss_func, got a {type(output).__name__}")
            if labels is not None:
                output["loss"] = function(output, labels, num_items_in_batch=None)
            return output

        return [model.register_forward_pre_hook(take, with_kwargs=True), model.register_forward_hook(give)]


@dataclass(frozen=True)
class WeightedCrossEntropy:
    """Cross-entropy in which a row counts by the weight of its class: a mean over rows, so that it accumulates.

    >>> rare = WeightedCrossEntropy(torch.tensor([0.5, 2.0]))
    >>> float(rare({"logits": torch.zeros(2, 2)}, torch.tensor([0, 1]))) / float(torch.log(torch.tensor(2.0)))
    1.25
    """

    weights: Tensor  # (classes,)

    def __call__(self, outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
        each = nn.functional.cross_entropy(outputs["logits"], labels, reduction="none")
        return (self.weights.to(each)[labels] * each).mean()


def class_weights(labels: np.ndarray, classes: int) -> Tensor:
    """Weights (classes,) with which every class counts the same; their mean over the rows is 1.

    >>> class_weights(np.array([0, 0, 0, 1]), 2)
    tensor([0.6667, 2.0000])
    """
    counts = np.bincount(labels, minlength=classes)
    even = len(labels) / max((counts > 0).sum(), 1)
    return torch.as_tensor(np.where(counts > 0, even / counts.clip(min=1), 1.0), dtype=torch.float32)


def class_numbers(rows: Any) -> np.ndarray:
    """The class of every training row, (rows,); what has no single class per row cannot be balanced."""
    names: Any = getattr(rows, "column_names", None) or ()
    key = next((name for name in ("labels", "label") if name in (names or (rows[0] if len(rows) else ()))), None)
    if key is None:
        raise InputError("expected labels in the training rows, to balance their classes, got none")
    labels = rows.with_format("numpy", columns=[key])[:][key] if names else np.asarray([row[key] for row in rows])
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise InputError(f"expected one class per row to balance, got labels such as {labels[:1]}; leave out balance")
    return np.asarray(labels)


def chosen_loss(
    balance: Balance | None, function: LossFunction | None, rows: Any, model: nn.Module
) -> LossFunction | None:
    """What takes the place of the model's loss, if anything does."""
    if balance not in (None, "weights", "sampling"):
        raise InputError(f"expected balance to be weights, sampling or None, got {balance!r}")
    if balance != "weights":
        return function
    if function is not None:
        raise InputError("expected balance='weights' or compute_loss_func, got both; weigh the classes in the function")
    config: Any = model.config
    return WeightedCrossEntropy(class_weights(class_numbers(rows), config.num_labels))
