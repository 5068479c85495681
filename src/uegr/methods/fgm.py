"""Adversarial training with one normalised gradient step on the embedded input ("AT" in the tables).

Miyato, Dai and Goodfellow, "Adversarial training methods for semi-supervised text classification", ICLR 2017.

    L = CE(x) + CE(x + delta),   delta = epsilon g / ||g||_2,   g = dCE(x)/dx

epsilon 1.0 is R-AT's setting. Deviations: the paper normalises the word vectors first, common fine-tuning codes and we
do not (`epsilon_relative=True` measures epsilon in the mean length of the example's word vectors instead); the norm is
one example's (`norm`), theirs is that of the whole embedding matrix (`norm="matrix"`).
"""

from collections.abc import Iterator

from torch import Tensor, nn

from uegr.methods.contract import Method, Objective, Terms, configured, task_loss
from uegr.methods.objectives.batchwise import batchwise
from uegr.pieces.checks import check_epsilon
from uegr.pieces.embedding import Batch, perturbed
from uegr.pieces.perturbation import Norm, ascend, check_norm, zero_start
from uegr.pieces.radius import mean_length, word_vectors
from uegr.pieces.schedule import Moment, warmed


class Attack:
    """One step of FGM whose radius may warm up, and may be relative to the vectors that it moves."""

    def __init__(self, epsilon: float, warmup: float, norm: str, relative: bool = False) -> None:
        self.epsilon, self.warmup, self.relative = check_epsilon(epsilon), warmup, relative
        if not 0 <= warmup <= 1:
            raise ValueError(f"expected 0 <= epsilon_warmup <= 1, got {warmup}")
        self.norm: Norm = check_norm(norm)
        self.moment = Moment()

    def radius(self, epsilon: float | None = None) -> float:
        """Epsilon at this moment."""
        return warmed(self.epsilon if epsilon is None else epsilon, self.warmup, self.moment)

    def reach(
        self, model: nn.Module, batch: Batch, epsilon: float | None = None, vectors: Tensor | None = None
    ) -> float | Tensor:
        """The length of the step: the radius; if relative, times the mean length of the vectors (default: words)."""
        if not self.relative:
            return self.radius(epsilon)
        moved = word_vectors(model, batch) if vectors is None else vectors
        return self.radius(epsilon) * mean_length(moved, batch, self.norm)


class FastGradient(Objective):
    """A clean pass, then one on the perturbed input."""

    yields, passes = 2, (2, 2)

    def __init__(self, attack: Attack) -> None:
        self.attack, self.batchwise = attack, batchwise(attack.norm)

    def begin(self, moment: Moment) -> None:
        self.attack.moment = moment

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        delta = zero_start(model, batch)
        with perturbed(model, delta, batch):
            yield {"task": task_loss(model(**batch))}  # its backward also fills delta.grad
        with perturbed(model, ascend(delta, self.attack.reach(model, batch), batch, self.attack.norm), batch):
            yield {"adversarial": task_loss(model(**batch))}


@configured
def fgm(
    *, epsilon: float = 1.0, epsilon_relative: bool = False, epsilon_warmup: float = 0.0, norm: Norm = "example"
) -> Method:
    """Clean loss plus the loss one gradient step away."""
    return Method(FastGradient(Attack(epsilon, epsilon_warmup, norm, epsilon_relative)))
