"""A clean pass and one at the worst mixture of each word's substitutes: ASCC, and what RIFT's tables build on it.

L = CE(x) + beta KL(P(x) || P(x^)),   x^ the worst point of the substitutes' hull (pieces/hull.py)
"""

from collections.abc import Iterator
from typing import Any

from torch import Tensor, nn

from uegr.methods.contract import Objective, Terms, predictions, task_loss
from uegr.pieces.checks import check_amount, check_steps
from uegr.pieces.divergence import between, kl
from uegr.pieces.embedding import Batch, unwrapped
from uegr.pieces.hull import Hull, Substitutes, combined, worst_point
from uegr.pieces.sides import Side, check_side


class ConvexHull(Objective):
    """A clean pass and one at the worst point of the substitutes' hull.

    It needs a table of substitutes: `use_table`, or a trainer that knows the tokenizer and builds it.
    """

    def __init__(
        self, *, beta: float, steps: int, step_size: float, sparsity: float, substitutes: str, limit: int, side: str
    ) -> None:
        if limit < 1:
            raise ValueError(f"expected limit >= 1 substitutes per word, got {limit}")
        self.beta, self.steps = check_amount("beta", beta), check_steps(steps)
        self.ascent = {
            "step_size": check_amount("step_size", step_size),
            "sparsity": check_amount("sparsity", sparsity),
        }
        self.substitutes, self.limit = substitutes, limit
        self.side: Side = check_side(side)
        self.table: Substitutes | None = None
        self.needs_tokenizer = self.attacks
        self.passes = (steps + 3, steps + 2) if self.attacks else (1, 1)

    @property
    def attacks(self) -> bool:
        """Is x^ needed?"""
        return self.beta > 0

    def use_table(
        self,
        ids: Tensor,
        mask: Tensor,
        goes_on: Tensor | None = None,
        open_ended: Tensor | None = None,
        separator: int | None = None,
    ) -> None:
        """What may replace what, by token id, and what stands between two texts: `uegr.attacks.vocabulary.tables`."""
        self.table = Substitutes(ids, mask, goes_on, open_ended, separator)

    def known(self) -> Substitutes:
        """The table, or how to get one."""
        if self.table is None:
            raise ValueError(
                "expected a table of substitutes, got none; give the trainer a processing_class, or use:\n"
                "    from uegr.attacks import load_surface\n"
                "    from uegr.attacks.vocabulary import tables\n"
                f"    method.objective.use_table(*tables(tokenizer, load_surface({self.substitutes!r}), {self.limit}))"
            )
        return self.table

    def check(self, model: nn.Module) -> None:
        if self.attacks and self.known().separator is None and self.side != "both":
            raise ValueError(
                f"expected a tokenizer that puts a separator between two texts for side={self.side!r}, got one that "
                "does not; use side='both' if the rows are single texts, or if both texts may change"
            )

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        yield self.terms(model, batch, *self.attacked(model, batch)) if self.attacks else self.clean(model, batch)

    def attacked(self, model: nn.Module, batch: Batch) -> tuple[Hull, Tensor]:
        """The hull of the batch and the weights of its worst point."""
        inner = unwrapped(model)
        self.table = self.known().to(batch["input_ids"].device)
        hull = self.table.hull(batch, self.side)

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
