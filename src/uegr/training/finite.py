"""A training stops at the first loss or gradient that is not finite, before it reaches the weights.

One number per step is read from the device: the norm of the gradient plus 0 times the losses is not a number exactly if
one of them is not finite. transformers reads one per step too, to keep such losses out of its log; a run switches that
off (`logging_nan_inf_filter`), so that the check is not a second wait for the device.
"""

import math
import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils import get_total_norm

from uegr.errors import InputError, TrainingWarning

ROWS = 8  # rows that an error names


class Guard:
    """What a step's check needs: its losses, its batches, the norm of its gradient, and how often it may be skipped."""

    def __init__(self, allowed: int = 0) -> None:
        self.allowed, self.skipped, self.skipping = allowed, 0, False
        self.losses: list[Tensor] = []
        self.batches: list[dict[str, Any]] = []
        self.norm: Any = None

    def note(self, loss: Tensor, batch: dict[str, Any]) -> Tensor:
        """Keep a micro-batch until its step is checked; its loss for the log, 0 where a step may be skipped."""
        self.losses.append(loss)
        self.batches.append(batch)
        return torch.where(torch.isfinite(loss), loss, 0.0) if self.allowed else loss

    def is_finite(self, model: nn.Module, several_processes: bool) -> bool:
        """Whether the step may change the weights; several processes look at the gradient alone, which they share."""
        if self.norm is None:
            self.norm = get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
        losses = [] if several_processes else self.losses
        return not math.isnan(float(sum((loss * 0 for loss in losses), self.norm * 0)))

    def next_step(self) -> None:
        """Forget the step."""
        self.losses, self.batches, self.norm = [], [], None

    def skip(self, where: str) -> None:
        """Count a step that is not finite; one more than is allowed is an error."""
        self.skipped += 1
        if self.skipped > self.allowed:
            raise InputError(where)
        warnings.warn(f"{where} (skipped, {self.skipped} of {self.allowed})", TrainingWarning, stacklevel=2)


def description(trainer: Any, guard: Guard) -> str:
    """Step, method, loss, gradient, rows, and the remedy."""
    loss = sum(float(loss) for loss in guard.losses)
    found = rows_of(guard.batches, trainer.train_dataset)
    rows = f"; training rows {', '.join(map(str, found[:ROWS]))}{' and others' * (len(found) > ROWS)}" if found else ""
    after = f" after {guard.skipped} skipped steps" if guard.skipped else ""
    return (
        f"step {trainer.state.global_step + 1} of {trainer.method.name}: expected a finite loss and gradient, got the "
        f"loss {loss:g} and the gradient norm {float(guard.norm):g}{after}{rows}; lower the learning rate "
        f"(now {trainer.args.learning_rate:g}), or skip such steps with --set training.skip_nonfinite=N"
    )


def rows_of(batches: list[dict[str, Any]], dataset: Any) -> list[int]:
    """The numbers of the rows, from 0, found by their token ids; empty where the data cannot be searched."""
    if "input_ids" not in (getattr(dataset, "column_names", None) or ()):
        return []
    wanted = {ids for batch in batches for ids in token_ids(batch)}
    return [number for number, ids in enumerate(dataset["input_ids"]) if tuple(map(int, ids)) in wanted]


def token_ids(batch: dict[str, Any]) -> list[tuple[int, ...]]:
    """Each row of a batch, with its padding and without."""
    ids = batch["input_ids"]
    mask = batch.get("attention_mask", torch.ones_like(ids)).bool()
    return [tuple(one.tolist()) for row, kept in zip(ids, mask, strict=True) for one in (row, row[kept])]


def check_weights(model: nn.Module, when: str) -> None:
    """Raise if a weight is not finite: what would be kept could not be trained or used."""
    weights = [p.detach() for p in model.parameters() if p.is_floating_point()]
    if weights and not math.isfinite(float(get_total_norm(weights))):
        raise InputError(
            f"{when}: expected finite weights, got infinity or what is not a number; lower the learning rate"
        )
