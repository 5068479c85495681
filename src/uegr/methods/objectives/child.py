"""A clean pass, and an edit of the gradient that sees only the encoder's stacked layers: Child-Tuning, RoAST."""

from collections.abc import Iterator, Mapping

from torch import Tensor, nn

from uegr.methods.contract import GradientEdit, Objective, Terms, task_loss
from uegr.pieces.embedding import Batch, unwrapped
from uegr.pieces.encoder import layer_names
from uegr.pieces.schedule import Moment
from uegr.pieces.selective import Parameters


class OnLayers:
    """An edit of the gradient that sees the encoder's stacked layers only."""

    def __init__(self, inner: GradientEdit) -> None:
        self.inner, self.names = inner, frozenset[str]()
        self.needs_optimizer = inner.needs_optimizer

    def look(self, model: nn.Module) -> None:
        """Find the layers of the model whose gradients will come."""
        self.names = frozenset(layer_names(model))
        if not self.names:
            name = type(unwrapped(model)).__name__
            raise ValueError(f"expected trainable layers in the encoder, got {name} with none; unfreeze some")

    def edit(self, parameters: Parameters, moment: Moment) -> None:
        self.inner.edit({name: p for name, p in parameters.items() if name in self.names}, moment)

    def after(self, parameters: Parameters) -> None:
        self.inner.after({name: p for name, p in parameters.items() if name in self.names})

    def state_dict(self) -> dict[str, Tensor]:
        return self.inner.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.inner.load_state_dict(state)


class ChildTask(Objective):
    """One clean pass; tells the edit which weights are the encoder's layers."""

    def __init__(self, layers: OnLayers) -> None:
        self.layers = layers

    def check(self, model: nn.Module) -> None:
        self.layers.look(model)

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        self.layers.look(model)
        yield {"task": task_loss(model(**batch))}


def check_share(p: float) -> float:
    """The child's share of the weights, if it is one."""
    if not 0 < p <= 1:
        raise ValueError(f"expected 0 < p <= 1, got {p}")
    return p
