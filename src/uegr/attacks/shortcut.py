"""Skip what no logit of BERT and similar models depends on, and what is already known; logits stay equal to rounding.

The heads read only the first token's last state, so that in the last layer only the first token needs a query. With one
query q the scores q'(W_k x_j) are (W_k'q)'x_j, where the key's bias adds the same to each and falls out of the softmax,
and the answer is W_v (sum_j a_j x_j) + b_v: no token's key or value is computed, and only one row per text is left.

The input of the first layer depends on a token and its position. The variants of a sentence share nearly all of these
pairs, and each pair is projected to query, key and value once.

Six layers take 72 d^2 products per token; the first shortcut leaves 60 of them, both leave 57.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

READS_FIRST_TOKEN = (  # by exact class: a subclass may read more
    "BertForSequenceClassification",
    "ElectraForSequenceClassification",
    "RobertaForSequenceClassification",
    "XLMRobertaForSequenceClassification",
)
ATTENTION = re.compile(r"encoder\.layer\.\d+\.attention$")


@contextmanager
def shortened(model: Any) -> Iterator[None]:
    """Inside, a known classifier computes less for the same logits; any other is not changed."""
    known = type(model).__name__ in READS_FIRST_TOKEN and type(model).__module__.startswith("transformers.")
    layers = [module for name, module in model.named_modules() if ATTENTION.search(name)] if known else []
    with ExitStack() as undo:
        if layers and not model.config.is_decoder:
            undo.callback(layers[-1].output.register_forward_pre_hook(first_row).remove)
            if plain(layers[-1].self):
                undo.enter_context(replaced_forward(layers[-1].self, first_asks(layers[-1].self)))
            if plain(layers[0].self) and len(layers) > 1:
                undo.enter_context(projected_once(model, layers[0].self))
        yield


def plain(attention: Any) -> bool:
    """Whether its projections are plain products with their weights: no adapter, no mixed weights."""
    return all(type(module) is nn.Linear for module in (attention.query, attention.key, attention.value))


def first_row(module: Any, states: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """(B, T, d) -> (B, 1, d), of the attention's result and of what is added to it."""
    return tuple(state[:, :1] for state in states)


@contextmanager
def replaced_forward(module: Any, forward: Callable[..., Any]) -> Iterator[None]:
    """Inside, the module runs `forward`."""
    module.forward = forward
    try:
        yield
    finally:
        del module.forward


def first_asks(attention: Any) -> Callable[..., tuple[Tensor, None]]:
    """An attention's forward with a query of the first token only: (B, T, d) -> (B, 1, d)."""
    heads = (attention.num_attention_heads, attention.attention_head_size)
    usual = type(attention).forward

    def forward(states: Tensor, attention_mask: Tensor | None = None, **others: Any) -> tuple[Tensor, None]:
        if attention_mask is not None and not readable(attention_mask):
            return usual(attention, states, attention_mask, **others)  # type: ignore[no-any-return]
        query = attention.query(states[:, 0]).unflatten(-1, heads)  # (B, h, e)
        asked = torch.einsum("bhe,hed->bhd", query, attention.key.weight.unflatten(0, heads))
        scores = masked(asked @ states.mT * attention.scaling, attention_mask)  # (B, h, T)
        mixed = scores.softmax(-1) @ states  # (B, h, d)
        answer = torch.einsum("bhd,hed->bhe", mixed, attention.value.weight.unflatten(0, heads))
        return (answer.flatten(1) + attention.value.bias).unsqueeze(1), None

    return forward


def readable(mask: Tensor) -> bool:
    """(B, 1, T or 1, T), added to the scores, or true where a token may attend and no first token is without one."""
    return mask.dim() == 4 and (mask.dtype != torch.bool or bool(mask[:, :, 0].any(-1).all()))


def masked(scores: Tensor, mask: Tensor | None) -> Tensor:
    """The first token's scores (B, h, T) under the mask's first row."""
    if mask is None:
        return scores
    row = mask[:, :, 0]
    return scores.masked_fill(~row, float("-inf")) if row.dtype == torch.bool else scores + row


@contextmanager
def projected_once(model: Any, attention: Any) -> Iterator[None]:
    """Inside, the first layer projects each pair of token and position once."""
    seen = Pairs(model.config.pad_token_id, model.config.type_vocab_size)
    with ExitStack() as undo:
        undo.callback(model.register_forward_pre_hook(seen.note, with_kwargs=True).remove)
        for module in (attention.query, attention.key, attention.value):
            undo.callback(module.register_forward_pre_hook(seen.once).remove)
            undo.callback(module.register_forward_hook(seen.spread).remove)
        yield


class Pairs:
    """Which rows of a batch are the same token at the same position."""

    def __init__(self, padding: int | None, types: int) -> None:
        self.padding, self.types = -1 if padding is None else padding, types
        self.shape: tuple[int, ...] | None = None  # None: nothing is known about this batch

    def note(self, model: Any, inputs: tuple[Any, ...], named: dict[str, Any]) -> None:
        """Number the pairs. RoBERTa's positions count tokens that are not padding, BERT's count all."""
        if inputs or not {"input_ids"} <= set(named) <= {"input_ids", "token_type_ids", "attention_mask"}:
            self.shape = None
            return
        ids = named["input_ids"]
        width = ids.shape[1] + 1
        key = (ids * width + torch.arange(ids.shape[1], device=ids.device)) * width
        key = (key + (ids != self.padding).cumsum(1)) * self.types + named.get("token_type_ids", 0)
        pairs, self.places = key.flatten().unique(return_inverse=True)
        rows = torch.arange(ids.numel(), device=ids.device)
        self.rows = rows.new_empty(len(pairs)).scatter_(0, self.places, rows)  # any row of each pair
        self.shape = tuple(ids.shape)

    def once(self, module: Any, inputs: tuple[Tensor]) -> tuple[Tensor] | None:
        """(B, T, d) -> (pairs, d)."""
        return None if self.shape is None else (inputs[0].flatten(0, 1)[self.rows],)

    def spread(self, module: Any, inputs: tuple[Tensor], output: Tensor) -> Tensor | None:
        """(pairs, d) -> (B, T, d)."""
        return None if self.shape is None else output[self.places].unflatten(0, self.shape)
