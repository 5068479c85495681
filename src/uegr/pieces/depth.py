"""The lower layers of an encoder, run once for all passes of a step; the passes differ from a layer on.

A step then perturbs what enters that layer, h, in place of the word vectors (SMAAT, Altinisik et al. 2025). The clean
pass computes h and goes on from a detached leaf with h's value; its backward leaves dL/dh in the leaf and stops there.
Further passes start from the leaf; the last one starts from h itself, and what the others left in the leaf's gradient
is added where its backward reaches h. So every layer's gradient is that of the sum of all losses, and the backward of
the lower layers runs once.

The layers must be one `nn.ModuleList` of modules that take the states (examples, tokens, width) first and return them,
as in BERT: `check_depth` tries it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from uegr.pieces.embedding import Batch, unwrapped
from uegr.pieces.encoder import encoder, in_mode
from uegr.pieces.sites import another_forward, until_left


def stacked_layers(model: nn.Module) -> list[nn.Module]:
    """The layers of the encoder, from the lowest; empty where it has no or several lists of them."""
    stacks = [module for module in encoder(model).modules() if isinstance(module, nn.ModuleList)]
    return list(stacks[0]) if len(stacks) == 1 else []


def first_upper(layers: Sequence[nn.Module], depth: float) -> int:
    """The number of the layer that the perturbation enters: at least the share `depth` of the layers is below it.

    >>> [first_upper([nn.Identity()] * count, 0.5) for count in (2, 3, 12)]
    [1, 2, 6]
    """
    return math.ceil(depth * len(layers))


@contextmanager
def entered(layer: nn.Module, replace: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Inside, the layer sees other states than it is given."""

    def hook(module: nn.Module, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if inputs:
            return (replace(inputs[0]), *inputs[1:]), keywords
        return inputs, {**keywords, "hidden_states": replace(keywords["hidden_states"])}

    handle = layer.register_forward_pre_hook(hook, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


@contextmanager
def skipped(layers: Sequence[nn.Module]) -> Iterator[None]:
    """Inside, these layers return what they are given."""

    def given(*inputs: Any, **keywords: Any) -> Any:
        return inputs[0] if inputs else keywords["hidden_states"]

    with ExitStack() as changes:
        for layer in layers:
            changes.enter_context(another_forward(layer, given))
        yield


class SharedLayers:
    """The states that enter the first upper layer in one step, and the passes that start from them."""

    def __init__(self, model: nn.Module, depth: float) -> None:
        layers = stacked_layers(model)
        first = first_upper(layers, depth)
        self.lower, self.entrance = layers[:first], layers[first]
        if any(getattr(module, "gradient_checkpointing", False) for module in unwrapped(model).modules()):
            raise ValueError(f"expected no gradient checkpointing with depth={depth}, got it; switch it off")
        self.states: Tensor | None = None
        self.leaf = torch.empty(0)

    @contextmanager
    def started(self) -> Iterator[None]:
        """Inside, a forward computes the states, and its upper layers go on from the leaf."""

        def part(states: Tensor) -> Tensor:
            self.states, self.leaf = states, states.detach().requires_grad_()
            return self.leaf

        with entered(self.entrance, part):
            yield

    @contextmanager
    def resumed(self, move: Tensor, many: Batch, rows: slice, last: bool) -> Iterator[None]:
        """Inside, a forward over copies of the rows starts at the upper layers, from the states plus `move`.

        The backward of the last pass goes on into the lower layers, with the gradient of all passes.
        """
        assert self.states is not None
        origin = self.states if last else self.leaf
        moved = origin[rows].repeat(len(move) // len(origin[rows]), 1, 1) + move.to(origin.dtype)
        with ExitStack() as changes:
            if last and self.states.requires_grad:
                until_left(changes, self.states.register_hook(lambda gradient: gradient + self.leaf.grad))
            changes.enter_context(entered(self.entrance, lambda states: moved))
            changes.enter_context(skipped(self.lower))
            yield

    def vectors(self) -> Tensor:
        """What is moved."""
        return self.leaf.detach()


def check_depth(model: nn.Module, depth: float) -> int:
    """How many layers there are below that depth; refuses an encoder whose layers cannot be entered."""
    layers = stacked_layers(model)
    first = first_upper(layers, depth)
    if 0 < first < len(layers) and is_resumable(model, depth):
        return first
    raise ValueError(
        f"expected an encoder of two or more layers that run one after another, as in BERT, for depth={depth}, "
        f"got {type(unwrapped(model)).__name__} with {len(layers)}; use depth=0"
    )


@torch.no_grad()
def is_resumable(model: nn.Module, depth: float) -> bool:
    """Whether a text of three tokens gets the same prediction from the states that enter the upper layers."""
    inner = unwrapped(model)
    batch = {"input_ids": torch.full((1, 3), 2, device=next(inner.parameters()).device)}
    batch["attention_mask"] = torch.ones_like(batch["input_ids"])
    shared = SharedLayers(model, depth)
    with in_mode(model, training=False):
        with shared.started():
            whole = inner(**batch)["logits"]
        if shared.states is None or shared.states.shape[:2] != batch["input_ids"].shape:
            return False
        try:
            with shared.resumed(torch.zeros_like(shared.states), batch, slice(0, 1), last=True):
                return torch.equal(inner(**batch)["logits"], whole)
        except (TypeError, ValueError, IndexError, AttributeError, RuntimeError):
            return False  # its layers return something else than states
