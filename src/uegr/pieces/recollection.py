"""What a pretrained encoder knew, and how much of it the trained one keeps (RIFT).

A frozen copy of the encoder gives the clean features; projections, trained with the model, compare them with the
adversarial ones by InfoNCE (contrast.py). The projections travel with the model while it trains and are kept in the
checkpoint beside it, never in the saved model; the frozen copy keeps no gradient and is in neither, only its sums.
"""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from uegr.pieces.anchors import check_fingerprint, fingerprint
from uegr.pieces.contrast import Projections
from uegr.pieces.embedding import unwrapped
from uegr.pieces.encoder import encoder
from uegr.pieces.features import FrozenEncoder, passenger, probe


class Recollection:
    """A frozen copy of a model's encoder, and projections for every class; both made by `prepare`.

    `name` is the projections' place in the model.
    """

    def __init__(self, projection: tuple[int, int], temperature: float, name: str) -> None:
        if not temperature > 0 or len(projection) != 2 or min(projection) < 1:
            raise ValueError(f"expected temperature > 0 and two sizes, got {temperature} and {projection}")
        self.projection, self.temperature, self.name = projection, temperature, name
        self.made: tuple[FrozenEncoder, Projections] | None = None

    def prepare(self, model: nn.Module, classes: int) -> None:
        """Copy the encoder as it is now, and draw the projections."""
        weight = next(encoder(model).parameters())
        with torch.random.fork_rng(devices=[]):  # the run's own seed, and no number less for the rest of it
            heads = Projections(classes, probe(model)[0], *self.projection, self.temperature)
        heads = heads.to(device=weight.device, dtype=weight.dtype)
        passenger(unwrapped(model), self.name, heads)
        self.made = FrozenEncoder(model), heads

    def parts(self) -> tuple[FrozenEncoder, Projections]:
        """What `prepare` made; an error before it was called."""
        if self.made is None:
            raise ValueError(
                "expected the frozen pretrained model, got none; call method.objective.prepare(model, batches) before "
                "the optimizer is made"
            )
        return self.made

    @property
    def frozen(self) -> FrozenEncoder:
        """The copy."""
        return self.parts()[0]

    @property
    def heads(self) -> Projections:
        """The projections."""
        return self.parts()[1]

    def lost(self, moved: Tensor, clean: Tensor, labels: Tensor) -> Tensor:
        """RIFT's eq. 10 on the features of one batch."""
        value: Tensor = self.heads(moved, clean, labels)
        return value

    def state_dict(self) -> dict[str, Tensor]:
        """The projections, and the sums of the frozen weights."""
        if self.made is None:
            return {}
        sums = {"frozen": fingerprint(self.frozen.module.parameters())}
        return sums | {f"heads.{key}": value for key, value in self.heads.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Undo `state_dict`; another pretrained model is refused."""
        if self.made is None or not state:
            return
        check_fingerprint(fingerprint(self.frozen.module.parameters()), state["frozen"])
        self.heads.load_state_dict({k.removeprefix("heads."): v for k, v in state.items() if k.startswith("heads.")})
