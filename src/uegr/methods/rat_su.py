"""R-AT with UEGR's selective update: the ablation row "R-AT-SU" of UEGR's table IV.

Sun, Yin, Zhao, Zhang, Liu and Chen, "Unified enhancement of the generalization and robustness of language models via
bi-stage optimization", arXiv 2503.16550, section VI.C.

    L = CE(x) + (1/K) sum_k CE_k(x + delta) + consistency_weight * mean over pairs of KL_sym(P_l, P_k)      as in `rat`
    theta <- theta - eta m * grad / p,  m ~ Bernoulli(p(theta))                                             as in `uegr`

The forward stage is `rat` with all its options (its `alpha` is called `consistency_weight` here), the backward stage is
`uegr`'s with its `scope`, `alpha` and `beta`; see both for their defaults, sources and deviations. The paper names this
row and gives no settings for it. Passes as in `rat`.
"""

from uegr.methods.contract import Method, configured
from uegr.methods.objectives.selection import Scope, selectively
from uegr.methods.objectives.submodels import Consistency
from uegr.methods.rat import objective
from uegr.pieces.divergence import Reduction
from uegr.pieces.perturbation import Norm
from uegr.pieces.saliency import Keep, Score
from uegr.pieces.selective import Refresh, Rescale


@configured
def rat_su(
    *,
    epsilon: float = 1.0,
    epsilon_relative: bool = False,
    epsilon_warmup: float = 0.0,
    norm: Norm = "example",
    submodels: int = 2,
    consistency_weight: float = 0.5,
    consistency: Consistency = "symmetric_kl",
    kl: bool = True,
    reduction: Reduction = "mean",
    epsilons: tuple[float, ...] | None = None,
    rates: tuple[float, ...] | None = None,
    split: int | None = None,
    scope: Scope = "all",
    score: Score = "rank",
    keep: Keep = "salient",
    alpha: float = 0.9,
    beta: float = 10.0,
    rescale: Rescale = True,
    refresh: Refresh = 1,
) -> Method:
    """R-AT whose gradient is updated selectively; `alpha` and `beta` are the selection's, as in `uegr`."""
    forward = objective(
        epsilon=epsilon,
        epsilon_relative=epsilon_relative,
        epsilon_warmup=epsilon_warmup,
        norm=norm,
        submodels=submodels,
        alpha=consistency_weight,
        consistency=consistency,
        kl=kl,
        reduction=reduction,
        epsilons=epsilons,
        rates=rates,
        split=split,
    )
    return selectively(forward, scope, score=score, keep=keep, alpha=alpha, beta=beta, rescale=rescale, refresh=refresh)
