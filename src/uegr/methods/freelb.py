"""FreeLB: every ascent step on the embedded input also trains the parameters, "for free".

Zhu, Cheng, Gan, Sun, Goldstein and Liu, "FreeLB: Enhanced adversarial training for natural language understanding",
ICLR 2020, algorithm 1.

    gradient  = (1/S) sum_s dCE(x + delta_s)/d theta,   s = 0 .. S-1
    delta_0   = U(-epsilon, epsilon) / sqrt(tokens * d)
    delta_s+1 = project(delta_s + step g_s / ||g_s||_F, epsilon),   g_s = dCE(x + delta_s)/d delta

Defaults: S 3, step 0.1, epsilon 0.6, of the order of the paper's settings, which differ from task to task. All S steps
see the same dropout mask ("when adversarial training meets dropout"): their random numbers are replayed. Each step is
its own backward, so the S graphs never coexist. Deviations: the released code gives the start a magnitude of its own
(`adv_init_mag`), algorithm 1 and we use epsilon. S forward and backward passes.
"""

from collections.abc import Iterator
from contextlib import nullcontext

from torch import nn

from uegr.methods.contract import Method, Objective, Terms, configured, task_loss
from uegr.pieces.checks import check_amount, check_epsilon, check_steps
from uegr.pieces.embedding import Batch, perturbed
from uegr.pieces.perturbation import ascend, project, random_start
from uegr.pieces.randomness import rehearsed


class FreeLargeBatch(Objective):
    """S backward passes, each at its own delta."""

    def __init__(self, *, steps: int, step: float, epsilon: float) -> None:
        self.steps, self.step, self.epsilon = check_steps(steps), check_amount("step", step), check_epsilon(epsilon)
        self.yields, self.passes = steps, (steps, steps)

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        delta = random_start(model, batch, self.epsilon, "example").requires_grad_()
        for remaining in reversed(range(self.steps)):
            with perturbed(model, delta, batch):
                with rehearsed(delta.device) if remaining else nullcontext():
                    terms = {"adversarial": task_loss(model(**batch)) / self.steps}
                yield terms  # its backward also fills delta.grad
            del terms  # the graph goes before the next one comes
            if remaining:
                delta = project(ascend(delta, self.step, batch, "example"), self.epsilon, "example").requires_grad_()


@configured
def freelb(*, steps: int = 3, step: float = 0.1, epsilon: float = 0.6) -> Method:
    """The mean gradient along several ascent steps (FreeLB)."""
    return Method(FreeLargeBatch(steps=steps, step=step, epsilon=epsilon))
