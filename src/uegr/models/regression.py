"""A regression starts at the scale of its labels: a fresh head predicts around their mean, within their spread.

As transformers draws it, a head predicts around 0, and the steps of AdamW are too small to move it: on STS-B, whose
mean is 2.7, the bias of a plain BERT ends below 0.005, and the encoder has to learn the rest. Prices or years would
not be learnt at all.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from uegr.models.loaded import Loaded


class Scale(NamedTuple):
    """Of the training labels; the spread is their standard deviation, 1 where all are equal."""

    mean: float
    spread: float


def scale_of(labels: np.ndarray) -> Scale:
    """The scale of these labels.

    >>> scale_of(np.array([2.0, 4.0, 6.0, 8.0]))
    Scale(mean=5.0, spread=2.23606797749979)
    """
    return Scale(float(np.mean(labels)), float(np.std(labels)) or 1.0)


def begin(loaded: Loaded, scale: Scale) -> bool:
    """Let the head of a regression start at this scale if it is fresh; a trained head is not changed.

    False where a fresh head has no bias, as in decoders, and therefore still starts around 0.
    """
    heads = [
        module
        for name, module in loaded.model.named_modules()
        if isinstance(module, nn.Linear) and module.out_features == 1 and f"{name}.weight" in loaded.fresh
    ]
    if heads:
        rescale(heads[-1], scale)
    return not heads or heads[-1].bias is not None


def rescale(head: nn.Linear, scale: Scale) -> None:
    """Move a linear layer that predicts around 0 with a spread of about 1 to the scale."""
    with torch.no_grad():
        head.weight.mul_(scale.spread)
        if head.bias is not None:
            head.bias.mul_(scale.spread).add_(scale.mean)
