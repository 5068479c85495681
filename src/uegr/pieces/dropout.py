"""Adaptive dropout: every unit's drop probability follows the gradient of the loss that reached it.

UEGR describes it in prose: rates follow the gradients of the loss with respect to the activations, units with large
gradients are suppressed, the best range is [0.3, 0.5]. The definition here: at a dropout site with H units,

    G_j  = root mean square over examples and tokens of dL/da[..., j], from the clean pass
    r_j  = rank of G_j among the H units, in [0, 1], ties sharing the mean rank
    q_kj = clip(rate_k + spread * (2 r_j - 1), 0, 0.95)

and pass k drops unit j with probability q_kj, independently per example and token, and divides what it keeps by
1 - q_kj, so that the expected activation is unchanged. Where no gradient is known, r_j = 1/2: ordinary dropout.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from uegr.pieces.embedding import Batch, embedding_layer, unwrapped
from uegr.pieces.encoder import is_from_scratch
from uegr.pieces.masks import dropped
from uegr.pieces.sites import Layout, another_forward, check_sites, sites, until_left

HIGHEST = 0.95  # above it, dividing what is kept by 1 - q only amplifies noise
PAPER_RATE, PAPER_SPREAD = 0.4, 0.1  # the paper's best range, [0.3, 0.5]


def centre(own_rate: float, from_scratch: bool) -> float:
    """The rate that a site adapts around by default: the paper's for a model trained from scratch, else its own.
    >>> centre(0.5, from_scratch=True), centre(0.0, from_scratch=True), centre(0.1, from_scratch=False)
    (0.4, 0.0, 0.1)
    """
    return PAPER_RATE if from_scratch and own_rate else own_rate


def mean_ranks(values: Tensor) -> Tensor:
    """Ranks in [0, 1] of a vector's entries, ties sharing the mean rank, in float64.

    >>> mean_ranks(torch.tensor([5.0, 1.0, 5.0])).tolist()
    [0.75, 0.0, 0.75]
    """
    _, group, counts = values.unique(return_inverse=True, return_counts=True)
    last = counts.cumsum(0).double()
    middle: Tensor = last - (counts.double() + 1) / 2
    return middle[group] / (len(values) - 1) if len(values) > 1 else middle[group] + 0.5


def drop_probabilities(ranks: Tensor, rates: Tensor, spread: float | Tensor) -> Tensor:
    """q (passes, units) from the units' ranks (units,) and the passes' rates (passes,)."""
    return (rates[:, None] + spread * (2 * ranks[None, :] - 1)).clamp(0, HIGHEST)


@dataclass
class AdaptiveDropout:
    """The units' ranks learned in the clean pass, and the dropout of the passes that follow.

    `rates=None` takes each site's own rate as the centre, or the paper's 0.4 in a model trained from scratch; `spread`
    is then a fraction of the centre (default: the paper's 0.1/0.4). With rates given, it is absolute (default 0.1).
    """

    rates: Sequence[float] | None = None
    spread: float | None = None
    ranks: dict[str, Tensor] = field(default_factory=dict)

    def check(self, model: nn.Module) -> None:
        """Refuse a model whose sub-models would all be the same."""
        found = check_sites(model)
        if self.rates is None and self.spread != 0 and not any(module.p for module in found.values()):
            name = type(unwrapped(model)).__name__
            raise ValueError(
                f"expected a dropout rate above 0, got {name} with all rates 0; give rates, as in rates=0.1"
            )

    def probabilities(self, name: str, middle: float, units: int, passes: int) -> Tensor:
        """q (passes, units) of one site, which adapts around `middle` where no rates are given."""
        ranks = self.ranks.get(f"{name}/{units}", torch.full((units,), 0.5, dtype=torch.float64))
        if self.rates is None:
            share = PAPER_SPREAD / PAPER_RATE if self.spread is None else self.spread
            return drop_probabilities(ranks, ranks.new_full((passes,), middle), share * middle)
        rates = ranks.new_tensor(self.rates if passes > 1 else [sum(self.rates) / len(self.rates)])
        return drop_probabilities(ranks, rates, PAPER_SPREAD if self.spread is None else self.spread)

    @contextmanager
    def learning(self, model: nn.Module, batch: Batch) -> Iterator[None]:
        """Inside, a forward and its backward teach the ranks; nothing is kept when the body raises."""
        squares: dict[str, Tensor] = {}
        mask = Layout(batch)
        with ExitStack() as hooks:
            until_left(hooks, embedding_layer(model).register_forward_pre_hook(mask.look))
            for name, module in sites(model).items():
                until_left(hooks, module.register_forward_pre_hook(_watch(name, mask, squares, hooks)))
            yield
        for key, total in squares.items():
            if torch.isfinite(total).all():
                self.ranks[key] = mean_ranks(total)

    @contextmanager
    def applied(self, model: nn.Module, batch: Batch, passes: int) -> Iterator[None]:
        """Inside, the model drops adaptively; the batch holds `passes` copies of the examples, pass after pass."""
        layout = Layout(batch)
        rows, from_scratch = len(batch["input_ids"]), is_from_scratch(model)
        with ExitStack() as changes:
            until_left(changes, embedding_layer(model).register_forward_pre_hook(layout.look))
            for name, module in sites(model).items():
                forward = self._forward(name, module, centre(module.p, from_scratch), layout, rows, passes)
                changes.enter_context(another_forward(module, forward))
            yield

    def _forward(
        self, name: str, module: nn.Dropout, middle: float, layout: Layout, rows: int, passes: int
    ) -> Callable[[Tensor], Tensor]:
        own = module.forward

        def forward(values: Tensor) -> Tensor:
            if values.dim() > 3 or not module.training:
                return own(values)
            q = self.probabilities(name, middle, values.shape[-1], passes).to(values.device)
            axis = layout.axis(values, rows)
            if passes == 1 or axis is None:  # a site that no example owns, such as relative positions
                return dropped(values, q.mean(0))
            split = values.unflatten(axis, (passes, -1))
            shape = [1] * split.dim()
            shape[axis], shape[-1] = passes, q.shape[-1]
            return dropped(split, q.view(shape)).flatten(axis, axis + 1)

        return forward


def _watch(
    name: str, mask: Layout, squares: dict[str, Tensor], hooks: ExitStack
) -> Callable[[nn.Module, tuple[Any, ...]], None]:
    """A hook that adds the squared gradients of what enters a site, unit by unit."""

    def watch(module: nn.Module, inputs: tuple[Any, ...]) -> None:
        values = inputs[0]
        if not (module.training and isinstance(values, Tensor) and values.requires_grad and values.dim() <= 3):
            return

        def add(gradient: Tensor) -> None:
            key, units = f"{name}/{gradient.shape[-1]}", gradient.shape[-1]
            rows = mask.over(gradient.detach()).reshape(-1, units)
            total = (rows.float() if rows.dtype.itemsize < 4 else rows).square().sum(0)  # ten times a norm's speed
            squares[key] = squares.get(key, 0) + total  # a module that layers share is called several times

        until_left(hooks, values.register_hook(add))  # DeBERTa drops from a weight itself, where a hook would stay

    return watch
