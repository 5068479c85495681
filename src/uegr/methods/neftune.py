"""NEFTune: uniform noise on the embedded input.

Jain et al., "NEFTune: Noisy embeddings improve instruction finetuning", ICLR 2024, algorithm 1.

    L = CE(x + noise),   noise = U(-1, 1) alpha / sqrt(tokens * d)

alpha 5 is the smallest of the paper's {5, 10, 15} and the one its later users start from. Deviations: the released code
counts padding as tokens and puts noise on it; here an example's noise depends on its own length alone. Fresh noise at
every step, none in evaluation. 1 forward and 1 backward pass.
"""

from collections.abc import Iterator

from torch import nn

from uegr.methods.contract import Method, Objective, Terms, configured, task_loss
from uegr.pieces.checks import check_amount
from uegr.pieces.embedding import Batch, perturbed
from uegr.pieces.perturbation import random_start


class NoisyEmbedding(Objective):
    """One pass on noisy word vectors."""

    def __init__(self, alpha: float) -> None:
        self.alpha = check_amount("alpha", alpha)

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        with perturbed(model, random_start(model, batch, self.alpha, "example"), batch):
            yield {"task": task_loss(model(**batch))}


@configured
def neftune(*, alpha: float = 5.0) -> Method:
    """Fine-tuning on noisy word vectors (NEFTune)."""
    return Method(NoisyEmbedding(alpha))
