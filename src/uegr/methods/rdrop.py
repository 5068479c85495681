"""R-Drop: two sub-models drawn by dropout must agree on the same clean input.

Liang et al., "R-Drop: Regularized dropout for neural networks", NeurIPS 2021.

    L = (CE_1(x) + CE_2(x)) / 2 + alpha (KL(P_1 || P_2) + KL(P_2 || P_1)) / 2

alpha 1.0 is the largest of those that the paper searches on GLUE. Deviations: the paper adds the two
cross-entropies where we take their mean, so that alpha = 0 is vanilla (its alpha is twice ours at the same balance);
`reduction="sum"` sums the divergence over the examples, as the released code does. Both passes are one forward over
the batch repeated. For a regression the divergence is the squared difference.
"""

from collections.abc import Iterator

from torch import nn

from uegr.methods.contract import Method, Objective, Terms, configured, predictions, task_loss
from uegr.methods.objectives.batchwise import batchwise
from uegr.pieces.checks import check_amount
from uegr.pieces.divergence import Reduction, pairwise, symmetric_kl
from uegr.pieces.embedding import Batch, repeated, unwrapped
from uegr.pieces.sites import sites


class RegularizedDropout(Objective):
    """Two clean passes in one forward."""

    passes = (2, 2)

    def __init__(self, alpha: float, reduction: Reduction) -> None:
        if reduction not in ("mean", "sum"):
            raise ValueError(f"expected reduction to be mean or sum, got {reduction!r}")
        self.alpha, self.reduction = check_amount("alpha", alpha), reduction
        self.batchwise = batchwise(reduction=reduction if alpha else "mean")

    def check(self, model: nn.Module) -> None:
        if not sites(model):
            raise ValueError(
                "expected a model with nn.Dropout modules to draw sub-models from, got "
                f"{type(unwrapped(model)).__name__} with none; give it dropout, or choose a method without sub-models"
            )

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        twice = repeated(batch, 2)
        output = model(**twice)
        logits = predictions(model, output["logits"], twice).unflatten(0, (2, -1))
        apart = pairwise(logits, symmetric_kl, reduction=self.reduction)
        yield {"task": task_loss(output), "divergence": self.alpha * apart}


@configured
def rdrop(*, alpha: float = 1.0, reduction: Reduction = "mean") -> Method:
    """Two dropout sub-models that agree on the clean input (R-Drop)."""
    return Method(RegularizedDropout(alpha, reduction))
