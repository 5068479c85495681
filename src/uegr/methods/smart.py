"""SMART: predictions that are smooth around the input and do not run away from an average of the past weights.

Jiang, He, Chen, Liu, Gao and Zhao, "SMART: Robust and efficient fine-tuning for pre-trained natural language models
through principled regularized optimization", ACL 2020.

    L      = CE(x; theta) + smoothness l_s(P(x~), P(x)) + proximal l_s(P(x), P(x; theta~))
    l_s    = KL(P || Q) + KL(Q || P), for a regression the squared difference
    x~     = x + delta_T,   delta_0 ~ N(0, sigma^2),   delta_t+1 = clip(delta_t + step g / ||g||_inf, epsilon)
    theta~ = momentum theta~ + (1 - momentum) theta, once per step

the smoothness-inducing regulariser and the momentum Bregman proximal point. Defaults: lambda_s (`smoothness`) 1 of the
paper's {1, 3, 5}, mu (`proximal`) 1, epsilon = sigma = 1e-5, step 1e-3, one ascent step. Deviations: momentum is 0.99
throughout (the paper's 0.999 after a tenth of the steps is `momentum=0.999`); `momentum=0` is the plain proximal point,
whose teacher is the step's own start. The maximum norm runs over each token. The teacher has the model's own dropout. 3
forward and 3 backward passes, a 4th forward for it.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import ClassVar

import torch
from torch import Tensor, nn

from uegr.methods.contract import Method, Objective, Terms, configured, predictions, task_loss
from uegr.methods.r3f import jeffreys
from uegr.pieces.checks import check_amount, check_steps
from uegr.pieces.divergence import between
from uegr.pieces.embedding import Batch, perturbed, unwrapped
from uegr.pieces.perturbation import climb, normal_start
from uegr.pieces.schedule import Moment
from uegr.pieces.weights import Trailing, replaced, trainable


class Smooth(Objective):
    """A teacher's pass, a clean one, the ascent, and one where it led."""

    keeps_weights: bool = False
    extra: ClassVar[str] = "the average of the past weights"

    def __init__(self, amounts: Mapping[str, float], steps: int, momentum: float) -> None:
        self.amounts = {name: check_amount(name, value) for name, value in amounts.items()}
        self.steps, self.teacher = check_steps(steps), Trailing(momentum)
        self.passes = (2 + steps + bool(amounts["proximal"]), 2 + steps)
        self.step = 0

    def begin(self, moment: Moment) -> None:
        self.step = moment.step

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        goal = self.taught(model, batch) if self.amounts["proximal"] else None
        output = model(**batch)
        clean = predictions(model, output["logits"], batch)
        with perturbed(model, self.attacked(unwrapped(model), batch, clean.detach()), batch):
            moved = predictions(model, model(**batch)["logits"], batch)
        terms = {"task": task_loss(output), "smoothness": self.amounts["smoothness"] * between(moved, clean, jeffreys)}
        if goal is not None:
            terms["proximal"] = self.amounts["proximal"] * between(clean, goal, jeffreys)
        yield terms

    def attacked(self, model: nn.Module, batch: Batch, clean: Tensor) -> Tensor:
        """delta_T."""
        radius = self.amounts["epsilon"]
        within = partial(torch.clamp, min=-radius, max=radius)

        def apart(delta: Tensor) -> Tensor:
            with perturbed(model, delta, batch):
                return between(predictions(model, model(**batch)["logits"], batch), clean, jeffreys)

        start = normal_start(model, batch, self.amounts["sigma"])
        return climb(start, apart, batch, steps=self.steps, step=self.amounts["step"], norm="max", within=within)

    @torch.no_grad()
    def taught(self, model: nn.Module, batch: Batch) -> Tensor:
        """The predictions at theta~, which follows theta at the first batch of each step."""
        weights = trainable(model)
        with replaced(weights, self.teacher.follow(weights, self.step)):
            return predictions(model, unwrapped(model)(**batch)["logits"], batch)

    def state_dict(self) -> dict[str, Tensor]:
        return self.teacher.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.teacher.load_state_dict(state)


@configured
def smart(
    *,
    smoothness: float = 1.0,
    proximal: float = 1.0,
    epsilon: float = 1e-5,
    sigma: float = 1e-5,
    step: float = 1e-3,
    steps: int = 1,
    momentum: float = 0.99,
) -> Method:
    """Smooth around the input, close to an average of the past weights (SMART)."""
    amounts = {"smoothness": smoothness, "proximal": proximal, "epsilon": epsilon, "sigma": sigma, "step": step}
    return Method(Smooth(amounts, steps, momentum))
