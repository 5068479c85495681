"""The convex hull of a word's substitutes, and the point in it that changes the prediction most.

    x^_t = sum_j w_tj E[substitute j of token t],    w_t = softmax(v_t)                     ASCC (Dong 2021), eq. 4
    v    = argmax KL(P(x) || P(x^)) - sparsity * sum_t H(w_t)                               RIFT eq. 8; H the entropy

found by S steps of Adam on v from v = 0, with dropout off, for each example on its own. The inner gradient is that of v
alone: it touches no weight's gradient and no other process.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from uegr.pieces.divergence import Divergence, between
from uegr.pieces.embedding import Batch, arranged, embedding_layer, token_mask
from uegr.pieces.encoder import in_mode
from uegr.pieces.sides import Side, on_side

OUTSIDE = -1e4  # the logit of a column that is not a substitute: its weight is exactly 0, its gradient too


@dataclass(frozen=True)
class Hull:
    """The positions of a batch that have substitutes, n of them in order, and the corners of their hulls."""

    slots: Tensor  # (examples, tokens): the position's number, or -1
    ids: Tensor  # (n, corners)
    mask: Tensor  # (n, corners)


@dataclass(frozen=True)
class Substitutes:
    """A table by token id: what may stand in its place, itself first; see `uegr.attacks.vocabulary`.

    `goes_on` and `open_ended` (vocabulary,) tell tokens that continue a word and those that can be continued; pieces of
    longer words are then left alone. `separator` stands between the two texts of a pair (pieces/sides.py).
    """

    ids: Tensor  # (vocabulary, corners)
    mask: Tensor  # (vocabulary, corners)
    goes_on: Tensor | None = None
    open_ended: Tensor | None = None
    separator: int | None = None

    def __post_init__(self) -> None:
        if self.ids.dim() != 2 or self.ids.shape != self.mask.shape or self.mask.dtype != torch.bool:
            got = f"{tuple(self.ids.shape)} and {tuple(self.mask.shape)} of {self.mask.dtype}"
            raise ValueError(f"expected ids and a bool mask, both (vocabulary, corners), got {got}")

    def to(self, device: torch.device) -> "Substitutes":
        """The table on a device; itself if it is there."""
        if self.ids.device == device:
            return self
        goes_on, open_ended = (None if value is None else value.to(device) for value in (self.goes_on, self.open_ended))
        return Substitutes(self.ids.to(device), self.mask.to(device), goes_on, open_ended, self.separator)

    def hull(self, batch: Batch, side: Side = "both") -> Hull:
        """The hulls of a batch, of the tokens on that side of a pair.

        >>> table = Substitutes(torch.tensor([[0, 0], [1, 2], [2, 2]]), torch.tensor([[1, 0], [1, 1], [1, 0]]).bool())
        >>> hull = table.hull({"input_ids": torch.tensor([[0, 1, 2]])})
        >>> hull.slots.tolist(), hull.ids.tolist()
        ([[-1, 0, -1]], [[1, 2]])
        """
        tokens = batch["input_ids"]
        if tokens.numel() and int(tokens.max()) >= len(self.ids):
            raise ValueError(
                f"expected token ids below {len(self.ids)}, the table's size, got {int(tokens.max())}; "
                "build the table with the model's own tokenizer"
            )
        active = self.mask[tokens][..., 1:].any(-1) & token_mask(batch).bool() & ~self.inside_word(tokens)
        active &= on_side(batch, side, self.separator)
        slots = torch.where(active, active.flatten().cumsum(0).view_as(tokens) - 1, -1)
        return Hull(slots, self.ids[tokens[active]], self.mask[tokens[active]])

    def inside_word(self, tokens: Tensor) -> Tensor:
        """Where a token is one piece of a longer word, (examples, tokens)."""
        inside = torch.zeros_like(tokens, dtype=torch.bool)
        if self.goes_on is not None and self.open_ended is not None:
            joint = self.goes_on[tokens[:, 1:]] & self.open_ended[tokens[:, :-1]]
            inside[:, 1:] |= joint
            inside[:, :-1] |= joint
        return inside


def simplex(logits: Tensor, mask: Tensor) -> Tensor:
    """Weights w (n, corners) that sum to 1, zero outside the mask."""
    return logits.masked_fill(~mask, OUTSIDE).softmax(-1)


def entropy(logits: Tensor, mask: Tensor) -> Tensor:
    """H(w) in nats, (n,).

    >>> entropy(torch.zeros(1, 3), torch.tensor([[True, True, False]])).item() == torch.tensor(2.0).log().item()
    True
    """
    log = logits.masked_fill(~mask, OUTSIDE).log_softmax(-1)
    return -(log.exp() * log).sum(-1)


@contextmanager
def combined(model: nn.Module, hull: Hull, weights: Tensor, batch: Batch) -> Iterator[None]:
    """Inside, every forward of the model sees x^ in place of its embedded tokens; weights (n, corners)."""

    def combine(module: nn.Module, inputs: tuple[Any, ...], output: Tensor) -> Tensor:
        seen = arranged(hull.slots, inputs[0], batch["input_ids"])
        order = seen[seen >= 0]
        corners = module.forward(hull.ids[order])  # its forward, not the module: no hook a second time
        points = (weights[order].unsqueeze(-1) * corners).sum(-2)
        return output.index_put((seen >= 0).nonzero(as_tuple=True), points.to(output.dtype))

    handle = embedding_layer(model).register_forward_hook(combine)
    try:
        yield
    finally:
        handle.remove()


def worst_point(
    model: nn.Module,
    batch: Batch,
    hull: Hull,
    predict: Callable[[], Tensor],
    divergence: Divergence,
    *,
    steps: int,
    step_size: float,
    sparsity: float,
) -> Tensor:
    """The weights (n, corners) found by `steps` ascents; `predict` runs the unwrapped model, (rows, classes)."""
    dtype = torch.promote_types(next(embedding_layer(model).parameters()).dtype, torch.float32)
    logits = torch.zeros(hull.ids.shape, dtype=dtype, device=hull.ids.device, requires_grad=True)
    climber = torch.optim.Adam([logits], lr=step_size, maximize=True)
    with in_mode(model, training=False, leave=nn.RNNBase):  # whose backward on a GPU needs training
        with torch.no_grad():
            clean = predict()
        for _ in range(steps if len(hull.ids) else 0):
            with combined(model, hull, simplex(logits, hull.mask), batch):
                apart = between(clean, predict(), divergence, "sum")
            gain = apart - sparsity * entropy(logits, hull.mask).sum()
            (gradient,) = torch.autograd.grad(gain, logits)
            logits.grad = gradient.nan_to_num(0.0, 0.0, 0.0)
            climber.step()
    return simplex(logits, hull.mask).detach()
