"""R-AT: sub-models drawn by dropout must agree on the same adversarial example.

Ni, Li and Kao, "R-AT: Regularized adversarial training for natural language understanding", Findings of EMNLP 2022.

    L = CE(x) + (1/K) sum_k CE_k(x + delta) + alpha * mean over pairs of KL_sym(P_l, P_k)       eq. 9; eq. 10 for K = 3
    delta = epsilon g / ||g||_2,  g = dCE(x)/dx                                                 eq. 5

Defaults: epsilon 1, alpha 0.5, K 2 (table 7, section 5.3). `consistency` is table 8, `kl=False` the "w/o KL" row of
table 3, `rates` figure 3, `epsilons` figure 5, `submodels` table 4 (alpha/3 on three pairs is alpha times their mean).
Deviations: the clean backward runs once (the released code runs it twice, 3 forward and 4 backward passes);
`reduction="sum"` and `norm="matrix"` are the released code's. The K passes run in `split` pieces of the batch, by
default K, so that a batch that fits in memory for vanilla fits here too; `split=1` is one forward. Same gradient.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Literal

import torch
from torch import Tensor, nn

from uegr.methods.contract import Method, Objective, Terms, configured, labelled, predictions, task_loss
from uegr.methods.fgm import Attack
from uegr.pieces.divergence import Reduction, named, pairwise
from uegr.pieces.dropout import AdaptiveDropout, check_sites
from uegr.pieces.embedding import Batch, parts, perturbed, repeated
from uegr.pieces.perturbation import Norm, ascend, check_epsilon, zero_start
from uegr.pieces.schedule import Moment

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
        split: int | None = None,
    ) -> None:
        if submodels < 1:
            raise ValueError(f"expected submodels >= 1, got {submodels}")
        if not weight >= 0:
            raise ValueError(f"expected a divergence weight >= 0, got {weight}")
        split = submodels if split is None else split
        if split < 1:
            raise ValueError(f"expected split >= 1, got {split}")
        pairwise(torch.zeros(2, 1, 2), named(divergence), reduction=reduction, pairs=pairs)  # refuses unknown names
        self.attack, self.dropout, self.clean_dropout = attack, dropout, clean_dropout
        self.submodels, self.split = submodels, split
        self.divergence, self.weight, self.reduction, self.pairs = named(divergence), weight, reduction, pairs
        self.epsilons = [check_epsilon(e) for e in epsilons] if epsilons is not None else [attack.epsilon] * submodels
        self.yields, self.passes = 1 + split, (1 + submodels, 1 + submodels)

    def check(self, model: nn.Module) -> None:
        if self.dropout is not None:
            self.dropout.check(model)
        elif self.submodels > 1:
            check_sites(model)

    def begin(self, moment: Moment) -> None:
        self.attack.moment = moment

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        delta = zero_start(model, batch)
        with ExitStack() as clean:
            clean.enter_context(perturbed(model, delta, batch))
            if self.dropout is not None and self.clean_dropout == "adaptive":
                clean.enter_context(self.dropout.applied(model, batch, passes=1))
            if self.dropout is not None and self.dropout.spread != 0:
                clean.enter_context(self.dropout.learning(model, batch))
            yield {"task": task_loss(model(**batch))}  # its backward also fills delta.grad and the units' gradients
        moves = [ascend(delta, self.attack.radius(epsilon), batch, self.attack.norm) for epsilon in self.epsilons]
        for rows, part, share in parts(batch, self.split, labelled(model, batch)):
            if not share:
                yield {}
                continue
            many = repeated(part, self.submodels)
            with ExitStack() as adversarial:
                adversarial.enter_context(perturbed(model, torch.cat([move[rows] for move in moves]), many))
                if self.dropout is not None:
                    adversarial.enter_context(self.dropout.applied(model, many, self.submodels))
                yield self.adversarial(model, many, share)

    def adversarial(self, model: nn.Module, many: Batch, share: float) -> Terms:
        """The two terms of the K passes."""
        output = model(**many)
        terms = {"adversarial": share * task_loss(output)}
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
    """One value a sub-model, or none."""
    if values is not None and len(values) != submodels:
        raise ValueError(f"expected {submodels} {name}, one a sub-model, got {len(values)}")


def check_rates(rates: Sequence[float] | None, submodels: int) -> None:
    """Dropout rates in [0, 1), one a sub-model."""
    check_count("rates", rates, submodels)
    for rate in rates or ():
        if not 0 <= rate < 1:
            raise ValueError(f"expected rates within [0, 1), got {rate}")


def objective(
    *,
    epsilon: float,
    epsilon_warmup: float,
    norm: str,
    submodels: int,
    alpha: float,
    consistency: str,
    kl: bool,
    reduction: Reduction,
    epsilons: Sequence[float] | None,
    rates: Sequence[float] | None,
    split: int | None,
) -> RegularizedAdversarial:
    """R-AT's objective from its options; `rat_su` shares it."""
    check_count("epsilons", epsilons, submodels)
    check_rates(rates, submodels)
    return RegularizedAdversarial(
        Attack(epsilon, epsilon_warmup, norm),
        submodels=submodels,
        divergence=consistency,
        weight=alpha if kl else 0.0,
        reduction=reduction,
        pairs="mean",
        dropout=None if rates is None else AdaptiveDropout(rates, spread=0.0),
        epsilons=epsilons,
        split=split,
    )


@configured
def rat(
    *,
    epsilon: float = 1.0,
    epsilon_warmup: float = 0.0,
    norm: Norm = "example",
    submodels: int = 2,
    alpha: float = 0.5,
    consistency: Consistency = "symmetric_kl",
    kl: bool = True,
    reduction: Reduction = "mean",
    epsilons: tuple[float, ...] | None = None,
    rates: tuple[float, ...] | None = None,
    split: int | None = None,
) -> Method:
    """Adversarial training whose sub-models agree (R-AT)."""
    return Method(objective(**locals()))
