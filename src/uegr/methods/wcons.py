"""Weight consistency: recall the pretrained weights while learning the task ("WCons" in the tables).

Chen, Hou, Cui, Che, Liu and Yu, "Recall and learn: Fine-tuning deep pretrained language models with less forgetting",
EMNLP 2020.

    L = a(t) CE(x) + (1 - a(t)) strength/2 ||theta - theta*||^2,    a(t) = 1 / (1 + exp(-k (t - t0)))        eq. 8 and 9

over the encoder's weights, t counting the steps from 1. `anneal="constant"` is pretrained weight decay (PTWD):
L = CE(x) + strength/2 ||theta - theta*||^2. strength = 0 leaves a(t) CE, or CE.

k 0.1 is within the paper's search (0.05 .. 1); its t0 is 100 .. 1000 steps, some 2% to 10% of its trainings: a t0 below
1, such as 0.1, is a share of all steps. Deviations: the released optimizer applies the penalty beside Adam, where its
5000 times a learning rate of 2e-5 draws a weight back by a tenth each step; within the loss, Adam and clipping would
make 5000 a freeze, so strength 1 is ours. The release also leaves the head's loss at full weight; here a(t) weighs it
too, as in eq. 8. 1 forward and 1 backward pass.
"""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Literal

from torch import Tensor, nn

from uegr.methods.contract import Method, Objective, Terms, configured, task_loss
from uegr.pieces.anchors import Anchors
from uegr.pieces.checks import check_amount
from uegr.pieces.embedding import Batch
from uegr.pieces.encoder import encoder_names, extended
from uegr.pieces.schedule import Moment

Anneal = Literal["sigmoid", "constant"]


def annealed(moment: Moment, k: float, t0: float) -> float:
    """a(t) of eq. 9.

    >>> annealed(Moment(step=99), k=0.1, t0=100), annealed(Moment(step=9, total=100), k=0.1, t0=0.1)
    (0.5, 0.5)
    """
    if 0 < t0 < 1:
        if moment.total is None:
            raise ValueError(
                f"expected the number of training steps for t0 at {t0} of them, got none; give t0 in steps"
            )
        t0 *= moment.total
    exponent = k * (moment.step + 1 - t0)
    return 1 / (1 + math.exp(-exponent)) if exponent > 0 else math.exp(exponent) / (1 + math.exp(exponent))


class WeightConsistency(Objective):
    """One clean pass, and the distance to where the encoder came from."""

    extra: ClassVar[str] = "the distance of all weights, and its gradient"
    keeps_weights: bool = False

    def __init__(self, strength: float, anneal: Anneal, k: float, t0: float) -> None:
        if anneal not in ("sigmoid", "constant"):
            raise ValueError(f"expected anneal to be sigmoid or constant, got {anneal!r}")
        self.strength, self.anneal = check_amount("strength", strength), anneal
        self.k, self.t0 = check_amount("k", k), check_amount("t0", t0)
        self.anchors, self.moment = Anchors(), Moment()

    def prepare(self, model: nn.Module, batches: Iterable[Batch]) -> None:
        self.anchors.keep(model, encoder_names(model))

    def begin(self, moment: Moment) -> None:
        self.moment = moment

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        task = annealed(self.moment, self.k, self.t0) if self.anneal == "sigmoid" else 1.0
        recall = (1 - task if self.anneal == "sigmoid" else 1.0) * self.strength / 2
        if recall == 0:
            yield {"task": weighted(task, task_loss(model(**batch)))}
            return
        with extended(model, "distance", lambda: self.anchors.squared_distance(model)):
            output = model(**batch)
            yield {"task": weighted(task, task_loss(output)), "penalty": recall * output["distance"]}

    def state_dict(self) -> dict[str, Tensor]:
        return self.anchors.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.anchors.load_state_dict(state)


def weighted(weight: float, loss: Tensor) -> Tensor:
    """The loss times its weight; a weight of 1 leaves it bitwise."""
    return loss if weight == 1.0 else weight * loss


@configured
def wcons(*, strength: float = 1.0, anneal: Anneal = "sigmoid", k: float = 0.1, t0: float = 0.1) -> Method:
    """Recall the pretrained weights while learning (RecAdam, PTWD)."""
    return Method(WeightConsistency(strength, anneal, k, t0))
