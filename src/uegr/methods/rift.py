"""RIFT: adversarial fine-tuning that keeps what the pretrained model knows, as far as a class label does not tell it.

Dong et al., "How should pre-trained language models be fine-tuned towards adversarial robustness?", NeurIPS 2021.

    L        = CE(x) + beta KL(P(x) || P(x^)) + alpha L_r-info                              eq. 9, 11; x^ as in `ascc`
    L_r-info = E_y[ mean over class y of -log( e^{f_y(s^_i, t_i)} / sum_j e^{f_y(s^_i, t_j)} ) - log N ]      eq. 10

s^ the model's feature of x^, t the frozen pretrained model's feature of x, f_y a cosine of projections by MLPs of the
class y, over the temperature. alpha 0.1, beta 10 (IMDB; 0.7 and 5 on SNLI), temperature 0.2; projections of 512 and 256
units as released. `conditional=False` is the ablation I(S;T); alpha = 0 is `ascc`. Deviations: each class of a batch is
contrasted within itself (algorithm 1 draws one class a step); the feature is the encoder's own summary (BERT's pooler,
as released) or else the mean over tokens; the sum runs over t_j as printed, the release's over s^_j. See
pieces/recollection.py. S + 4 forward (one of the frozen encoder) and S + 2 backward passes.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from uegr.methods.contract import Method, Terms, configured, task_loss
from uegr.methods.objectives.hull import ConvexHull
from uegr.pieces.checks import check_amount
from uegr.pieces.embedding import Batch, unwrapped
from uegr.pieces.encoder import extended
from uegr.pieces.features import features, probe
from uegr.pieces.hull import Hull, combined
from uegr.pieces.recollection import Recollection


class InformativeHull(ConvexHull):
    """ASCC's passes, and InfoNCE between the adversarial features and the frozen model's clean ones."""

    keeps_weights: ClassVar[bool] = False
    batchwise: str = "an example is contrasted with the others of its micro-batch"

    def __init__(self, alpha: float, conditional: bool, memory: Recollection, **options: Any) -> None:
        self.alpha = check_amount("alpha", alpha)
        super().__init__(**options)
        self.conditional, self.memory = conditional, memory
        if alpha:
            self.passes = (self.steps + 4, self.steps + 2)

    @property
    def attacks(self) -> bool:
        return self.beta > 0 or self.alpha > 0

    def check(self, model: nn.Module) -> None:
        super().check(model)
        inner: Any = unwrapped(model)
        one_class = inner.config.problem_type in (None, "single_label_classification") and inner.config.num_labels > 1
        if self.alpha and self.conditional and not (one_class and probe(model)[1] == 2):
            raise ValueError(
                f"expected one class an example to contrast within, got {type(inner).__name__} with "
                f"{inner.config.num_labels} outputs; say conditional=False, or choose ascc"
            )

    def prepare(self, model: nn.Module, batches: Iterable[Batch]) -> None:
        if self.alpha:
            inner: Any = unwrapped(model)
            self.memory.prepare(model, inner.config.num_labels if self.conditional else 1)

    def terms(self, model: nn.Module, batch: Batch, hull: Hull, weights: Tensor) -> Terms:
        """Eq. 11."""
        if not self.alpha:
            return super().terms(model, batch, hull, weights)
        labels = batch["labels"] if self.conditional else torch.zeros_like(batch["input_ids"][:, 0])
        with self.memory.frozen.beside(model, batch) as clean:
            output = model(**batch)
        contrast = extended(model, "contrast", lambda: self.memory.lost(moved[-1], clean[-1], labels))
        with combined(model, hull, weights, batch), features(model, batch) as moved, contrast:
            adversarial = model(**batch)
        terms = {"task": task_loss(output), "information": self.alpha * adversarial["contrast"]}
        return terms | ({"adversarial": self.apart(model, batch, output, adversarial)} if self.beta else {})

    def state_dict(self) -> dict[str, Tensor]:
        return self.memory.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.memory.load_state_dict(state)


@configured
def rift(
    *,
    alpha: float = 0.1,
    beta: float = 10.0,
    conditional: bool = True,
    temperature: float = 0.2,
    projection: tuple[int, int] = (512, 256),
    steps: int = 10,
    step_size: float = 1.0,
    sparsity: float = 15 / (300 * 128),
    substitutes: str = "default",
    limit: int = 8,
) -> Method:
    """ASCC that keeps the pretrained model's information (RIFT)."""
    hull = {name: value for name, value in locals().items() if name not in ("temperature", "projection")}
    return Method(InformativeHull(memory=Recollection(projection, temperature, "rift_heads"), **hull))
