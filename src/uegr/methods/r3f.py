"""R3F: predictions must not change under small noise on the embedded input.

Aghajanyan, Shrivastava, Gupta, Goyal, Zettlemoyer and Gupta, "Better fine-tuning by reducing representational
collapse", ICLR 2021.

    L = CE(x) + strength KL_S(P(x) || P(x + z)),   KL_S(P || Q) = KL(P || Q) + KL(Q || P)
    z ~ U(-sigma, sigma) or N(0, sigma^2), entry by entry

strength 1 and sigma 1e-5 with uniform noise are the released code's defaults; the paper searches strength in
{0.1, 0.5, 1, 5}. Deviations: no noise on padding. The divergence is a mean over examples, that of a regression the
squared difference. R4F's spectral norm of the head is left out. 2 forward and 2 backward passes.
"""

from collections.abc import Iterator
from typing import Literal

from torch import Tensor, nn

from uegr.methods.contract import Method, Objective, Terms, configured, predictions, task_loss
from uegr.pieces.checks import check_amount
from uegr.pieces.divergence import between, symmetric_kl
from uegr.pieces.embedding import Batch, perturbed
from uegr.pieces.perturbation import normal_start, random_start

Noise = Literal["uniform", "normal"]


def jeffreys(a: Tensor, b: Tensor) -> Tensor:
    """KL(P || Q) + KL(Q || P) of softmax(a), softmax(b): R3F's and SMART's symmetric divergence."""
    return 2 * symmetric_kl(a, b)


class NoiseRobust(Objective):
    """A clean and a noisy pass, compared."""

    passes = (2, 2)

    def __init__(self, strength: float, sigma: float, noise: Noise) -> None:
        if noise not in ("uniform", "normal"):
            raise ValueError(f"expected noise to be uniform or normal, got {noise!r}")
        self.strength, self.sigma, self.noise = check_amount("strength", strength), check_amount("sigma", sigma), noise

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        output = model(**batch)
        clean = predictions(model, output["logits"], batch)
        with perturbed(model, self.drawn(model, batch), batch):
            noisy = predictions(model, model(**batch)["logits"], batch)
        yield {"task": task_loss(output), "divergence": self.strength * between(clean, noisy, jeffreys)}

    def drawn(self, model: nn.Module, batch: Batch) -> Tensor:
        """z."""
        if self.noise == "normal":
            return normal_start(model, batch, self.sigma)
        return random_start(model, batch, self.sigma, "max")


@configured
def r3f(*, strength: float = 1.0, sigma: float = 1e-5, noise: Noise = "uniform") -> Method:
    """Predictions that agree under small noise (R3F)."""
    return Method(NoiseRobust(strength, sigma, noise))
