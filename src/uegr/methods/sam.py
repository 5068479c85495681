"""Sharpness-aware minimisation: the gradient at the worst nearby weights ("AdvWeight" in the tables).

Foret, Kleiner, Mobahi and Neyshabur, "Sharpness-aware minimization for efficiently improving generalization", ICLR
2021; for language models Bahri, Mobahi and Tay, ACL 2022.

    gradient = dCE/d theta at theta + rho g / ||g||_2,   g = dCE/d theta at theta       eq. 2 and 3

applied at theta. rho 0.05 is the paper's. Both passes see the same dropout mask. g is the gradient of the batch that a
process holds: with several processes or accumulated micro-batches each ascends along its own (the paper's
m-sharpness). On a PEFT model only the trainable weights move. 2 forward and 2 backward passes.
"""

from collections.abc import Iterator
from typing import ClassVar

from torch import Tensor, nn

from uegr.methods.contract import Method, Objective, Terms, configured, task_loss
from uegr.pieces.checks import check_amount
from uegr.pieces.embedding import Batch, unwrapped
from uegr.pieces.randomness import rehearsed
from uegr.pieces.weights import Weights, gradients, moved, steepest, trainable


def rehearsed_gradients(model: nn.Module, batch: Batch, weights: Weights) -> dict[str, Tensor]:
    """dCE/d theta of the weights, leaving no trace; the next pass draws the same dropout mask."""
    inner = unwrapped(model)
    with rehearsed(next(iter(weights.values())).device):
        loss = task_loss(inner(**batch))
    return gradients(loss, weights)


class SharpnessAware(Objective):
    """One pass to find the direction, one to learn from, at the moved weights."""

    passes = (2, 2)
    keeps_weights: bool = False
    extra: ClassVar[str] = "the norm of the gradient, and moved weights"
    batchwise: str = "the ascent follows the gradient of the micro-batch (the paper's m-sharpness)"

    def __init__(self, rho: float) -> None:
        self.rho = check_amount("rho", rho)

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        weights = trainable(model)
        with moved(weights, steepest(rehearsed_gradients(model, batch, weights), self.rho)):
            yield {"task": task_loss(model(**batch))}  # its backward runs at the moved weights


@configured
def sam(*, rho: float = 0.05) -> Method:
    """The gradient at the sharpest nearby weights (SAM)."""
    return Method(SharpnessAware(rho))
