"""A clean pass, then K sub-models on adversaries of it, which must agree with it: the forward stage of `uegr_plus`.

    L = CE(x) + (a/K) sum_k CE_k(x_k) + (d/K) sum_k D(P(x), P_k(x_k)),   P(x) without gradient

x_k is x + delta, a point of the ball around x (UEGR's eq. 2), or the text with its worst synonyms (pieces/words.py),
or both in one; both come from the gradient of the clean pass. With `turns`, each sub-model sees one of the two of an
example. With a depth, delta is added to what enters a layer, and the layers below it run once (pieces/depth.py).
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from uegr.methods.contract import Terms, labelled, predictions, task_loss
from uegr.methods.fgm import Attack
from uegr.methods.objectives.submodels import RegularizedAdversarial
from uegr.methods.objectives.substitution import Substitution
from uegr.pieces.checks import check_amount
from uegr.pieces.depth import SharedLayers, check_depth, stacked_layers
from uegr.pieces.divergence import between, pairwise
from uegr.pieces.dropout import AdaptiveDropout
from uegr.pieces.embedding import Batch, parts, perturbed, repeated, token_mask
from uegr.pieces.perturbation import unit, zero_start
from uegr.pieces.radius import word_vectors
from uegr.pieces.words import with_worst_words

Adversary = Literal["ball", "words", "both", "joint", "turns"]
Target = Literal["clean", "submodels"]


class AtTheWords:
    """The perturbation enters at the word vectors; the counterpart of `SharedLayers`."""

    def __init__(self, model: nn.Module, batch: Batch) -> None:
        self.model, self.batch, self.leaf = model, batch, zero_start(model, batch)

    def started(self) -> AbstractContextManager[None]:
        """Inside, the backward of a forward leaves dL/dx in the leaf."""
        return perturbed(self.model, self.leaf, self.batch)

    def resumed(self, move: Tensor, many: Batch, rows: slice, last: bool) -> AbstractContextManager[None]:
        """Inside, a forward over copies of the rows sees the words moved."""
        return perturbed(self.model, move, many)

    def vectors(self) -> Tensor:
        """What is moved."""
        return word_vectors(self.model, self.batch)


class Adversaries(Substitution, RegularizedAdversarial):
    """A clean pass, then K sub-models, each on an adversary, in pieces of the batch repeated K times."""

    def __init__(
        self,
        attack: Attack,
        *,
        submodels: int,
        adversary: Adversary,
        words: float,
        depth: float,
        adversarial_weight: float,
        divergence: str,
        divergence_to: Target,
        divergence_weight: float,
        dropout: AdaptiveDropout,
        every: int,
        split: int | None,
    ) -> None:
        super().__init__(
            attack,
            submodels=submodels,
            divergence=divergence,
            weight=divergence_weight,
            reduction="mean",
            pairs="mean",
            dropout=dropout,
            split=split,
        )
        check_choices(adversary, words, divergence_to, every)
        if adversary == "both" and submodels < 2:
            raise ValueError(f"expected submodels >= 2 with adversary both, got {submodels}; use adversary='turns'")
        check_place(depth, adversary, attack.norm)
        if not check_amount("adversarial_weight", adversarial_weight) + divergence_weight:
            raise ValueError("expected adversarial_weight or divergence_weight above 0, got 0 for both; use vanilla")
        kinds = ("ball", "words") if adversary == "both" else (adversary,)
        self.kinds = [kinds[k % len(kinds)] for k in range(submodels)]
        self.words, self.depth, self.every = words, depth, every
        self.adversarial_weight, self.to_clean = adversarial_weight, divergence_to == "clean"
        self.needs_tokenizer = adversary != "ball"
        self.keeps_weights = not depth  # layers that sharded training wraps cannot be left out
        self.count_passes(1 - depth)

    def count_passes(self, upper: float) -> None:
        """From the share of the layers that the K passes go through."""
        passes = (1 + self.submodels * upper + self.every - 1) / self.every
        self.passes = (passes, passes) if passes % 1 else (int(passes), int(passes))

    def check(self, model: nn.Module) -> None:
        Substitution.check(self, model)
        RegularizedAdversarial.check(self, model)
        if self.depth:
            lower = check_depth(model, self.depth)
            self.count_passes(1 - lower / len(stacked_layers(model)))

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        if self.layers is not None:
            self.layers.look(model)
        if self.attack.moment.step % self.every:
            yield from ({} for _ in range(self.split))  # the last backward is the one that processes share
            yield {"task": task_loss(model(**batch))}
            return
        place = SharedLayers(model, self.depth) if self.depth else AtTheWords(model, batch)
        with place.started(), self.observed(model, batch):
            output = model(**batch)
            logits = output["logits"].detach()
            yield {"task": task_loss(output)}  # its backward also fills the leaf's gradient and the units' gradients
        texts, moves = self.adversaries(model, batch, place)
        pieces = list(parts(batch, self.split, labelled(model, batch)))
        for number, (rows, part, share) in enumerate(pieces, start=1):
            if not share:
                yield {}
                continue
            many = repeated(part, self.submodels) | {"input_ids": torch.cat([text[rows] for text in texts])}
            move = torch.cat([move[rows] for move in moves])
            with place.resumed(move, many, rows, last=number == len(pieces)), self.drawn(model, many):
                yield self.pulled(model, many, predictions(model, logits[rows], part), share)

    def adversaries(
        self, model: nn.Module, batch: Batch, place: AtTheWords | SharedLayers
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Each sub-model's token ids (examples, tokens) and perturbation (examples, tokens, dimensions)."""
        if place.leaf.grad is None:
            raise ValueError("expected a leaf whose backward has run, got one without gradient")
        gradient = place.leaf.grad.to(torch.promote_types(place.leaf.dtype, torch.float32))
        reach = self.attack.reach(model, batch, vectors=place.vectors() if self.attack.relative else None)
        move = reach * unit(gradient, batch, self.attack.norm)
        ids = batch["input_ids"]
        if not self.needs_tokenizer:
            return [ids] * self.submodels, [move] * self.submodels
        worst = with_worst_words(model, batch, gradient, self.table_on(ids), self.words, self.side)
        seen = [self.seen(k, batch) for k in range(self.submodels)]
        texts = [torch.where(replaced.unsqueeze(-1), worst, ids) for replaced, _ in seen]
        return texts, [move * moved.view(-1, 1, 1) for _, moved in seen]

    def seen(self, k: int, batch: Batch) -> tuple[Tensor, Tensor]:
        """Of which examples sub-model k sees the synonyms, and of which the ball: two masks."""
        mask = token_mask(batch)
        if self.kinds[k] == "turns":  # whatever batch an example is in, and the other one at the next step
            words = ((batch["input_ids"] * mask.long()).sum(1) + self.attack.moment.step + k) % 2 == 1
            return words, ~words
        everyone = torch.ones(len(mask), dtype=torch.bool, device=mask.device)
        return everyone & (self.kinds[k] != "ball"), everyone & (self.kinds[k] != "words")

    def pulled(self, model: nn.Module, many: Batch, clean: Tensor, share: float) -> Terms:
        """The terms of the K passes; `clean` is the clean prediction, (rows, classes)."""
        output = model(**many)
        terms = {"adversarial": self.adversarial_weight * share * task_loss(output)} if self.adversarial_weight else {}
        if self.weight:
            found = predictions(model, output["logits"], many)
            terms["divergence"] = self.weight * share * self.apart(clean, found)
        return terms

    def apart(self, clean: Tensor, found: Tensor) -> Tensor:
        """D of the clean prediction (rows, classes) and each sub-model's, or of each pair of sub-models; the mean."""
        if self.to_clean:
            return between(clean.repeat(self.submodels, 1), found, self.divergence)
        return pairwise(found.unflatten(0, (self.submodels, -1)), self.divergence, pairs="mean")


def check_choices(adversary: str, words: float, divergence_to: str, every: int) -> None:
    """The options that have a few values, or bounds."""
    for name, value, kind in (("adversary", adversary, Adversary), ("divergence_to", divergence_to, Target)):
        if value not in get_args(kind):
            raise ValueError(f"expected {name} to be one of {', '.join(get_args(kind))}, got {value!r}")
    if not 0 < words <= 1:
        raise ValueError(f"expected 0 < words <= 1, got {words}")
    if every < 1:
        raise ValueError(f"expected every >= 1 steps, got {every}")


def check_place(depth: float, adversary: str, norm: str) -> None:
    """A depth, and what does not go with it."""
    if not 0 <= depth < 1:
        raise ValueError(f"expected 0 <= depth < 1, got {depth}")
    if depth and adversary != "ball":
        raise ValueError(f"expected adversary ball with depth={depth}, got {adversary!r}; words enter at depth=0")
    if depth and norm == "matrix":
        raise ValueError(f"expected a norm of vectors with depth={depth}, got 'matrix'; use norm='example'")
