"""Adversarial training with pretrained weight decay: RIFT's baseline "Adv-PTWD".

Chelba and Acero 2006, Daume 2007 (pretrained weight decay); Dong et al., RIFT, NeurIPS 2021, section 3.2 (iii).

    L = CE(x) + beta KL(P(x) || P(x^)) + strength ||theta - theta*||_2

over the encoder's weights, x^ as in `ascc`. strength 0.01 (IMDB; 0.005 on SNLI) belongs to the norm as RIFT prints it
and its code computes it, not to its square: `distance="squared"` is strength/2 ||theta - theta*||^2 as in `wcons`.
Under the root stands 1e-10 more, as released, so that the first step has a gradient. strength = 0 is `ascc`. Passes as
in `ascc`.
"""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar, Literal

from torch import Tensor, nn

from uegr.methods.contract import Method, Terms, configured, task_loss
from uegr.methods.objectives.hull import ConvexHull
from uegr.pieces.anchors import Anchors
from uegr.pieces.checks import check_amount
from uegr.pieces.embedding import Batch
from uegr.pieces.encoder import encoder_names, extended
from uegr.pieces.hull import Hull, combined
from uegr.pieces.sides import Side

Distance = Literal["norm", "squared"]
UNDER_ROOT = 1e-10


class AnchoredHull(ConvexHull):
    """ASCC's passes, and the distance to where the encoder came from."""

    keeps_weights: bool = False
    extra: ClassVar[str] = "the distance of all weights, and its gradient"

    def __init__(self, strength: float, distance: Distance, **options: Any) -> None:
        super().__init__(**options)
        if distance not in ("norm", "squared"):
            raise ValueError(f"expected distance to be norm or squared, got {distance!r}")
        self.strength, self.distance = check_amount("strength", strength), distance
        self.anchors = Anchors()

    def prepare(self, model: nn.Module, batches: Iterable[Batch]) -> None:
        self.anchors.keep(model, encoder_names(model))

    def clean(self, model: nn.Module, batch: Batch) -> Terms:
        if not self.strength:
            return super().clean(model, batch)
        with self.measured(model):
            output = model(**batch)
        return {"task": task_loss(output), "penalty": self.penalty(output)}

    def terms(self, model: nn.Module, batch: Batch, hull: Hull, weights: Tensor) -> Terms:
        if not self.strength:
            return super().terms(model, batch, hull, weights)
        output = model(**batch)
        with combined(model, hull, weights, batch), self.measured(model):
            moved = model(**batch)
        apart = self.apart(model, batch, output, moved)
        return {"task": task_loss(output), "adversarial": apart, "penalty": self.penalty(moved)}

    def measured(self, model: nn.Module) -> AbstractContextManager[None]:
        """Inside, a forward also gives the squared distance."""
        return extended(model, "distance", lambda: self.anchors.squared_distance(model))

    def penalty(self, output: Any) -> Tensor:
        """The weighted distance."""
        square: Tensor = output["distance"]
        return self.strength * ((square + UNDER_ROOT).sqrt() if self.distance == "norm" else square / 2)

    def state_dict(self) -> dict[str, Tensor]:
        return self.anchors.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.anchors.load_state_dict(state)


@configured
def adv_ptwd(
    *,
    strength: float = 0.01,
    distance: Distance = "norm",
    beta: float = 10.0,
    steps: int = 10,
    step_size: float = 1.0,
    sparsity: float = 15 / (300 * 128),
    substitutes: str = "default",
    limit: int = 8,
    side: Side | None = None,
) -> Method:
    """ASCC that stays near the pretrained weights (Adv-PTWD)."""
    return Method(AnchoredHull(**locals()))
