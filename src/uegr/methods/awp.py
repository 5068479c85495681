"""Adversarial weight perturbation: the loss on adversarial inputs, at adversarial weights.

Wu, Xia and Wang, "Adversarial weight perturbation helps robust generalization", NeurIPS 2020.

    gradient = dCE(x + delta; theta + v)/d theta
    delta    = epsilon g / ||g||_2,              g   = dCE(x; theta)/dx
    v_l      = gamma ||theta_l|| g_l / ||g_l||,  g_l = dCE(x + delta; theta)/d theta_l

applied at theta. gamma 0.005 is the paper's (its released script for plain adversarial training takes 0.01), found in
one step; vectors (biases, norms) do not move, as in the released code. Deviations: the paper attacks pixels by ten
steps of PGD, we the embedded input by one step of FGM (epsilon 1 as in `fgm`; 0 leaves the input clean and saves a
pass); v's pass and the last see the same dropout mask. v follows the batch that a process holds, as in `sam`. 3 forward
and 3 backward passes.
"""

from collections.abc import Iterator
from typing import ClassVar

from torch import Tensor, nn

from uegr.methods.contract import Method, Objective, Terms, configured, task_loss
from uegr.methods.fgm import Attack
from uegr.methods.sam import rehearsed_gradients
from uegr.pieces.checks import check_amount
from uegr.pieces.embedding import Batch, perturbed, unwrapped
from uegr.pieces.perturbation import Norm, climb, zero_start
from uegr.pieces.schedule import Moment
from uegr.pieces.weights import moved, relative, trainable


class WeightPerturbation(Objective):
    """A pass to move the input, one to move the weights, one to learn from."""

    keeps_weights: bool = False
    extra: ClassVar[str] = "the norms of weights and gradients, and moved weights"
    batchwise: str = "the weights are moved along the gradient of the micro-batch, as in sam"

    def __init__(self, attack: Attack, gamma: float) -> None:
        self.attack, self.gamma = attack, check_amount("gamma", gamma)
        self.passes = (3, 3) if attack.epsilon else (2, 2)

    def begin(self, moment: Moment) -> None:
        self.attack.moment = moment

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        weights = {name: weight for name, weight in trainable(model).items() if weight.dim() > 1}
        with perturbed(model, self.attacked(unwrapped(model), batch), batch):
            found = rehearsed_gradients(model, batch, weights)
            with moved(weights, relative(found, weights, self.gamma)):
                yield {"adversarial": task_loss(model(**batch))}  # its backward runs at the moved weights

    def attacked(self, model: nn.Module, batch: Batch) -> Tensor:
        """delta."""
        start = zero_start(model, batch).detach()

        def loss(delta: Tensor) -> Tensor:
            with perturbed(model, delta, batch):
                return task_loss(model(**batch))

        if self.attack.epsilon == 0:
            return start
        radius, norm = self.attack.radius(), self.attack.norm
        return climb(start, loss, batch, steps=1, step=radius, norm=norm, within=lambda delta: delta)


@configured
def awp(*, gamma: float = 0.005, epsilon: float = 1.0, epsilon_warmup: float = 0.0, norm: Norm = "example") -> Method:
    """The gradient on adversarial inputs at adversarial weights (AWP)."""
    return Method(WeightPerturbation(Attack(epsilon, epsilon_warmup, norm), gamma))
