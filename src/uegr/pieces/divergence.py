"""How far two predictions for the same example are apart, from their logits, in nats.

With P = softmax(a), Q = softmax(b) over the last dimension:
- `kl` = sum P log(P/Q);  `symmetric_kl` = (KL(P,Q) + KL(Q,P)) / 2 (R-AT eq. 7, R-Drop);  `ce` = -sum P log Q
- `js` = (KL(P,M) + KL(Q,M)) / 2 with M = (P+Q)/2 (UEGR eq. 4): symmetric, within [0, ln 2]
- `mse`, `mae` = mean over the classes of (P-Q)^2, |P-Q| (R-AT table 8)
A prediction with a single output is a regression: every divergence is then the squared difference (R-AT appendix C).
"""

import math
from collections.abc import Callable
from itertools import combinations
from typing import Literal

import torch
from torch import Tensor

Divergence = Callable[[Tensor, Tensor], Tensor]
Reduction = Literal["mean", "sum"]


def kl(a: Tensor, b: Tensor) -> Tensor:
    """KL(P || Q), one number per row of logits."""
    return _kl(a.log_softmax(-1), b.log_softmax(-1))


def _kl(log_p: Tensor, log_q: Tensor) -> Tensor:
    return (log_p.exp() * (log_p - log_q)).sum(-1)


def symmetric_kl(a: Tensor, b: Tensor) -> Tensor:
    """(KL(P || Q) + KL(Q || P)) / 2 = sum (P - Q)(log P - log Q) / 2."""
    log_p, log_q = a.log_softmax(-1), b.log_softmax(-1)
    return ((log_p.exp() - log_q.exp()) * (log_p - log_q)).sum(-1) / 2


def js(a: Tensor, b: Tensor) -> Tensor:
    """Jensen-Shannon divergence.

    >>> far = js(torch.tensor([[100.0, 0.0]]), torch.tensor([[0.0, 100.0]]))
    >>> bool((far - math.log(2)).abs() < 1e-6)
    True
    """
    log_p, log_q = a.log_softmax(-1), b.log_softmax(-1)
    log_m = torch.logaddexp(log_p, log_q) - math.log(2)
    return (_kl(log_p, log_m) + _kl(log_q, log_m)) / 2


def ce(a: Tensor, b: Tensor) -> Tensor:
    """The cross-entropy of Q under P."""
    return -(a.softmax(-1) * b.log_softmax(-1)).sum(-1)


def mse(a: Tensor, b: Tensor) -> Tensor:
    """The mean squared difference of the probabilities."""
    return (a.softmax(-1) - b.softmax(-1)).square().mean(-1)


def mae(a: Tensor, b: Tensor) -> Tensor:
    """The mean absolute difference of the probabilities."""
    return (a.softmax(-1) - b.softmax(-1)).abs().mean(-1)


def squared_difference(a: Tensor, b: Tensor) -> Tensor:
    """For regression: the squared difference of the two predictions."""
    return (a - b).square().mean(-1)


DIVERGENCES: dict[str, Divergence] = {
    "kl": kl,
    "symmetric_kl": symmetric_kl,
    "js": js,
    "ce": ce,
    "mse": mse,
    "mae": mae,
}


def named(name: str) -> Divergence:
    """The divergence of that name."""
    if name not in DIVERGENCES:
        raise ValueError(f"expected a divergence among {', '.join(DIVERGENCES)}, got {name!r}")
    return DIVERGENCES[name]


def reduced(values: Tensor, reduction: Reduction) -> Tensor:
    """The mean over examples, or the sum that the released codes of R-AT, R-Drop and RoAST take."""
    if reduction not in ("mean", "sum"):
        raise ValueError(f"expected reduction to be mean or sum, got {reduction!r}")
    return values.mean() if reduction == "mean" else values.sum()


def between(a: Tensor, b: Tensor, divergence: Divergence, reduction: Reduction = "mean") -> Tensor:
    """The divergence of two sets of predictions (rows, classes), reduced over the rows."""
    measure = squared_difference if a.shape[-1] == 1 else divergence
    return reduced(measure(a, b), reduction)


def pairwise(
    logits: Tensor, divergence: Divergence, *, reduction: Reduction = "mean", pairs: Reduction = "sum"
) -> Tensor:
    """Over the K(K-1)/2 pairs of passes of logits (passes, rows, classes), l < k: eq. 4 with `pairs="sum"`.

    >>> pairwise(torch.zeros(3, 4, 2), js).item()
    0.0
    """
    terms = [between(logits[j], logits[k], divergence, reduction) for j, k in combinations(range(len(logits)), 2)]
    if not terms:
        return logits.sum() * 0.0
    total = torch.stack(terms)
    if pairs not in ("mean", "sum"):
        raise ValueError(f"expected pairs to be mean or sum, got {pairs!r}")
    return total.sum() if pairs == "sum" else total.mean()
