"""Adversarial training with Mixout: RIFT's baseline "Adv-Mixout".

Lee, Cho and Kang, "Mixout", ICLR 2020; Dong et al., RIFT, NeurIPS 2021, section 3.2 (iv).

    L = CE(x; w') + beta KL(P(x; w') || P(x^; w')),    w' the mixture of `mixout`, x^ as in `ascc` at w

p 0.6 is RIFT's; p = 0 is `ascc`. One mixture per step for both passes ("at each iteration each parameter is replaced":
`unit="weight"`; the default `"neuron"` is Mixout's own, see `mixout`). x^ is found at the trained weights themselves,
as released, where mixing ends outside training. Passes as in `ascc`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from torch import Tensor, nn

from uegr.methods.contract import Method, Terms, configured
from uegr.methods.mixout import Mixture, Weights
from uegr.methods.objectives.hull import ConvexHull
from uegr.pieces.anchors import Unit
from uegr.pieces.embedding import Batch
from uegr.pieces.sides import Side


class MixedHull(ConvexHull):
    """ASCC's passes through a mixture of trained and pretrained weights."""

    keeps_weights: bool = False
    extra: ClassVar[str] = "drawing the mixture, and its backward"
    batchwise: str = "each micro-batch draws a mixture of its own"

    def __init__(self, mixture: Mixture, **options: Any) -> None:
        super().__init__(**options)
        self.mixture = mixture

    def prepare(self, model: nn.Module, batches: Iterable[Batch]) -> None:
        self.mixture.keep(model)

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        attack = self.attacked(model, batch) if self.attacks else None
        with self.mixture.applied(model):
            yield self.terms(model, batch, *attack) if attack else self.clean(model, batch)

    def state_dict(self) -> dict[str, Tensor]:
        return self.mixture.anchors.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.mixture.anchors.load_state_dict(state)


@configured
def adv_mixout(
    *,
    p: float = 0.6,
    weights: Weights = "matrices",
    unit: Unit = "neuron",
    beta: float = 10.0,
    steps: int = 10,
    step_size: float = 1.0,
    sparsity: float = 15 / (300 * 128),
    substitutes: str = "default",
    limit: int = 8,
    side: Side | None = None,
) -> Method:
    """ASCC through a mixture with the pretrained weights (Adv-Mixout)."""
    hull = {"beta": beta, "steps": steps, "step_size": step_size, "sparsity": sparsity}
    return Method(MixedHull(Mixture(p, weights, unit), **hull, substitutes=substitutes, limit=limit, side=side))
