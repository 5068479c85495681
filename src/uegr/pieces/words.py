"""A text with its worst synonyms, to first order: an adversarial text from the gradient of the clean pass alone.

    gain(t, s) = g_t . (E[s] - E[x_t]),   g = dL/dx            HotFlip (Ebrahimi et al. 2018); A2T (Yoo and Qi 2021)

Each word's substitute is the one with the largest gain. Of each text, the share of the words whose gains are largest is
replaced, as far as a gain is above 0. Words of several pieces count as words, but are left alone (pieces/hull.py).
"""

import torch
from torch import Tensor, nn

from uegr.pieces.embedding import Batch, embedding_layer, token_mask
from uegr.pieces.hull import Hull, Substitutes
from uegr.pieces.sides import Side, on_side


def worst_substitutes(model: nn.Module, gradient: Tensor, hull: Hull) -> tuple[Tensor, Tensor]:
    """The largest gain at each of the hull's n positions and the id of its substitute, both (n,).

    `gradient` is that of the embedded words, (examples, tokens, dimensions). The word itself gains 0.
    """
    corners = embedding_layer(model).forward(hull.ids)  # its forward, not the module: no hook
    slope = gradient[hull.slots >= 0].nan_to_num(0.0, 0.0, 0.0).unsqueeze(1)
    gains = ((corners - corners[:, :1]) * slope).sum(-1).masked_fill(~hull.mask, -torch.inf)
    best, place = gains.max(-1)
    return best, hull.ids.gather(1, place.unsqueeze(1)).squeeze(1)


def word_counts(batch: Batch, table: Substitutes, side: Side) -> Tensor:
    """How many words each text has on that side, (examples, 1): no punctuation, and each longer word once.

    A table that does not know the pieces of words counts tokens.
    """
    tokens = batch["input_ids"]
    starts = token_mask(batch).bool() & on_side(batch, side, table.separator)
    if table.goes_on is not None and table.open_ended is not None:
        starts &= table.open_ended[tokens]
        starts[:, 1:] &= ~(table.goes_on[tokens[:, 1:]] & table.open_ended[tokens[:, :-1]])
    return starts.sum(1, keepdim=True)


@torch.no_grad()
def with_worst_words(
    model: nn.Module, batch: Batch, gradient: Tensor, table: Substitutes, share: float, side: Side = "both"
) -> Tensor:
    """The batch's token ids with the worst share of each text's words replaced, (examples, tokens).

    >>> class Words(nn.Module):
    ...     def get_input_embeddings(self):
    ...         return nn.Embedding.from_pretrained(torch.tensor([[0.0], [1.0], [5.0], [-9.0]]))
    >>> ids = torch.tensor([[0, 0], [1, 2], [2, 2], [3, 1]])
    >>> table = Substitutes(ids, torch.tensor([[1, 0], [1, 1], [1, 0], [1, 1]]).bool())
    >>> batch = {"input_ids": torch.tensor([[1, 3]])}
    >>> with_worst_words(Words(), batch, torch.ones(1, 2, 1), table, share=0.5).tolist()
    [[1, 1]]
    """
    ids: Tensor = batch["input_ids"]
    hull = table.hull(batch, side)
    gains, words = worst_substitutes(model, gradient, hull)
    active = hull.slots >= 0
    gain = gains.new_full(ids.shape, -torch.inf).masked_scatter(active, gains)
    rank = gain.argsort(dim=1, descending=True, stable=True).argsort(dim=1)
    wanted = (word_counts(batch, table, side).double() * share).ceil()
    chosen = (rank < wanted) & (gain > 0)
    return torch.where(chosen, ids.masked_scatter(active, words), ids)
