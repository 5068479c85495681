"""Child-Tuning without the task: each step updates a random child network ("CTune" in the tables).

Xu, Luo, Zhang, Tan, Chang, Huang and Huang, "Raise a child in large language model: Towards effective and generalizable
fine-tuning", EMNLP 2021.

    g <- m * g / p,   m_i ~ Bernoulli(p)                                                    algorithm 1, Child-Tuning_F

p 0.3 is within the paper's search (0.2, 0.3, 0.4); p = 1 is vanilla. The division by p is the released code's. Every
trainable parameter is masked, as in algorithm 1 and in the released optimizer; only `child_d` leaves embeddings, pooler
and head alone. A new mask is drawn at each step, from seed and step alone. 1 forward and 1 backward pass.
"""

import torch

from uegr.methods.contract import GradientEdit, Method, configured
from uegr.methods.objectives.child import check_share
from uegr.methods.vanilla import Vanilla
from uegr.pieces.saliency import EXACT_UP_TO, select_, snapped
from uegr.pieces.schedule import Moment
from uegr.pieces.selective import Parameters


class RandomChild(GradientEdit):
    """Keeps each entry of the gradient with probability p and divides it by p."""

    def __init__(self, p: float) -> None:
        self.p = check_share(p)

    def edit(self, parameters: Parameters, moment: Moment) -> None:
        for parameter in parameters.values():
            if parameter.grad is not None and not parameter.grad.is_contiguous():
                parameter.grad = parameter.grad.contiguous()
        found = [p.grad for p in parameters.values() if p.grad is not None]
        if self.p == 1 or not found:
            return
        fine = sum(gradient.numel() for gradient in found) <= EXACT_UP_TO
        p = snapped(torch.tensor(self.p, dtype=torch.float64), fine).item()
        generator = moment.generator(found[0].device)
        select_(found, found, lambda values: torch.full_like(values, p), generator, rescale=True)


@configured
def child_f(*, p: float = 0.3) -> Method:
    """Update a random child network each step (Child-Tuning F)."""
    return Method(Vanilla(), gradients=(RandomChild(p),))
