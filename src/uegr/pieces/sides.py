"""Which of the two texts of a pair a token belongs to.

Token types tell it where they are more than zeros: 1 is the second text (BERT, XLNet). Else the separator does, which
stands between the two texts and mostly after them too (RoBERTa, DistilBERT, ModernBERT, models trained from scratch):
what comes after the first separator of a row is the second text. A batch in which nothing does has single texts.
"""

from typing import Literal, get_args

import torch
from torch import Tensor

from uegr.pieces.embedding import Batch, token_mask

Side = Literal["second", "first", "both"]


def check_side(side: str) -> Side:
    """The side's name, checked."""
    for known in get_args(Side):
        if side == known:
            return known  # type: ignore[no-any-return]
    raise ValueError(f"expected side to be one of {', '.join(get_args(Side))}, got {side!r}")


def on_side(batch: Batch, side: Side, separator: int | None) -> Tensor:
    """Where the tokens of that side are, bools (examples, tokens); everywhere for single texts.

    >>> pair = {"input_ids": torch.tensor([[2, 7, 3, 8, 9, 3]])}
    >>> on_side(pair, "second", separator=3).int().tolist()
    [[0, 0, 0, 1, 1, 0]]
    >>> on_side({"input_ids": torch.tensor([[2, 7, 3]])}, "second", separator=3).all().item()
    True
    """
    everywhere = torch.ones_like(batch["input_ids"], dtype=torch.bool)
    if side == "both":
        return everywhere
    second = second_text(batch, separator)
    if not second.any():
        return everywhere
    return second if side == "second" else ~second


def second_text(batch: Batch, separator: int | None) -> Tensor:
    """Where the tokens of the second text are, (examples, tokens)."""
    types: Tensor | None = batch.get("token_type_ids")
    if types is not None and bool((types > 0).any()):
        return types == 1  # XLNet gives 2 to its last token and 3 to padding
    if separator is None:
        raise ValueError(
            "expected token types or a separator between the two texts of a pair, got neither; use side='both' if the "
            "rows are single texts, or if both texts may change"
        )
    ends: Tensor = batch["input_ids"] == separator
    return (ends.cumsum(1) > 0) & ~ends & token_mask(batch).bool()
