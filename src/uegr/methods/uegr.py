"""UEGR: adaptive dropout regularisation forward, selective update backward.

Sun, Yin, Zhao, Zhang, Liu and Chen, "Unified enhancement of the generalization and robustness of language models via
bi-stage optimization", arXiv 2503.16550.

    L     = CE(x) + (1/K) sum_k CE_k(x + delta) + lambda sum_{l<k} JS(P_l || P_k)     eq. 3, 4, 6
    delta = epsilon g / ||g||_2,  g = dCE(x)/dx                                       eq. 2
    theta <- theta - eta m * grad / p,  m ~ Bernoulli(p(theta))                       eq. 7-9, theorem 1

The K passes are sub-models drawn by adaptive dropout (pieces/dropout.py), p follows saliency (pieces/saliency.py).
Sources: lambda 0.01, K 2, epsilon in {0.01, 0.1, 0.4}, alpha in [0.6, 0.95], beta in {1, 5, 10} (section VI.A).
Ablations: `spread=0` no adaptive dropout, `divergence_weight=0` no divergence, `selective_update=False`.

`scope` says which entries of the gradient are ranked, and so what alpha means: with `all` (eq. 8's Theta) the share of
all entries that is masked, the zero rows of absent words first; with `live` the share of the entries whose gradient is
not zero; with `encoder` that of the encoder's layers (RoAST), while embeddings and head are always updated.

Deviations and readings: adaptive dropout is prose in the paper, the definition is ours; `rates=None` takes the paper's
best range [0.3, 0.5] (`rates=0.4`) for models trained from scratch (TextCNN, BiLSTM, `model.pretrained=false`), and
centres on each site's own rate for others, because 0.3-0.5 hurt a pretrained encoder trained with 0.1; a site that does
not drop stays so. `spread=0` drops at the centre. `score` and `keep` default to the reading of the text and of RoAST's
code, not to the printed eq. 8 and sign of eq. 9 (`score="range"`, `keep="printed"`; `keep="algorithm"` is algorithm 1,
line 11, whose brackets differ from eq. 9). `score="fisher"` is eq. 7 without the batch approximation: the squared
gradients of single examples, summed and ranked; it doubles the passes, and runs them example by example.
`adversarial_reduction="sum"` is eq. 10, without eq. 3's 1/K; `norm="sign"` is FGSM's sign, not eq. 2's norm. Theorem 1
speaks of SGD: under Adam the 1/p cancels (`rescale="update"`). Masking raises the variance of the gradient (eq. 18).
`epsilon_warmup`, `epsilon_relative` (in units of the mean length of the example's word vectors) and `split` are ours.
"""

from typing import Literal

from uegr.methods.contract import Method, configured
from uegr.methods.fgm import Attack
from uegr.methods.objectives.selection import Scope, selectively
from uegr.methods.objectives.submodels import Consistency, RegularizedAdversarial, adaptive_dropout
from uegr.pieces.divergence import Reduction
from uegr.pieces.perturbation import Norm
from uegr.pieces.saliency import Keep, Score
from uegr.pieces.selective import Refresh, Rescale


@configured
def uegr(
    *,
    epsilon: float = 0.1,
    epsilon_relative: bool = False,
    epsilon_warmup: float = 0.0,
    norm: Norm = "example",
    submodels: int = 2,
    rates: float | tuple[float, ...] | None = None,
    spread: float | None = None,
    clean_dropout: Literal["own", "adaptive"] = "own",
    divergence: Consistency = "js",
    divergence_weight: float = 0.01,
    reduction: Reduction = "mean",
    pairs: Reduction = "sum",
    adversarial_reduction: Reduction = "mean",
    selective_update: bool = True,
    scope: Scope = "all",
    score: Score = "rank",
    keep: Keep = "salient",
    alpha: float = 0.9,
    beta: float = 10.0,
    rescale: Rescale = True,
    refresh: Refresh = 1,
    split: int | None = None,
) -> Method:
    """Bi-stage optimisation: adversarial sub-models that agree, and an update of the salient weights only."""
    if clean_dropout not in ("own", "adaptive"):
        raise ValueError(f"expected clean_dropout to be own or adaptive, got {clean_dropout!r}")
    if isinstance(rates, float | int):
        rates = (float(rates),) * submodels
    forward = RegularizedAdversarial(
        Attack(epsilon, epsilon_warmup, norm, epsilon_relative),
        submodels=submodels,
        divergence=divergence,
        weight=divergence_weight,
        reduction=reduction,
        pairs=pairs,
        dropout=adaptive_dropout(rates, spread, submodels),
        clean_dropout=clean_dropout,
        adversarial_reduction=adversarial_reduction,
        split=split,
    )
    selected = selectively(
        forward, scope, score=score, keep=keep, alpha=alpha, beta=beta, rescale=rescale, refresh=refresh
    )
    return selected if selective_update else Method(forward)
