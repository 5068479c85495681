"""LP-FT: linear probing, then full fine-tuning.

Kumar, Raghunathan, Jones, Ma and Liang, "Fine-tuning can distort pretrained features and underperform
out-of-distribution", ICLR 2022.

    steps 0 .. n-1:  L = CE(x), only the head is trained;     steps n ..:  L = CE(x), everything is

n = `probing` times all steps; 0 is vanilla. Deviations: the paper probes to convergence with a learning rate of its
own and then starts over; here both stages share one optimizer, schedule and dropout, and the share 0.2 is ours. While
probing, the encoder keeps no graph and its gradients are taken away before the optimizer's step: neither momentum nor
weight decay moves it. n is fixed at the first step and is in the checkpoint. 1 forward and 1 backward pass.
"""

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from uegr.methods.contract import GradientEdit, Method, Objective, Terms, configured, task_loss
from uegr.pieces.embedding import Batch, unwrapped
from uegr.pieces.encoder import encoder_names, extended
from uegr.pieces.schedule import Moment
from uegr.pieces.selective import Parameters
from uegr.pieces.weights import frozen, trainable


class HeadFirst(Objective):
    """A pass that trains the head alone, or later everything."""

    def __init__(self, probing: float) -> None:
        if not 0 <= probing <= 1:
            raise ValueError(f"expected 0 <= probing <= 1, got {probing}")
        self.share, self.moment = probing, Moment()
        self.steps: int | None = 0 if probing == 0 else None
        self.below: frozenset[str] = frozenset()

    def check(self, model: nn.Module) -> None:
        if len(encoder_names(model)) == len(trainable(model)):
            raise ValueError(
                f"expected a model with a trainable head, got {type(unwrapped(model)).__name__} with none; "
                "on a PEFT model name the head in modules_to_save"
            )

    def begin(self, moment: Moment) -> None:
        self.moment = moment
        if self.steps is None:
            if moment.total is None:
                raise ValueError(f"expected the number of training steps to probe for {self.share} of them, got none")
            self.steps = math.ceil(self.share * moment.total)

    def probing(self, moment: Moment) -> bool:
        """Is only the head trained at that moment?"""
        return self.steps is not None and moment.step < self.steps

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        if not self.probing(self.moment):
            yield {"task": task_loss(model(**batch))}
            return
        weights = trainable(model)
        below = {name: weights[name] for name in encoder_names(model)}
        self.below = frozenset(below)
        # zero, but with it every weight has a gradient, which several processes wait for
        nothing = sum((weight.flatten()[:0].sum() for weight in below.values()), torch.zeros(()))
        with frozen(below), extended(model, "nothing", lambda: nothing):
            output = model(**batch)
        yield {"task": task_loss(output) + output["nothing"]}

    def state_dict(self) -> dict[str, Tensor]:
        return {} if self.steps is None else {"steps": torch.tensor(self.steps)}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        if "steps" in state:
            self.steps = int(state["steps"])


class KeepEncoder(GradientEdit):
    """While probing, the optimizer sees no gradient below the head."""

    def __init__(self, objective: HeadFirst) -> None:
        self.objective = objective

    def edit(self, parameters: Parameters, moment: Moment) -> None:
        if self.objective.probing(moment):
            for name in self.objective.below:
                parameters[name].grad = None


@configured
def lpft(*, probing: float = 0.2) -> Method:
    """The head first, then everything (LP-FT)."""
    objective = HeadFirst(probing)
    return Method(objective, gradients=(KeepEncoder(objective),))
