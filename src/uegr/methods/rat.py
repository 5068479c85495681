"""R-AT: sub-models drawn by dropout must agree on the same adversarial example.

Ni, Li and Kao, "R-AT: Regularized adversarial training for natural language understanding", Findings of EMNLP 2022.

    L = CE(x) + (1/K) sum_k CE_k(x + delta) + alpha * mean over pairs of KL_sym(P_l, P_k)       eq. 9; eq. 10 for K = 3
    delta = epsilon g / ||g||_2,  g = dCE(x)/dx                                                 eq. 5

Sources of epsilon and alpha, which disagree: the released code's defaults are epsilon 1 and alpha 0.5, with one norm
over the embedding matrix (`norm="matrix"`) and a summed KL (`reduction="sum"`, so that alpha acts B times stronger);
table 7 (GLUE, pretrained) has epsilon 0.1-0.15 and alpha 0.5-0.8, task by task; appendix B finds epsilon 3-9 best for
models trained from scratch. The defaults here are the release's two numbers and K 2, with this package's own norm and a
mean: name your source in a comparison.

`consistency` is table 8, `kl=False` the "w/o KL" row of table 3, `rates` figure 3, `epsilons` figure 5, `submodels`
table 4 (alpha/3 on three pairs is alpha times their mean). Deviations: the clean backward runs once (the released code
runs it twice, 3 forward and 4 backward passes). `split` is ours (objectives/submodels.py): the pieces of the batch in
which the K passes run, with the same gradient. `epsilon_relative` is as in `fgm`.
"""

from collections.abc import Sequence

from uegr.methods.contract import Method, configured
from uegr.methods.fgm import Attack
from uegr.methods.objectives.submodels import Consistency, RegularizedAdversarial, check_count, check_rates
from uegr.pieces.divergence import Reduction
from uegr.pieces.dropout import AdaptiveDropout
from uegr.pieces.perturbation import Norm


def objective(
    *,
    epsilon: float,
    epsilon_relative: bool,
    epsilon_warmup: float,
    norm: str,
    submodels: int,
    alpha: float,
    consistency: str,
    kl: bool,
    reduction: Reduction,
    epsilons: Sequence[float] | None,
    rates: Sequence[float] | None,
    split: int | None,
) -> RegularizedAdversarial:
    """R-AT's objective from its options; `rat_su` shares it."""
    check_count("epsilons", epsilons, submodels)
    check_rates(rates, submodels)
    return RegularizedAdversarial(
        Attack(epsilon, epsilon_warmup, norm, epsilon_relative),
        submodels=submodels,
        divergence=consistency,
        weight=alpha if kl else 0.0,
        reduction=reduction,
        pairs="mean",
        dropout=None if rates is None else AdaptiveDropout(rates, spread=0.0),
        epsilons=epsilons,
        split=split,
    )


@configured
def rat(
    *,
    epsilon: float = 1.0,
    epsilon_relative: bool = False,
    epsilon_warmup: float = 0.0,
    norm: Norm = "example",
    submodels: int = 2,
    alpha: float = 0.5,
    consistency: Consistency = "symmetric_kl",
    kl: bool = True,
    reduction: Reduction = "mean",
    epsilons: tuple[float, ...] | None = None,
    rates: tuple[float, ...] | None = None,
    split: int | None = None,
) -> Method:
    """Adversarial training whose sub-models agree (R-AT)."""
    return Method(objective(**locals()))
