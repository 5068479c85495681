"""Child-Tuning without the task: each step updates a random child network ("CTune" in the tables).

Xu, Luo, Zhang, Tan, Chang, Huang and Huang, "Raise a child in large language model: Towards effective and generalizable
fine-tuning", EMNLP 2021.

    g <- m * g / p,   m_i ~ Bernoulli(p)                                                    algorithm 1, Child-Tuning_F

p 0.3 is within the paper's search (0.2, 0.3, 0.4); p = 1 is vanilla. The division by p is the released code's. Only the
encoder's stacked layers are masked; embeddings, pooler and head are left alone, as released ("layer" in their name).
The mask is drawn anew each step, from seed and step alone. 1 forward and 1 backward pass.
"""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from uegr.methods.contract import GradientEdit, Method, Objective, Terms, configured, task_loss
from uegr.pieces.embedding import Batch, unwrapped
from uegr.pieces.encoder import layer_names
from uegr.pieces.saliency import EXACT_UP_TO, select_, snapped
from uegr.pieces.schedule import Moment
from uegr.pieces.selective import Parameters


class OnLayers:
    """An edit of the gradient that sees the encoder's stacked layers only."""

    def __init__(self, inner: GradientEdit) -> None:
        self.inner, self.names = inner, frozenset[str]()
        self.needs_optimizer = inner.needs_optimizer

    def look(self, model: nn.Module) -> None:
        """Find the layers of the model whose gradients will come."""
        self.names = frozenset(layer_names(model))
        if not self.names:
            name = type(unwrapped(model)).__name__
            raise ValueError(f"expected trainable layers in the encoder, got {name} with none; unfreeze some")

    def edit(self, parameters: Parameters, moment: Moment) -> None:
        self.inner.edit({name: p for name, p in parameters.items() if name in self.names}, moment)

    def after(self, parameters: Parameters) -> None:
        self.inner.after({name: p for name, p in parameters.items() if name in self.names})

    def state_dict(self) -> dict[str, Tensor]:
        return self.inner.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.inner.load_state_dict(state)


class ChildTask(Objective):
    """One clean pass; tells the edit which weights are the encoder's layers."""

    def __init__(self, layers: OnLayers) -> None:
        self.layers = layers

    def check(self, model: nn.Module) -> None:
        self.layers.look(model)

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        self.layers.look(model)
        yield {"task": task_loss(model(**batch))}


class RandomChild:
    """Keeps each entry of the gradient with probability p and divides it by p."""

    needs_optimizer = False

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

    def after(self, parameters: Parameters) -> None:
        """Nothing is left to do."""

    def state_dict(self) -> dict[str, Tensor]:
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """There is no state: the mask follows from seed and step."""


def check_share(p: float) -> float:
    """The child's share of the weights, if it is one."""
    if not 0 < p <= 1:
        raise ValueError(f"expected 0 < p <= 1, got {p}")
    return p


@configured
def child_f(*, p: float = 0.3) -> Method:
    """Update a random child network each step (Child-Tuning F)."""
    layers = OnLayers(RandomChild(p))
    return Method(ChildTask(layers), gradients=(layers,))
