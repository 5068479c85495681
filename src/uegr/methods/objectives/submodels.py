"""A clean pass, then K sub-models on its adversarial example, which must agree: R-AT and the forward stage of UEGR.

    L = CE(x) + (1/K) sum_k CE_k(x + delta) + weight * D,   D the mean or the sum over pairs of D(P_l, P_k)

`adversarial_reduction="sum"` leaves the 1/K out (UEGR's eq. 10).
The clean pass is back-propagated once; its gradient gives delta. The K passes run in `split` pieces of the batch, by
default K, so that a batch that fits in memory for vanilla fits here too; `split=1` is one forward. Same gradient.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Literal

import torch
from torch import Tensor, nn

from uegr.methods.contract import Objective, Terms, labelled, predictions, task_loss
from uegr.methods.fgm import Attack
from uegr.methods.objectives.batchwise import batchwise
from uegr.methods.objectives.child import OnLayers
from uegr.pieces.checks import check_epsilon
from uegr.pieces.divergence import Reduction, named, pairwise
from uegr.pieces.dropout import AdaptiveDropout
from uegr.pieces.embedding import Batch, parts, perturbed, repeated
from uegr.pieces.perturbation import ascend, zero_start
from uegr.pieces.schedule import Moment
from uegr.pieces.sites import check_sites

Consistency = Literal["symmetric_kl", "js", "kl", "ce", "mse", "mae"]


class RegularizedAdversarial(Objective):
    """A clean pass, then K sub-models on its adversarial example, in pieces of the batch repeated K times."""

    def __init__(
        self,
        attack: Attack,
        *,
        submodels: int,
        divergence: str,
        weight: float,
        reduction: Reduction,
        pairs: Reduction,
        dropout: AdaptiveDropout | None,
        epsilons: Sequence[float] | None = None,
        clean_dropout: str = "own",
        adversarial_reduction: Reduction = "mean",
        split: int | None = None,
    ) -> None:
        if submodels < 1:
            raise ValueError(f"expected submodels >= 1, got {submodels}")
        if not weight >= 0:
            raise ValueError(f"expected a divergence weight >= 0, got {weight}")
        if adversarial_reduction not in ("mean", "sum"):
            raise ValueError(f"expected adversarial_reduction to be mean or sum, got {adversarial_reduction!r}")
        split = submodels if split is None else split
        if split < 1:
            raise ValueError(f"expected split >= 1, got {split}")
        pairwise(torch.zeros(2, 1, 2), named(divergence), reduction=reduction, pairs=pairs)  # refuses unknown names
        self.attack, self.dropout, self.clean_dropout = attack, dropout, clean_dropout
        self.submodels, self.split = submodels, split
        self.times = 1 if adversarial_reduction == "mean" else submodels  # a mean over the passes' rows has the 1/K
        self.layers: OnLayers | None = None  # the edit of the gradient, where it sees the encoder's layers only
        self.divergence, self.weight, self.reduction, self.pairs = named(divergence), weight, reduction, pairs
        self.epsilons = [check_epsilon(e) for e in epsilons] if epsilons is not None else [attack.epsilon] * submodels
        self.batchwise = batchwise(attack.norm, reduction if weight else "mean")
        self.yields, self.passes = 1 + split, (1 + submodels, 1 + submodels)

    def check(self, model: nn.Module) -> None:
        if self.layers is not None:
            self.layers.look(model)
        if self.dropout is not None:
            self.dropout.check(model)
        elif self.submodels > 1:
            check_sites(model)

    def begin(self, moment: Moment) -> None:
        self.attack.moment = moment

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        if self.layers is not None:
            self.layers.look(model)
        delta = zero_start(model, batch)
        with perturbed(model, delta, batch), self.observed(model, batch):
            yield {"task": task_loss(model(**batch))}  # its backward also fills delta.grad and the units' gradients
        reaches = [self.attack.reach(model, batch, epsilon) for epsilon in self.epsilons]
        moves = [ascend(delta, reach, batch, self.attack.norm) for reach in reaches]
        for rows, part, share in parts(batch, self.split, labelled(model, batch)):
            if not share:
                yield {}
                continue
            many = repeated(part, self.submodels)
            with perturbed(model, torch.cat([move[rows] for move in moves]), many), self.drawn(model, many):
                yield self.adversarial(model, many, share)

    @contextmanager
    def observed(self, model: nn.Module, batch: Batch) -> Iterator[None]:
        """Inside, the clean pass drops as it should, and its backward teaches the units' ranks."""
        with ExitStack() as clean:
            if self.dropout is not None and self.clean_dropout == "adaptive":
                clean.enter_context(self.dropout.applied(model, batch, passes=1))
            if self.dropout is not None and self.dropout.spread != 0:
                clean.enter_context(self.dropout.learning(model, batch))
            yield

    def drawn(self, model: nn.Module, many: Batch) -> AbstractContextManager[None]:
        """Inside, each copy of the batch goes through a sub-model of its own."""
        return nullcontext() if self.dropout is None else self.dropout.applied(model, many, self.submodels)

    def adversarial(self, model: nn.Module, many: Batch, share: float) -> Terms:
        """The two terms of the K passes."""
        output = model(**many)
        terms = {"adversarial": self.times * share * task_loss(output)}
        if self.weight > 0 and self.submodels > 1:
            logits = predictions(model, output["logits"], many).unflatten(0, (self.submodels, -1))
            apart = pairwise(logits, self.divergence, reduction=self.reduction, pairs=self.pairs)
            terms["divergence"] = self.weight * (share if self.reduction == "mean" else 1.0) * apart
        return terms

    def state_dict(self) -> dict[str, Tensor]:
        return dict(self.dropout.ranks) if self.dropout is not None else {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        if self.dropout is not None:
            self.dropout.ranks = dict(state)


def check_count(name: str, values: Sequence[float] | None, submodels: int) -> None:
    """One value per sub-model, or none."""
    if values is not None and len(values) != submodels:
        raise ValueError(f"expected {submodels} {name}, one per sub-model, got {len(values)}")


def check_rates(rates: Sequence[float] | None, submodels: int) -> None:
    """Dropout rates in [0, 1), one per sub-model."""
    check_count("rates", rates, submodels)
    for rate in rates or ():
        if not 0 <= rate < 1:
            raise ValueError(f"expected rates within [0, 1), got {rate}")


def adaptive_dropout(rates: Sequence[float] | None, spread: float | None, submodels: int) -> AdaptiveDropout:
    """Adaptive dropout of these sub-models, after a check of its settings."""
    if spread is not None and not 0 <= spread <= 1:
        raise ValueError(f"expected 0 <= spread <= 1, got {spread}")
    check_rates(rates, submodels)
    return AdaptiveDropout(None if rates is None else tuple(rates), spread)
