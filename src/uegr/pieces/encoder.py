"""The parts of a classifier: its pretrained encoder, the encoder's layers and matrices; its mode; more outputs."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from uegr.pieces.embedding import embedding_layer, unwrapped


def encoder(model: nn.Module) -> nn.Module:
    """The pretrained part of a classifier, without its head; also inside the wrapper of PEFT."""
    inner, layer = unwrapped(model), embedding_layer(model)
    path = next((name for name, module in inner.named_modules() if module is layer), "").split(".")
    above = [inner.get_submodule(".".join(path[:depth])) for depth in range(len(path))] if path != [""] else [inner]
    owners = [module for module in above if callable(getattr(module, "get_input_embeddings", None))]
    innermost = owners[-1] if owners else inner
    part = getattr(innermost, "base_model", innermost)  # a bare encoder of transformers answers with itself
    return part if isinstance(part, nn.Module) else innermost


def encoder_names(model: nn.Module) -> list[str]:
    """The trainable weights of the encoder, by their name in the unwrapped model."""
    inside = {id(parameter) for parameter in encoder(model).parameters()}
    return [name for name, p in unwrapped(model).named_parameters() if p.requires_grad and id(p) in inside]


def layer_names(model: nn.Module) -> list[str]:
    """The trainable weights of the encoder's stacked layers: neither embeddings, pooler nor head.

    Child-Tuning and RoAST released `"layer" in name`; here it is whatever lies in a list of modules, which also finds
    GPT-2's `h`. An encoder without such a list gives all its weights but the embedding's.
    """
    part = encoder(model)
    stacks = [module for module in part.modules() if isinstance(module, nn.ModuleList)]
    inside = {id(parameter) for stack in stacks for parameter in stack.parameters()}
    if not stacks:
        embedded = {id(parameter) for parameter in embedding_layer(model).parameters()}
        inside = {id(parameter) for parameter in part.parameters()} - embedded
    return [name for name, p in unwrapped(model).named_parameters() if p.requires_grad and id(p) in inside]


def matrix_names(model: nn.Module) -> list[str]:
    """The encoder's trainable matrices that are not embeddings: what Lee 2020 mixes."""
    tables = [module for module in unwrapped(model).modules() if isinstance(module, nn.Embedding)]
    embedded = {id(parameter) for table in tables for parameter in table.parameters()}
    weights = dict(unwrapped(model).named_parameters())
    return [name for name in encoder_names(model) if weights[name].dim() > 1 and id(weights[name]) not in embedded]


@contextmanager
def in_mode(model: nn.Module, training: bool, *, leave: type[nn.Module] | tuple[()] = ()) -> Iterator[None]:
    """Inside, every module trains, or none does, but those of the kinds to `leave`; each gets its own mode back."""
    before = [(module, module.training) for module in unwrapped(model).modules() if not isinstance(module, leave)]
    try:
        for module, _ in before:
            module.training = training
        yield
    finally:
        for module, mode in before:
            module.training = mode


@contextmanager
def extended(model: nn.Module, name: str, term: Callable[[], Tensor]) -> Iterator[None]:
    """Inside, the model's output is a dict with one more entry, computed at the end of its forward.

    What a loss takes from weights, and not from the output, must be computed inside the forward: data parallelism looks
    there for the weights whose gradients it waits for.
    """

    def extend(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> dict[str, Any]:
        return {**output, name: term()}

    handle = unwrapped(model).register_forward_hook(extend)
    try:
        yield
    finally:
        handle.remove()


def is_from_scratch(model: nn.Module) -> bool:
    """Whether training starts from random weights: the mark that `uegr.models` sets; pretrained without a mark.

    >>> is_from_scratch(nn.Linear(2, 2))
    False
    """
    return bool(getattr(unwrapped(model), "from_scratch", False))
