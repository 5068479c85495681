"""ASCC-defense, the adversarial baseline of RIFT ("Adv-Base"): predictions that no mixture of synonyms moves.

Dong, Luu, Ji and Liu, "Towards robustness against natural language word substitutions", ICLR 2021; as in Dong et al.,
"How should pre-trained language models be fine-tuned towards adversarial robustness?" (RIFT), NeurIPS 2021.

    L    = CE(x) + beta KL(P(x) || P(x^))                                                   RIFT eq. 2 and 9
    x^_t = sum_j w_tj E[substitute j of token t],  w = softmax(v)
    v    = argmax KL(P(x) || P(x^)) - sparsity sum_t H(w_t)                                 RIFT eq. 8

by `steps` steps of Adam. beta 10 (IMDB; 5 on SNLI); beta = 0 is vanilla. From the released code: 10 steps of size 1,
dropout off; sparsity 15/(300·128); the gradient of KL flows through both predictions and into the substitutes' vectors.
Deviations: v starts at 0 (released: nearly 0, at random); the word vectors are combined, not what positions and
normalisation make of them; pieces of longer words are left alone. Substitutes come from the surface that attacks use
(`substitutes`, at most `limit` per word). Of a pair only the `side` that the attacks change is moved, as released
(the hypothesis); all of a single text. None is the text that the data card names as changeable, for the attacks of a
run too; the second without a card. S + 3 forward and S + 2 backward passes, S of each for v alone.
"""

from uegr.methods.contract import Method, configured
from uegr.methods.objectives.hull import ConvexHull
from uegr.pieces.sides import Side


@configured
def ascc(
    *,
    beta: float = 10.0,
    steps: int = 10,
    step_size: float = 1.0,
    sparsity: float = 15 / (300 * 128),
    substitutes: str = "default",
    limit: int = 8,
    side: Side | None = None,
) -> Method:
    """Predictions that no mixture of synonyms moves (ASCC)."""
    return Method(ConvexHull(**locals()))
