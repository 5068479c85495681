"""UEGR's backward stage in float64, written down slowly from eq. 7, 8 and 9; see uegr_reference.py."""

import math
from typing import Any

import torch
from torch import Tensor

from uegr.pieces.schedule import Moment


def keep_probabilities(gradients: dict[str, Tensor], options: dict[str, Any]) -> dict[str, Tensor]:
    """Eq. 7, 8 and 9: saliency, its score among the ranked entries of all tensors, the probability of being kept.

    `scope`: `all` ranks every entry, `live` those whose gradient is not zero, `encoder` those of the layers; an entry
    that is never masked has p = 1.
    """
    ranked = {name: g for name, g in gradients.items() if options["scope"] != "encoder" or ".layer" in name}
    saliency = {name: [value**2 for value in g.flatten().tolist()] for name, g in ranked.items()}
    live = options["scope"] == "live"
    everything = sorted(value for values in saliency.values() for value in values if value > 0 or not live)
    first, last = {}, {}
    for place, value in enumerate(everything):
        first.setdefault(value, place)
        last[value] = place
    alpha, beta = options["alpha"], options["beta"]

    def p(value: float) -> float:
        if live and value == 0:
            return 1.0  # a zero stays a zero
        if options["score"] == "rank":
            score = (first[value] + last[value]) / 2 / (len(everything) - 1)
        else:
            score = value / (everything[-1] - everything[0])
        exponent = {
            "salient": -2 * beta * (score - alpha),  # the text
            "printed": 2 * beta * (score - alpha),  # eq. 9
            "algorithm": 2 * beta * score - alpha,  # algorithm 1, line 11
        }[options["keep"]]
        return max(1 / (1 + math.exp(exponent)), 1e-3)

    kept = {
        name: torch.tensor([p(value) for value in values], dtype=torch.float64).view(gradients[name].shape)
        for name, values in saliency.items()
    }
    return {name: kept.get(name, torch.ones_like(gradient)) for name, gradient in gradients.items()}


def masked(gradients: dict[str, Tensor], kept: dict[str, Tensor], moment: Moment, rescale: bool) -> dict[str, Tensor]:
    """m * g / p, m ~ Bernoulli(p), tensor after tensor; a tensor of zeros, or one never masked, draws nothing."""
    generator = moment.generator(torch.device("cpu"))
    result = {}
    for name, gradient in gradients.items():
        values = gradient.flatten().tolist()
        if any(values) and not bool((kept[name] == 1).all()):
            drawn = torch.rand(len(values), generator=generator, dtype=torch.float64).tolist()
            p = kept[name].flatten().tolist()
            values = [(g / (q if rescale else 1.0) if u < q else 0.0) for g, u, q in zip(values, drawn, p, strict=True)]
        result[name] = torch.tensor(values, dtype=torch.float64).view(gradient.shape)
    return result
