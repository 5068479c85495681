"""UEGR's backward stage in float64, written down slowly from eq. 7, 8 and 9; see uegr_reference.py."""

import math
from typing import Any

import torch
from torch import Tensor

from uegr.pieces.schedule import Moment


def keep_probabilities(gradients: dict[str, Tensor], options: dict[str, Any]) -> dict[str, Tensor]:
    """Eq. 7, 8 and 9: saliency, its score among all entries of all tensors, the probability of being kept."""
    saliency = {name: [value**2 for value in g.flatten().tolist()] for name, g in gradients.items()}
    everything = sorted(value for values in saliency.values() for value in values)
    first, last = {}, {}
    for place, value in enumerate(everything):
        first.setdefault(value, place)
        last[value] = place
    sign = 1 if options["keep"] == "salient" else -1

    def p(value: float) -> float:
        if options["score"] == "rank":
            score = (first[value] + last[value]) / 2 / (len(everything) - 1)
        else:
            score = value / (everything[-1] - everything[0])
        return max(1 / (1 + math.exp(-sign * 2 * options["beta"] * (score - options["alpha"]))), 1e-3)

    return {
        name: torch.tensor([p(value) for value in values], dtype=torch.float64).view(gradients[name].shape)
        for name, values in saliency.items()
    }


def masked(gradients: dict[str, Tensor], kept: dict[str, Tensor], moment: Moment, rescale: bool) -> dict[str, Tensor]:
    """m * g / p, m ~ Bernoulli(p), tensor after tensor; a tensor of zeros draws nothing."""
    generator = moment.generator(torch.device("cpu"))
    result = {}
    for name, gradient in gradients.items():
        values = gradient.flatten().tolist()
        if any(values):
            drawn = torch.rand(len(values), generator=generator, dtype=torch.float64).tolist()
            p = kept[name].flatten().tolist()
            values = [(g / (q if rescale else 1.0) if u < q else 0.0) for g, u, q in zip(values, drawn, p, strict=True)]
        result[name] = torch.tensor(values, dtype=torch.float64).view(gradient.shape)
    return result
