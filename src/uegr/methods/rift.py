"""RIFT: adversarial fine-tuning that keeps what the pretrained model knows, as far as a class label does not tell it.

Dong et al., "How should pre-trained language models be fine-tuned towards adversarial robustness?", NeurIPS 2021.

    L        = CE(x) + beta KL(P(x) || P(x^)) + alpha L_r-info                              eq. 9, 11; x^ as in `ascc`
    L_r-info = E_y[ mean over class y of -log( e^{f_y(s^_i, t_i)} / sum_j e^{f_y(s^_i, t_j)} ) - log N ]      eq. 10

s^ the model's feature of x^, t the frozen pretrained model's feature of x, f_y a cosine of projections by MLPs of the
class y, over the temperature. alpha 0.1, beta 10 (IMDB; 0.7 and 5 on SNLI), temperature 0.2; projections of 512 and 256
units as released. `conditional=False` is the ablation I(S;T); alpha = 0 is `ascc`. `attack=False` is informative
fine-tuning (section 2.3): L = CE(x) + alpha L_info with the feature s of the clean x in place of s^. Neither beta nor
steps nor substitutes are then used, and a step is 2 forward (one of the frozen encoder) and 1 backward pass.

Deviations: each class of a batch is contrasted within itself (algorithm 1 draws one class per step); the feature is the
encoder's own summary (BERT's pooler, as released) or else the mean over tokens; the sum runs over t_j as printed, the
release's over s^_j. `side` is as in `ascc`. See pieces/recollection.py. S + 4 forward (one of the frozen encoder) and
S + 2 backward passes.
"""

from uegr.methods.contract import Method, configured
from uegr.methods.objectives.information import InformativeHull
from uegr.pieces.recollection import Recollection
from uegr.pieces.sides import Side


@configured
def rift(
    *,
    alpha: float = 0.1,
    beta: float = 10.0,
    conditional: bool = True,
    attack: bool = True,
    temperature: float = 0.2,
    projection: tuple[int, int] = (512, 256),
    steps: int = 10,
    step_size: float = 1.0,
    sparsity: float = 15 / (300 * 128),
    substitutes: str = "default",
    limit: int = 8,
    side: Side | None = None,
) -> Method:
    """ASCC that keeps the pretrained model's information (RIFT)."""
    hull = {name: value for name, value in locals().items() if name not in ("temperature", "projection")}
    return Method(InformativeHull(memory=Recollection(projection, temperature, "rift_heads"), **hull))
