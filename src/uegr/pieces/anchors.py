"""Pretrained weights kept beside the model: how far the model has moved from them, and mixing the two.

    distance   sum_i (w_i - u_i)^2                              RecAdam (Chen 2020), pretrained weight decay
    mixture    (m u + (1 - m) w - p u) / (1 - p),  m_i ~ Bernoulli(p)                       Mixout (Lee 2020)

w are the trained weights and u their anchors. The mixture is u + (1 - m)(w - u) / (1 - p), and its mean is w. m is
drawn for each input neuron, and replaces all its outgoing weights together, or for each weight. Only trainable weights
are anchored: with LoRA these are the adapters, whose anchors are the values they start with.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from uegr.pieces.embedding import unwrapped
from uegr.pieces.masks import dropped
from uegr.pieces.places import places, substituted
from uegr.pieces.weights import at_least_single

Unit = Literal["neuron", "weight"]

SAME = 1e-6  # relative: sums of the same weights on another machine


class Anchors:
    """Copies of chosen weights of a model, as they are when `keep` is called.

    The copies are not in a checkpoint, because the model that training starts from has them. Their sums are, so that
    resuming from another model is refused.
    """

    def __init__(self) -> None:
        self.values: dict[str, Tensor] = {}

    def keep(self, model: nn.Module, names: Iterable[str]) -> None:
        """Copy the named weights."""
        parameters = dict(unwrapped(model).named_parameters())
        self.values = {name: parameters[name].detach().clone() for name in names}
        if not self.values:
            raise ValueError("expected trainable weights in the encoder, got none; unfreeze some, or choose vanilla")

    def pairs(self, model: nn.Module) -> list[tuple[nn.Parameter, Tensor]]:
        """Every anchored weight with its anchor."""
        if not self.values:
            raise ValueError(
                "expected the pretrained weights, got none; call method.objective.prepare(model, batches) before the "
                "first step"
            )
        parameters = dict(unwrapped(model).named_parameters())
        if missing := [name for name in self.values if name not in parameters]:
            raise ValueError(f"expected the model that was prepared, got one without {missing[0]}; prepare this one")
        return [(parameters[name], anchor.to(parameters[name].device)) for name, anchor in self.values.items()]

    def squared_distance(self, model: nn.Module) -> Tensor:
        """The sum over all anchored weights of (w - u)^2, without a copy of either."""
        pairs = [(at_least_single(w), at_least_single(u)) for w, u in self.pairs(model)]
        return torch.stack([mse_loss(w, u, reduction="sum") for w, u in pairs]).sum()

    def state_dict(self) -> dict[str, Tensor]:
        """The anchors' sums, in place of the anchors."""
        return {"anchors": fingerprint(self.values.values())} if self.values else {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Refuse to resume from other anchors than before."""
        if "anchors" in state and self.values:
            check_fingerprint(fingerprint(self.values.values()), state["anchors"])


def fingerprint(tensors: Iterable[Tensor]) -> Tensor:
    """The sums of the entries, of their sizes and of their squares, (3,), float64.

    >>> fingerprint([torch.tensor([1.0, -2.0])]).tolist()
    [-1.0, 3.0, 5.0]
    """
    total = torch.zeros(3, dtype=torch.float64)
    for tensor in tensors:
        wide = tensor.detach().double()
        total += torch.stack([wide.sum(), wide.abs().sum(), wide.square().sum()]).cpu()
    return total


def check_fingerprint(got: Tensor, expected: Tensor) -> None:
    """Refuse other weights than those a checkpoint was made with."""
    size = expected[1].item()
    if (got - expected.cpu()).abs()[:2].max() > SAME * max(size, 1e-30):
        raise ValueError(
            "expected the weights that this training started from, got others; load the pretrained model, "
            "not the checkpoint's, and then resume"
        )


def neurons(module: nn.Module, weight: Tensor) -> list[int]:
    """The shape of one number per input neuron of a layer, broadcastable to its weight; a vector has one per entry.

    >>> neurons(nn.Linear(3, 2), torch.zeros(2, 3)), neurons(nn.Embedding(5, 2), torch.zeros(5, 2))
    ([1, 3], [5, 1])
    """
    if weight.dim() < 2:
        return list(weight.shape)
    inputs_first = isinstance(module, nn.Embedding) or type(module).__name__ == "Conv1D"  # GPT-2's linear layer
    axis = 0 if inputs_first else 1
    return [size if place == axis else 1 for place, size in enumerate(weight.shape)]


@contextmanager
def mixed(model: nn.Module, anchors: Anchors, rate: float, unit: Unit) -> Iterator[None]:
    """Inside, the model computes with a mixture: each unit of the anchored weights is its anchor's with this rate.

    The parameters themselves stay as they are, and the mixture's gradient reaches them; open until the backward is
    done, since gradient checkpointing computes the forward again.
    """
    chance, mixtures = torch.tensor(rate, dtype=torch.float64), dict[int, Tensor]()
    pairs = {id(w): (w, u) for w, u in anchors.pairs(model)}
    owners = {id(place.parameter): place.module for place in reversed(places(model, pairs))}
    for key, (w, u) in pairs.items():
        drawn = neurons(owners[key], w) if unit == "neuron" else None
        mixtures[key] = u + dropped(w - u, chance.to(w.device), drawn)
    with substituted(model, mixtures):
        yield
