"""What an encoder makes of a text: its features, those of a frozen copy, and modules that travel with the model."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from uegr.pieces.embedding import Batch, token_mask, unwrapped
from uegr.pieces.encoder import encoder, in_mode

Look = Callable[[tuple[Any, ...], dict[str, Any], Any], None]


@contextmanager
def observed(module: nn.Module, look: Look) -> Iterator[None]:
    """Inside, every forward of the module shows its arguments, its keywords and its output."""

    def show(module: nn.Module, inputs: tuple[Any, ...], keywords: dict[str, Any], output: Any) -> None:
        look(inputs, keywords, output)

    handle = module.register_forward_hook(show, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def pooled(output: Any, mask: Tensor) -> Tensor:
    """One vector a text from an encoder's output: its own summary if it has one, else the mean over tokens.

    `mask` (examples, tokens) is 1 for tokens.

    >>> states = torch.tensor([[[1.0, 0.0], [3.0, 0.0], [9.0, 9.0]]])
    >>> pooled((states, None), torch.tensor([[1, 1, 0]])).tolist()
    [[2.0, 0.0]]
    """
    summary = output[1] if len(output) > 1 else None
    if isinstance(summary, Tensor) and summary.dim() == 2:
        return summary
    states: Tensor = output[0]
    weights = mask.to(states.dtype).unsqueeze(-1)
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


@contextmanager
def features(model: nn.Module, batch: Batch) -> Iterator[list[Tensor]]:
    """Inside, every forward over the batch adds its texts' vectors (examples, width) to the list."""
    found: list[Tensor] = []
    mask = token_mask(batch)
    with observed(encoder(model), lambda inputs, keywords, output: found.append(pooled(output, mask))):
        yield found


def probe(model: nn.Module) -> tuple[int, int]:
    """How many numbers a text's vector has, and how many dimensions the logits, by a forward of two tokens."""
    ids = torch.full((1, 2), 2, device=next(encoder(model).parameters()).device)
    batch = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with features(model, batch) as found, in_mode(model, training=False), torch.no_grad():
        logits: Tensor = unwrapped(model)(**batch)["logits"]
    return found[0].shape[-1], logits.dim()


class FrozenEncoder:
    """A copy of the encoder as it is now, which keeps no gradient."""

    def __init__(self, model: nn.Module) -> None:
        self.module = copy.deepcopy(encoder(model)).eval().requires_grad_(False)

    @contextmanager
    def beside(self, model: nn.Module, batch: Batch) -> Iterator[list[Tensor]]:
        """Inside, every forward of the model, within its autocast, also adds the copy's vectors to the list."""
        found: list[Tensor] = []
        mask = token_mask(batch)

        def recall(inputs: tuple[Any, ...], keywords: dict[str, Any], output: Any) -> None:
            with torch.no_grad():
                found.append(pooled(self.module(*inputs, **keywords), mask))

        with observed(encoder(model), recall):
            yield found


def passenger(model: nn.Module, name: str, module: nn.Module) -> None:
    """Make `module` part of the model for optimizer, device and processes, but not for a saved or loaded state.

    A model that carries one is saved as if it did not, and loads a state that lacks it.
    """
    known = name in model._modules
    model.add_module(name, module)
    if not known:
        model.register_state_dict_post_hook(partial(_leave_out, f"{name}."))
        model.register_load_state_dict_post_hook(partial(_do_not_miss, f"{name}."))


def _leave_out(start: str, module: nn.Module, state: dict[str, Any], prefix: str, local_metadata: Any) -> None:
    for key in [key for key in state if key.startswith(prefix + start)]:
        del state[key]


def _do_not_miss(start: str, module: nn.Module, keys: Any) -> None:
    keys.missing_keys[:] = [key for key in keys.missing_keys if start not in key]
