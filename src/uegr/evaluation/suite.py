"""Everything that is measured of one model, as a typed `uegr.result.Evaluation`; each figure with n and an interval.

`perspectives` takes from it the five numbers that table III's average is made of (statistics/improvement.py), as RoAST
does: the calibration error is the mean over every split of the model's own data and every shifted and adversarial set.
RoAST has 10 bins and a temperature (`bins`, `temperature`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from torch import nn

from uegr.errors import InputError, did_you_mean
from uegr.evaluation.anomaly import anomaly, confidence
from uegr.evaluation.calibration import BINS, calibration, expected_calibration_error, temperature, tempered
from uegr.evaluation.landscape import input_gradient_norm, sharpness
from uegr.evaluation.metrics import measure
from uegr.evaluation.perturbation import EPSILONS, Search, Subject, checked_labels, points
from uegr.evaluation.sets import Other, Sets
from uegr.evaluation.shift import shift
from uegr.evaluation.similarity import layer_similarity, weight_distance
from uegr.models.texts import Progress, Rows, labels_of, length_limit, probabilities, texts_of
from uegr.pieces.embedding import unwrapped
from uegr.result import Calibration, Curve, Drift, Evaluation, Figures, Landscape
from uegr.statistics.classes import Classes, classes
from uegr.statistics.intervals import mean

PAPER_EPSILONS = (0.01, 0.25, 0.5)  # UEGR fig. 2b
PGD = (0.0, *PAPER_EPSILONS)  # every epsilon costs dozens of passes
GRIDS = {"fgm": EPSILONS, "noise": EPSILONS, "pgd": PGD}
RELATIVE = "_relative"  # the end of the name of a curve whose radii are relative
Stage = Callable[[str, int, int], None]  # what is measured, how many are done, of how many


@dataclass(frozen=True)
class Radii:
    """The sizes of perturbations: of each attack those of the paper (None) or others, and further ones that are
    relative to the mean norm of the model's word vectors."""

    fgm: Sequence[float] | None = None
    pgd: Sequence[float] | None = None
    relative: Sequence[float] = ()

    def of(self, attack: str) -> dict[str, tuple[float, ...]]:
        """The radii of the curves of an attack, 0 first, by the curve's name.

        >>> Radii(pgd=[], relative=[0.1]).of("pgd")
        {'pgd_relative': (0.0, 0.1)}
        """
        own = {"fgm": self.fgm, "pgd": self.pgd}.get(attack)
        found = {attack: GRIDS[attack] if own is None else tuple(own), attack + RELATIVE: tuple(self.relative)}
        return {name: (0.0, *(size for size in sizes if size > 0)) for name, sizes in found.items() if sizes}


def evaluate(
    model: nn.Module,
    tokenizer: Any,
    sets: Sets,
    *,
    pretrained: nn.Module | None = None,
    curves: Sequence[str] = ("fgm", "pgd"),
    radii: Radii | None = None,
    landscape: bool = True,
    bins: int = BINS,
    fit_temperature: bool = False,
    fitted: float | None = None,
    ascended: float = 1.0,
    batch_size: int = 64,
    max_length: int | None = None,
    seed: int = 0,
    progress: Stage | None = None,
) -> Evaluation:
    """Measure a model on its own held-out rows and on the other sets.

    `curves` are attacks on the embedded input within `radii`, on the loss after the temperature `ascended`, which
    should fit the model; `pretrained` adds the distance from that model. PGD, input gradients and sharpness use
    `sets.fewer`. `fit_temperature` divides the logits, before every calibration error, by the
    temperature that fits `sets.validation`; with a temperature that was `fitted` before, on other rows, the calibration
    error of the main split is measured before and after it. `progress(stage, done, total)` is called after each batch.
    """
    for attack in curves:
        if attack not in GRIDS:
            raise InputError(f"unknown curve {attack!r}; {did_you_mean(attack, GRIDS)}")
    how = (batch_size, max_length, seed, progress, bins, fit_temperature, fitted, ascended)
    work = Work(model, tokenizer, sets, *how)
    found = Evaluation(
        data=sets.name,
        split=sets.split,
        clean=work.scores(),
        classes=work.classes(),
        other_splits={split: work.other_scores(split) for split in list(sets.splits)[1:]},
        calibration=work.calibration(),
        shift=work.shifted(sets.shift),
        adversarial=work.shifted(sets.adversarial),
        anomaly=work.anomalies(),
        perturbation={}
        if sets.labels is None
        else work.curves({attack: (radii or Radii()).of(attack) for attack in curves}),
        landscape=work.landscape() if landscape else None,
        drift=work.drift(pretrained) if pretrained is not None else None,
        left_out=dict(sets.left_out),
        max_length=length_limit(tokenizer, max_length),
        seed=seed,
    )
    return found.model_copy(update={"perspectives": perspectives(found)})


@dataclass(frozen=True)
class Work:
    """One model, its sets, and what all figures share."""

    model: nn.Module
    tokenizer: Any
    sets: Sets
    batch_size: int
    max_length: int | None
    seed: int
    stage: Stage | None
    bins: int
    fit_temperature: bool
    fitted: float | None = None
    ascended: float = 1.0

    def progress(self, name: str) -> Progress | None:
        stage = self.stage
        return stage and (lambda done, total: stage(name, done, total))

    def sizes(self, name: str) -> dict[str, Any]:
        return {"batch_size": self.batch_size, "max_length": self.max_length, "progress": self.progress(name)}

    def probabilities(self, name: str, rows: Rows) -> np.ndarray:
        return probabilities(self.model, self.tokenizer, texts_of(rows), **self.sizes(name))

    @cached_property
    def own(self) -> np.ndarray:
        """What the model gives for the rows of the main split."""
        return self.probabilities(self.sets.split, self.sets.own)

    @cached_property
    def temperature(self) -> float:
        """1, or what fits the validation rows of a classifier."""
        if not self.fit_temperature or self.sets.labels is None:
            return 1.0
        if self.sets.validation is None:
            raise InputError("expected validation rows to fit a temperature on, got none; use fit_temperature=False")
        rows = self.sets.validation
        return temperature(self.probabilities("temperature", rows), labels_of(rows))

    def scores(self) -> Figures:
        """The task metrics of the main split."""
        return measure(self.sets.metrics, self.own, labels_of(self.sets.own), self.seed)

    def classes(self) -> Classes | None:
        """How each class of a classifier fares on the main split."""
        names = self.sets.labels
        return None if names is None else classes(self.own.argmax(1), labels_of(self.sets.own), names)

    def other_scores(self, split: str) -> Figures:
        """The task metrics of another split, and a classifier's calibration error."""
        rows = self.sets.splits[split]
        found, labels = self.probabilities(split, rows), labels_of(rows)
        figures = measure(self.sets.metrics, found, labels, self.seed)
        if self.sets.labels is None:
            return figures
        return figures | {"ece": expected_calibration_error(tempered(found, self.temperature), labels, bins=self.bins)}

    def calibration(self) -> Calibration | None:
        """Of a classifier, on the main split."""
        if self.sets.labels is None:
            return None
        how: dict[str, Any] = {"bins": self.bins, "temperature": self.temperature, "fitted": self.fitted}
        return calibration(self.own, labels_of(self.sets.own), **how)

    def shifted(self, others: Sequence[Other]) -> dict[str, Figures]:
        how: dict[str, Any] = {"bins": self.bins, "temperature": self.temperature}
        return {
            other.name: shift(self.model, self.tokenizer, other, **self.sizes(other.name), **how) for other in others
        }

    def anomalies(self) -> dict[str, Figures]:
        """How well a classifier tells its own rows from texts from elsewhere."""
        outside = {} if self.sets.labels is None else self.sets.anomaly
        given = {name: confidence(self.probabilities(name, rows)) for name, rows in outside.items()}
        return {name: anomaly(confidence(self.own), values, seed=self.seed) for name, values in given.items()}

    def curves(self, wanted: Mapping[str, Mapping[str, tuple[float, ...]]]) -> dict[str, Curve]:
        """The curves of each attack by their names."""
        return {
            name: self.curve(attack, name, radii) for attack, some in wanted.items() for name, radii in some.items()
        }

    def curve(self, attack: Any, name: str, radii: tuple[float, ...]) -> Curve:
        """Accuracy at each radius, and the mean fall at the paper's three; at all, where they are relative."""
        rows = self.sets.fewer if attack == "pgd" else self.sets.own
        labels, relative = checked_labels(self.model, rows), name.endswith(RELATIVE)
        given = (texts_of(rows), labels, self.batch_size, self.max_length)
        subject = Subject(unwrapped(self.model), self.tokenizer, *given)
        search = Search(attack, seed=self.seed, temperature=self.ascended)
        found, right = points(subject, radii, search, relative, self.progress(name))
        chosen = radii[1:] if relative else PAPER_EPSILONS
        fallen = right[[radius in chosen for radius in radii]]
        return Curve(points=found, mean_drop=mean(right[0] - fallen.mean(0) if len(fallen) else []))

    def landscape(self) -> Landscape:
        given = (self.model, self.tokenizer, self.sets.fewer)
        norm = input_gradient_norm(*given, **self.sizes("input gradient"))
        found = sharpness(*given, seed=self.seed, **self.sizes("sharpness"))
        return Landscape(input_gradient_norm=norm, sharpness=found.rise)

    def drift(self, pretrained: nn.Module) -> Drift:
        """CKA of each layer, the embeddings first, and the distance of the weights."""
        given = (self.model, pretrained, self.tokenizer, texts_of(self.sets.own))
        layers = layer_similarity(*given, seed=self.seed, **self.sizes("similarity"))
        return Drift(cka=layers, weight_distance=weight_distance(self.model, pretrained))


def main(figures: Figures) -> float:
    """The accuracy, or the first of the metrics of a task that has none (CoLA, STS-B)."""
    return figures["accuracy"].value if "accuracy" in figures else next(iter(figures.values())).value


def each(sets: Mapping[str, Figures], metric: Literal["accuracy", "ece", "auroc"]) -> list[float]:
    """One metric of every set that has it."""
    return [figures[metric].value for figures in sets.values() if metric in figures]


def perspectives(found: Evaluation) -> dict[str, float]:
    """The numbers that `relative_improvement` compares, of those that were measured.

    The adversarial one is the mean over adversarial sets; without any, the accuracy under PGD at the paper's epsilons.
    """
    numbers = {
        "in_distribution": [max(0.0, main(figures)) for figures in (found.clean, *found.other_splits.values())],
        "shift": each(found.shift, "accuracy"),
        "adversarial": each(found.adversarial, "accuracy"),
        "calibration": [
            ece for sets in (found.other_splits, found.shift, found.adversarial) for ece in each(sets, "ece")
        ],
        "anomaly": each(found.anomaly, "auroc"),
    }
    if found.calibration:
        numbers["calibration"].append(found.calibration.ece.value)
    curve = found.perturbation.get("pgd") or found.perturbation.get("pgd" + RELATIVE)
    if not numbers["adversarial"] and curve is not None:
        numbers["adversarial"] = [point.accuracy.value for point in curve.points if point.epsilon > 0]
    return {name: float(np.mean(values)) for name, values in numbers.items() if values}
