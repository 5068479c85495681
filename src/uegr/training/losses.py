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
from uegr.pieces.embedding import unwrapped

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
                output["loss"] = checked(function(output, labels, num_items_in_batch=None))
            return output

        return [model.register_forward_pre_hook(take, with_kwargs=True), model.register_forward_hook(give)]


def checked(loss: Any) -> Tensor:
    """What the function returned, if it is a loss."""
    if not isinstance(loss, Tensor):
        raise InputError(f"expected compute_loss_func to return a tensor, got {type(loss).__name__}; return the loss")
    return loss


@dataclass(frozen=True)
class CrossEntropy:
    """Of z / temperature, with smoothed labels; a row counts by the weight of its class, if classes have weights.

        loss = mean over the rows of w_y (-(1 - s) log p_y - (s / C) sum_c log p_c),   p = softmax(z / temperature)

    A mean over rows, so that it accumulates. The temperature is that of Raina et al. (ACL 2024), s is `smoothing`
    (Szegedy et al. 2016; as in transformers). Divergences between predictions see the logits as they are.

    >>> rare = CrossEntropy(torch.tensor([0.5, 2.0]))
    >>> float(rare({"logits": torch.zeros(2, 2)}, torch.tensor([0, 1]))) / float(torch.log(torch.tensor(2.0)))
    1.25
    """

    weights: Tensor | None = None  # (classes,)
    temperature: float = 1.0
    smoothing: float = 0.0

    def __call__(self, outputs: Any, labels: Tensor, num_items_in_batch: Any = None) -> Tensor:
        logits: Tensor = outputs["logits"]
        if logits.dim() != 2:
            raise InputError(
                "expected one class per row for a temperature or smoothed labels, got several; leave it out"
            )
        cooled = logits / self.temperature
        each = nn.functional.cross_entropy(cooled, labels, reduction="none", label_smoothing=self.smoothing)
        return each.mean() if self.weights is None else (self.weights.to(each)[labels] * each).mean()


def check_softness(model: nn.Module, temperature: float, smoothing: float) -> None:
    """Raise for a temperature or a smoothing of labels that cannot be, or that the model has no classes for."""
    if not (temperature > 0 and 0 <= smoothing < 1):
        raise InputError(
            f"expected temperature > 0 and 0 <= label_smoothing < 1, got {temperature:g} and {smoothing:g}"
        )
    config: Any = unwrapped(model).config
    one_class = config.num_labels > 1 and config.problem_type in (None, "single_label_classification")
    if (temperature != 1 or smoothing) and not one_class:
        raise InputError(
            "expected one class per row for training.temperature or training.label_smoothing, got a "
            f"{config.problem_type or 'regression'}; leave them out"
        )


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
    balance: Balance | None, function: LossFunction | None, rows: Any, model: nn.Module, soft: tuple[float, float]
) -> LossFunction | None:
    """What takes the place of the model's loss, if anything does; `soft` are temperature and smoothing of labels."""
    if balance not in (None, "weights", "sampling"):
        raise InputError(f"expected balance to be weights, sampling or None, got {balance!r}")
    if function is not None and not callable(function):
        raise InputError(
            f"expected compute_loss_func to be a function of outputs and labels, got {type(function).__name__}"
        )
    check_softness(model, *soft)
    if balance != "weights" and soft == (1, 0):
        return function
    if function is not None:
        raise InputError(
            "expected compute_loss_func, or balance='weights', temperature and label smoothing, got both; weigh the "
            "classes, divide the logits and smooth the labels in the function"
        )
    config: Any = model.config
    weights = class_weights(class_numbers(rows), config.num_labels) if balance == "weights" else None
    return CrossEntropy(weights, *soft)
