"""A clean pass and one at the worst mixture of each word's substitutes: ASCC, and what RIFT's tables build on it.

L = CE(x) + beta KL(P(x) || P(x^)),   x^ the worst point of the substitutes' hull (pieces/hull.py)
"""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from uegr.methods.contract import Terms, predictions, task_loss
from uegr.methods.objectives.substitution import Substitution
from uegr.pieces.checks import check_amount, check_steps
from uegr.pieces.divergence import between, kl
from uegr.pieces.embedding import Batch, unwrapped
from uegr.pieces.hull import Hull, combined, worst_point


class ConvexHull(Substitution):
    """A clean pass and one at the worst point of the substitutes' hull."""

    def __init__(
        self,
        *,
        beta: float,
        steps: int,
        step_size: float,
        sparsity: float,
        substitutes: str,
        limit: int,
        side: str | None,
    ) -> None:
        self.configure_words(substitutes, limit, side)
        self.beta, self.steps = check_amount("beta", beta), check_steps(steps)
        self.ascent = {
            "step_size": check_amount("step_size", step_size),
            "sparsity": check_amount("sparsity", sparsity),
        }
        self.needs_tokenizer = self.attacks
        self.passes = (steps + 3, steps + 2) if self.attacks else (1, 1)

    @property
    def attacks(self) -> bool:
        """Is x^ needed?"""
        return self.beta > 0

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        yield self.terms(model, batch, *self.attacked(model, batch)) if self.attacks else self.clean(model, batch)

    def attacked(self, model: nn.Module, batch: Batch) -> tuple[Hull, Tensor]:
        """The hull of the batch and the weights of its worst point."""
        inner = unwrapped(model)
        hull = self.table_on(batch["input_ids"]).hull(batch, self.side)

        def predict() -> Tensor:
            return predictions(inner, inner(**batch)["logits"], batch)

        return hull, worst_point(inner, batch, hull, predict, kl, steps=self.steps, **self.ascent)

    def clean(self, model: nn.Module, batch: Batch) -> Terms:
        """Plain fine-tuning."""
        return {"task": task_loss(model(**batch))}

    def terms(self, model: nn.Module, batch: Batch, hull: Hull, weights: Tensor) -> Terms:
        """RIFT's eq. 9."""
        output = model(**batch)
        with combined(model, hull, weights, batch):
            moved = model(**batch)
        return {"task": task_loss(output), "adversarial": self.apart(model, batch, output, moved)}

    def apart(self, model: nn.Module, batch: Batch, output: Any, moved: Any) -> Tensor:
        """beta KL(P(x) || P(x^)); for a regression the squared difference."""
        clean, far = (predictions(model, result["logits"], batch) for result in (output, moved))
        return self.beta * between(clean, far, kl)
