"""Random masks, drawn cheaply: dropout, and the mixtures of weights that Mixout trains."""

from collections.abc import Sequence

import torch
from torch import Tensor


def random_bits(shape: torch.Size, device: torch.device) -> Tensor:
    """Uniform 32-bit integers: eight times cheaper on a CPU than torch's Bernoulli."""
    half = (shape.numel() + 1) // 2
    wide = torch.empty(half, dtype=torch.int64, device=device).random_(torch.iinfo(torch.int64).min, None)
    return wide.view(torch.int32)[: shape.numel()].view(shape)


def dropped(values: Tensor, probabilities: Tensor, drawn: Sequence[int] | None = None) -> Tensor:
    """`values` with each entry dropped with its probability (broadcastable), the others divided by what is kept.

    `drawn` is the shape of the random mask, broadcastable to that of `values` (default: an own draw per entry).
    """
    shape = values.shape if drawn is None else torch.Size(drawn)
    kept = 1 - probabilities
    threshold = (kept * 2.0**32 - 1 - 2.0**31).round().to(torch.int32)  # keep where bits <= threshold
    mask = torch.empty(shape, dtype=values.dtype, device=values.device)
    torch.le(random_bits(shape, values.device), threshold, out=mask)  # torch.where is ten times slower on a CPU
    return values * mask.div_(kept.to(values.dtype))
