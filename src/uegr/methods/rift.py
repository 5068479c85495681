"""RIFT: adversarial fine-tuning that keeps what the pretrained model knows, as far as a class label does not tell it.

Dong, Luu, Lin, Yan and Zhang, "How should pre-trained language models be fine-tuned towards adversarial robustness?",
NeurIPS 2021.

    L        = CE(x) + beta KL(P(x) || P(x^)) + alpha L_r-info                              eq. 9, 11; x^ as in `ascc`
    L_r-info = E_y[ mean over class y of -log( e^{f_y(s^_i, t_i)} / sum_j e^{f_y(s^_i, t_j)} ) - log N ]      eq. 10

s^ the model's feature of x^, t the frozen pretrained model's feature of x, f_y a cosine of projections by MLPs of the
class y, over the temperature. alpha 0.1, beta 10 (IMDB; 0.7 and 5 on SNLI), temperature 0.2; projections of 512 and 256
units as released. `conditional=False` is the ablation I(S;T); alpha = 0 is `ascc`. Deviations: a batch mixes classes,
each of which is contrasted within itself (algorithm 1 draws one class a step); the feature is the encoder's own summary
(BERT's pooler, as released) or, where there is none, the mean over tokens; the sum runs over t_j as printed, the
release's over s^_j. The projections are trained with the model and kept in the checkpoint beside it, never in the saved
model; the frozen copy keeps no gradient and is in neither. S + 4 forward (one of the frozen encoder) and S + 2 backward
passes.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from uegr.methods.ascc import ConvexHull
from uegr.methods.contract import Method, Terms, configured, task_loss
from uegr.pieces.anchors import check_fingerprint, fingerprint
from uegr.pieces.contrast import Projections
from uegr.pieces.embedding import Batch, unwrapped
from uegr.pieces.encoder import encoder, extended
from uegr.pieces.features import FrozenEncoder, features, passenger, probe
from uegr.pieces.hull import Hull, combined
from uegr.pieces.perturbation import check_amount

HEADS = "rift_heads"


class InformativeHull(ConvexHull):
    """ASCC's passes, and InfoNCE between the adversarial features and the frozen model's clean ones."""

    keeps_weights: ClassVar[bool] = False
    batchwise: ClassVar[str] = "an example is contrasted with the others of its micro-batch"

    def __init__(
        self, alpha: float, conditional: bool, temperature: float, projection: tuple[int, int], **options: Any
    ) -> None:
        self.alpha = check_amount("alpha", alpha)
        super().__init__(**options)
        if not temperature > 0 or len(projection) != 2 or min(projection) < 1:
            raise ValueError(f"expected temperature > 0 and two sizes, got {temperature} and {projection}")
        self.conditional, self.temperature, self.projection = conditional, temperature, projection
        self.frozen: FrozenEncoder | None = None
        self.heads: Projections | None = None
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
        if not self.alpha:
            return
        inner: Any = unwrapped(model)
        weight = next(encoder(model).parameters())
        with torch.random.fork_rng(devices=[]):  # the run's own seed, and no number less for the rest of it
            classes = inner.config.num_labels if self.conditional else 1
            heads = Projections(classes, probe(model)[0], *self.projection, self.temperature)
        self.heads = heads.to(device=weight.device, dtype=weight.dtype)
        passenger(inner, HEADS, self.heads)
        self.frozen = FrozenEncoder(model)

    def terms(self, model: nn.Module, batch: Batch, hull: Hull, weights: Tensor) -> Terms:
        """Eq. 11."""
        if not self.alpha:
            return super().terms(model, batch, hull, weights)
        with self.teacher().beside(model, batch) as clean:
            output = model(**batch)
        contrast = extended(model, "contrast", lambda: self.contrast(moved[-1], clean[-1], batch))
        with combined(model, hull, weights, batch), features(model, batch) as moved, contrast:
            adversarial = model(**batch)
        terms = {"task": task_loss(output), "information": self.alpha * adversarial["contrast"]}
        return terms | ({"adversarial": self.apart(model, batch, output, adversarial)} if self.beta else {})

    def teacher(self) -> FrozenEncoder:
        """The frozen encoder."""
        if self.frozen is None:
            raise ValueError(
                "expected the frozen pretrained model, got none; call method.objective.prepare(model, batches) before "
                "the optimizer is made"
            )
        return self.frozen

    def contrast(self, moved: Tensor, clean: Tensor, batch: Batch) -> Tensor:
        """L_r-info."""
        labels = batch["labels"] if self.conditional else torch.zeros(len(moved), device=moved.device)
        assert self.heads is not None
        value: Tensor = self.heads(moved, clean, labels)
        return value

    def state_dict(self) -> dict[str, Tensor]:
        if self.heads is None or self.frozen is None:
            return {}
        sums = {"frozen": fingerprint(self.frozen.module.parameters())}
        return sums | {f"heads.{key}": value for key, value in self.heads.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        if self.heads is not None and self.frozen is not None and state:
            check_fingerprint(fingerprint(self.frozen.module.parameters()), state["frozen"])
            heads = {k.removeprefix("heads."): v for k, v in state.items() if k.startswith("heads.")}
            self.heads.load_state_dict(heads)


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
    return Method(InformativeHull(**locals()))
