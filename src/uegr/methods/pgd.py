"""Adversarial training with several projected gradient steps on the embedded input ("AdvEmbed" in the tables).

Madry, Makelov, Schmidt, Tsipras and Vladu, "Towards deep learning models resistant to adversarial attacks", ICLR 2018.

    L       = CE(x) + CE(x + delta_S)
    delta_s = project(delta_{s-1} + step g / ||g||_2, epsilon),   g = dCE(x + delta_{s-1})/d delta
    delta_0 = uniform noise within the ball

Defaults: S 3, epsilon 1, step 0.3, the usual settings on word vectors of unit scale; the paper's are pixels. The norm
runs over one example (`norm`). Deviations: the paper trains on x + delta alone, the tables and we on both; its random
start is uniform in a box, ours is FreeLB's, U(-epsilon, epsilon) / sqrt(entries), which lies within the l2 ball.
Inner gradients touch no parameter. S + 2 forward and backward passes.
"""

from collections.abc import Iterator
from functools import partial

from torch import Tensor, nn

from uegr.methods.contract import Method, Objective, Terms, configured, task_loss
from uegr.methods.fgm import Attack
from uegr.pieces.checks import check_amount, check_steps
from uegr.pieces.embedding import Batch, perturbed, unwrapped
from uegr.pieces.perturbation import Norm, climb, project, random_start
from uegr.pieces.schedule import Moment


class ProjectedGradient(Objective):
    """A clean pass, S inner ones that only move delta, and one on what they found."""

    yields = 2

    def __init__(self, attack: Attack, *, steps: int, step: float) -> None:
        if attack.norm == "matrix":
            raise ValueError("expected norm example, token, max or sign, got 'matrix', which has no ball to project on")
        self.attack, self.steps, self.step = attack, check_steps(steps), check_amount("step", step)
        self.passes = (steps + 2, steps + 2)

    def begin(self, moment: Moment) -> None:
        self.attack.moment = moment

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        yield {"task": task_loss(model(**batch))}
        with perturbed(model, self.attacked(unwrapped(model), batch), batch):
            yield {"adversarial": task_loss(model(**batch))}

    def attacked(self, model: nn.Module, batch: Batch) -> Tensor:
        """delta_S."""
        radius, norm = self.attack.radius(), self.attack.norm
        within = partial(project, radius=radius, norm=norm)

        def loss(delta: Tensor) -> Tensor:
            with perturbed(model, delta, batch):
                return task_loss(model(**batch))

        start = random_start(model, batch, radius, norm)
        return climb(start, loss, batch, steps=self.steps, step=self.step, norm=norm, within=within)


@configured
def pgd(
    *,
    steps: int = 3,
    epsilon: float = 1.0,
    step: float = 0.3,
    epsilon_warmup: float = 0.0,
    norm: Norm = "example",
) -> Method:
    """Clean loss plus the loss where several projected gradient steps lead."""
    return Method(ProjectedGradient(Attack(epsilon, epsilon_warmup, norm), steps=steps, step=step))
