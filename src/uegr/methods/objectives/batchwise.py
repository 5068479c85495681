"""Why a loss is not a mean over the examples of a batch: accumulated micro-batches then give another gradient."""

from uegr.pieces.divergence import Reduction
from uegr.pieces.perturbation import Norm

MATRIX = "norm='matrix' takes one norm over the whole micro-batch"
SUMMED = "reduction='sum' adds the divergences of a micro-batch, and does not average them"


def batchwise(norm: Norm = "example", reduction: Reduction = "mean") -> str:
    """The reason, for `Objective.batchwise`; empty for a mean over examples.

    >>> batchwise("token"), batchwise("matrix")
    ('', "norm='matrix' takes one norm over the whole micro-batch")
    """
    return "; ".join(([MATRIX] if norm == "matrix" else []) + ([SUMMED] if reduction == "sum" else []))
