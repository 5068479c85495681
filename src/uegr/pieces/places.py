"""Where a model keeps its parameters, and a forward with other tensors in their places."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from torch import Tensor, nn

from uegr.pieces.embedding import unwrapped


class Place(NamedTuple):
    """A parameter, and the module that has it under a name."""

    module: nn.Module
    name: str
    parameter: nn.Parameter


def places(model: nn.Module, wanted: Mapping[int, object]) -> list[Place]:
    """Every place of the parameters with these ids; a tied weight has several."""
    return [
        Place(module, name, parameter)
        for module in unwrapped(model).modules()
        for name, parameter in module._parameters.items()
        if parameter is not None and id(parameter) in wanted
    ]


@contextmanager
def substituted(model: nn.Module, values: Mapping[int, Tensor]) -> Iterator[None]:
    """Inside, the model computes with these tensors in place of its parameters, by the id of the parameter.

    The parameters themselves stay as they are. Open until the backward is done, since gradient checkpointing computes
    the forward again.

    >>> layer = nn.Linear(1, 1, bias=False)
    >>> with substituted(layer, {id(layer.weight): layer.weight * 0}):
    ...     layer(layer.weight.new_ones(1)).item()
    0.0
    """
    found = places(model, values)
    try:
        for module, name, parameter in found:
            module._parameters[name] = values[id(parameter)]  # type: ignore[assignment]
        yield
    finally:
        for module, name, parameter in found:
            setattr(module, name, parameter)  # by name, because recurrent layers also keep a list of their weights
