"""RIFT's objective: ASCC's passes, and InfoNCE between the model's features and the frozen pretrained model's.

    L = CE(x) + beta KL(P(x) || P(x^)) + alpha L_info(s^, t)        with an attack: s^ the feature of x^ (eq. 11)
    L = CE(x) + alpha L_info(s, t)                                  without: s the feature of x (section 2.3, lemma 1)

t is the frozen model's feature of the clean x in both.
"""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn

from uegr.methods.contract import Terms, task_loss
from uegr.methods.objectives.hull import ConvexHull
from uegr.pieces.checks import check_amount
from uegr.pieces.embedding import Batch, unwrapped
from uegr.pieces.encoder import extended
from uegr.pieces.features import features, probe
from uegr.pieces.hull import Hull, combined
from uegr.pieces.recollection import Recollection


class InformativeHull(ConvexHull):
    """ASCC's passes, if there is an attack, and InfoNCE between two models' features."""

    keeps_weights: bool = False
    batchwise: str = "an example is contrasted with the others of its micro-batch"

    def __init__(self, alpha: float, conditional: bool, attack: bool, memory: Recollection, **options: Any) -> None:
        self.alpha, self.attack = check_amount("alpha", alpha), attack
        super().__init__(**options)
        self.conditional, self.memory = conditional, memory
        if alpha:
            self.passes = (self.steps + 4, self.steps + 2) if attack else (2, 1)

    @property
    def attacks(self) -> bool:
        return self.attack and (self.beta > 0 or self.alpha > 0)

    def check(self, model: nn.Module) -> None:
        super().check(model)
        inner: Any = unwrapped(model)
        one_class = inner.config.problem_type in (None, "single_label_classification") and inner.config.num_labels > 1
        if self.alpha and self.conditional and not (one_class and probe(model)[1] == 2):
            raise ValueError(
                f"expected one class per example to contrast within, got {type(inner).__name__} with "
                f"{inner.config.num_labels} outputs; use conditional=False, or choose ascc"
            )

    def prepare(self, model: nn.Module, batches: Iterable[Batch]) -> None:
        if self.alpha:
            inner: Any = unwrapped(model)
            self.memory.prepare(model, inner.config.num_labels if self.conditional else 1)

    def clean(self, model: nn.Module, batch: Batch) -> Terms:
        """Section 2.3: informative fine-tuning."""
        if not self.alpha:
            return super().clean(model, batch)
        recalling, watching = self.memory.frozen.beside(model, batch), features(model, batch)
        with recalling as known, watching as own, self.contrasted(model, batch, own, known):
            output = model(**batch)
        return {"task": task_loss(output), "information": self.alpha * output["contrast"]}

    def terms(self, model: nn.Module, batch: Batch, hull: Hull, weights: Tensor) -> Terms:
        """Eq. 11."""
        if not self.alpha:
            return super().terms(model, batch, hull, weights)
        with self.memory.frozen.beside(model, batch) as known:
            output = model(**batch)
        moving, watching = combined(model, hull, weights, batch), features(model, batch)
        with moving, watching as moved, self.contrasted(model, batch, moved, known):
            adversarial = model(**batch)
        terms = {"task": task_loss(output), "information": self.alpha * adversarial["contrast"]}
        return terms | ({"adversarial": self.apart(model, batch, output, adversarial)} if self.beta else {})

    def contrasted(
        self, model: nn.Module, batch: Batch, own: list[Tensor], known: list[Tensor]
    ) -> AbstractContextManager[None]:
        """Inside, a forward also gives L_info of the last features."""
        labels = batch["labels"] if self.conditional else torch.zeros_like(batch["input_ids"][:, 0])
        return extended(model, "contrast", lambda: self.memory.lost(own[-1], known[-1], labels))

    def state_dict(self) -> dict[str, Tensor]:
        return self.memory.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.memory.load_state_dict(state)
