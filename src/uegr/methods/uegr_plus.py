"""UEGR whose sub-models see different adversaries and are pulled to the clean prediction.

This package's own variant of UEGR (Sun et al., arXiv 2503.16550). It borrows the pull to the clean prediction from
TRADES (Zhang et al., ICML 2019), the worst synonyms from HotFlip (Ebrahimi et al., ACL 2018) and A2T (Yoo and Qi,
Findings of EMNLP 2021), and the perturbed layer from SMAAT (Altinisik et al., ICML 2025).

    L     = CE(x) + (a/K) sum_k CE_k(x_k) + (d/K) sum_k D(P(x), P_k(x_k))             P(x) without gradient
    x_k   = x + delta,  delta = epsilon g / ||g||_2,  g = dCE(x)/dx                   adversary="ball"
    x_k   = x with its worst synonyms, gain = g . (E[s] - E[x])                       adversary="words"
    x_k   = x with its worst synonyms, + delta                                        adversary="joint"
    x_k   = one of the first two, the other one at the next step                      adversary="turns"
    theta <- theta - eta m * grad / p,  m ~ Bernoulli(p(theta))                       as in `uegr`

Every sub-model, drawn by adaptive dropout as in `uegr`, answers an adversarial input, and is pulled to what the model
answers to the clean one. The clean pass gives the prediction and both adversaries, so that a step has UEGR's passes.

Options: a is `adversarial_weight`, d is `divergence_weight`; `adversarial_weight=0` is TRADES with one step.
`divergence_to="submodels"` pulls the sub-models to each other, as in `uegr`. With `adversary="both"` they see the ball
and the synonyms alternately, with `"joint"` each sees both in one text; with `"turns"` and `submodels=1`, one example
sees the ball, another one the synonyms, and a step has the passes of `fgm`. The synonyms replace the worst share
`words` of a text's words (`side` and `substitutes` are as in `ascc`). `epsilon_relative` is as in `fgm`,
`epsilon_warmup` as in `uegr`. `depth=0.5` perturbs what enters the middle of the encoder and runs the layers below it
once: 2.0 times the cost of vanilla with K = 2, for encoders like BERT; give it `epsilon_relative=True`. `every=2`
leaves the adversarial passes out of every second step.

Deviations: TRADES lets the gradient also through the clean prediction and leaves the adversarial CE out; SMAAT chooses
its layer by the dimension of its data, and takes several steps. Words of several pieces are not replaced.
"""

from uegr.methods.contract import Method, configured
from uegr.methods.fgm import Attack
from uegr.methods.objectives.adversaries import Adversaries, Adversary, Target
from uegr.methods.objectives.selection import Scope, selectively
from uegr.methods.objectives.submodels import Consistency, adaptive_dropout
from uegr.pieces.perturbation import Norm
from uegr.pieces.selective import Refresh, Rescale
from uegr.pieces.sides import Side


@configured
def uegr_plus(
    *,
    epsilon: float = 0.1,
    epsilon_relative: bool = False,
    epsilon_warmup: float = 0.0,
    norm: Norm = "example",
    submodels: int = 2,
    adversary: Adversary = "ball",
    words: float = 0.25,
    substitutes: str = "default",
    limit: int = 8,
    side: Side | None = None,
    depth: float = 0.0,
    rates: tuple[float, ...] | None = None,
    spread: float | None = None,
    adversarial_weight: float = 1.0,
    divergence: Consistency = "kl",
    divergence_to: Target = "clean",
    divergence_weight: float = 1.0,
    every: int = 1,
    selective_update: bool = True,
    scope: Scope = "all",
    alpha: float = 0.9,
    beta: float = 10.0,
    rescale: Rescale = True,
    refresh: Refresh = 1,
    split: int | None = None,
) -> Method:
    """UEGR with other adversaries, whose sub-models agree with the clean prediction."""
    forward = Adversaries(
        Attack(epsilon, epsilon_warmup, norm, epsilon_relative),
        submodels=submodels,
        adversary=adversary,
        words=words,
        depth=depth,
        adversarial_weight=adversarial_weight,
        divergence=divergence,
        divergence_to=divergence_to,
        divergence_weight=divergence_weight,
        dropout=adaptive_dropout(rates, spread, submodels),
        every=every,
        split=split,
    )
    forward.configure_words(substitutes, limit, side)
    selection = {"alpha": alpha, "beta": beta, "rescale": rescale, "refresh": refresh}
    selected = selectively(forward, scope, score="rank", keep="salient", **selection)
    return selected if selective_update else Method(forward)
