"""RoAST: adversarial perturbation with selective training, the method that UEGR's backward stage comes from.

Kim, Mao, Hou, Yu, Liang, Fung, Wang, Feng, Huang and Khabsa, "RoAST: Robustifying language models via adversarial
perturbation with selective training", Findings of EMNLP 2023.

    L     = CE(x) + CE(x + delta) + weight KL_sym(P(x), P(x + delta))                       eq. 1 and 2
    delta = epsilon g / ||g||_inf,  g = dCE(x)/dx, token by token
    g    <- m * g / p,  m ~ Bernoulli(p),  p = sigmoid(2 beta (s~ - alpha))                 eq. 4 to 6

s~ the rank of the epoch's summed squared gradients, over the encoder's stacked layers only. epsilon 0.1, weight 0.01,
alpha 0.9 and beta 10 (sentiment; 0.6 and 1 for entailment) are the paper's. `adversarial=False` leaves CE(x + delta)
out and `reduction="sum"` sums the divergence, as the released code does. Deviations: the release ranks once more before
the first step, in a pass of its own, and keeps one mask per epoch; here the first epoch is not masked, and masks are
drawn at each step. 2 forward and 3 backward passes, one of them for delta alone.
"""

from collections.abc import Iterator

import torch
from torch import nn

from uegr.methods.contract import Method, Terms, configured, predictions, task_loss
from uegr.methods.fgm import Attack
from uegr.methods.objectives.batchwise import batchwise
from uegr.methods.objectives.child import ChildTask, OnLayers
from uegr.pieces.checks import check_amount
from uegr.pieces.divergence import Reduction, between, reduced, symmetric_kl
from uegr.pieces.embedding import Batch, perturbed
from uegr.pieces.perturbation import Norm, unit, zero_start
from uegr.pieces.schedule import Moment
from uegr.pieces.selective import Refresh, Rescale, SelectiveUpdate


class PerturbedPair(ChildTask):
    """A clean pass and a perturbed one that must agree; tells the edit which weights are the encoder's layers."""

    passes = (2, 3)

    def __init__(
        self, layers: OnLayers, attack: Attack, weight: float, reduction: Reduction, adversarial: bool
    ) -> None:
        super().__init__(layers)
        reduced(torch.zeros(1), reduction)  # refuses unknown names
        self.attack, self.weight, self.reduction = attack, check_amount("divergence_weight", weight), reduction
        self.adversarial, self.batchwise = adversarial, batchwise(attack.norm, reduction if weight else "mean")

    def begin(self, moment: Moment) -> None:
        self.attack.moment = moment

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        self.layers.look(model)
        delta = zero_start(model, batch)
        with perturbed(model, delta, batch):
            output = model(**batch)
        task = task_loss(output)
        (gradient,) = torch.autograd.grad(task, delta, retain_graph=True)  # the divergence needs this graph again
        move = self.attack.radius() * unit(gradient, batch, self.attack.norm)
        with perturbed(model, move, batch):
            moved = model(**batch)
            terms = {"task": task} | ({"adversarial": task_loss(moved)} if self.adversarial else {})
            clean, far = (predictions(model, result["logits"], batch) for result in (output, moved))
            yield terms | {"divergence": self.weight * between(clean, far, symmetric_kl, self.reduction)}


@configured
def roast(
    *,
    epsilon: float = 0.1,
    epsilon_warmup: float = 0.0,
    norm: Norm = "max",
    divergence_weight: float = 0.01,
    reduction: Reduction = "mean",
    adversarial: bool = True,
    alpha: float = 0.9,
    beta: float = 10.0,
    rescale: Rescale = True,
    refresh: Refresh = "epoch",
) -> Method:
    """A perturbed pass that agrees, and selective training (RoAST)."""
    update = SelectiveUpdate(score="rank", keep="salient", alpha=alpha, beta=beta, rescale=rescale, refresh=refresh)
    layers = OnLayers(update)
    attack = Attack(epsilon, epsilon_warmup, norm)
    return Method(PerturbedPair(layers, attack, divergence_weight, reduction, adversarial), gradients=(layers,))
