"""Everything that is measured of one model, as one nested, JSON-ready dict; each figure with n and an interval.

`perspectives` takes from it the five numbers that table III's average is made of (improvement.py), as RoAST does: the
calibration error is the mean over the model's own data and every shifted and adversarial set.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from torch import nn

from uegr.data import Data, evaluation_sets, load
from uegr.errors import InputError, did_you_mean
from uegr.evaluation.anomaly import anomaly as detection
from uegr.evaluation.anomaly import confidence
from uegr.evaluation.calibration import calibration
from uegr.evaluation.landscape import input_gradient_norm, sharpness
from uegr.evaluation.metrics import measure
from uegr.evaluation.perturbation import EPSILONS, Search, Subject, checked_labels, point, surviving
from uegr.evaluation.shift import Other, held_out, other, pooled, shift
from uegr.evaluation.similarity import layer_similarity, weight_distance
from uegr.models.texts import Progress, Rows, labels_of, probabilities, texts_of
from uegr.pieces.embedding import unwrapped
from uegr.statistics.intervals import Figure, mean

PAPER_EPSILONS = (0.01, 0.25, 0.5)  # UEGR fig. 2b
GRIDS = {"fgm": EPSILONS, "pgd": (0.0, *PAPER_EPSILONS)}  # every epsilon of PGD costs dozens of passes
Stage = Callable[[str, int, int], None]  # what is measured, how many are done, of how many
Sets = Sequence[str | Data] | None  # None: every card that says it tests this task


@dataclass
class Run:
    """What all stages share."""

    model: nn.Module
    tokenizer: Any
    data: Data
    batch_size: int = 64
    max_length: int | None = None
    rows: int | None = None
    costly_rows: int | None = 200
    other_rows: int | None = 3_000
    outlier_rows: int | None = 1_000
    seed: int = 0
    stage: Stage | None = None
    left_out: dict[str, str] = field(default_factory=dict)
    own: np.ndarray | None = None  # the probabilities of the own held-out rows

    def progress(self, name: str) -> Progress | None:
        stage = self.stage
        return stage and (lambda done, total: stage(name, done, total))

    def sizes(self, name: str) -> dict[str, Any]:
        return {"batch_size": self.batch_size, "max_length": self.max_length, "progress": self.progress(name)}

    def bound(self, also: int | None) -> int | None:
        """The smaller of two bounds on rows, of which any may be none."""
        return min((bound for bound in (self.rows, also) if bound is not None), default=None)

    def probabilities(self, name: str, rows: Rows) -> np.ndarray:
        return probabilities(self.model, self.tokenizer, texts_of(rows), **self.sizes(name))


def evaluate(
    model: nn.Module,
    tokenizer: Any,
    data: Data,
    *,
    pretrained: nn.Module | None = None,
    shift: Sets = (),
    adversarial: Sets = (),
    anomaly: Sets = (),
    curves: Sequence[str] = ("fgm", "pgd"),
    landscape: bool = True,
    rows: int | None = None,
    costly_rows: int | None = 200,
    other_rows: int | None = 3_000,
    outlier_rows: int | None = 1_000,
    batch_size: int = 64,
    max_length: int | None = None,
    seed: int = 0,
    progress: Stage | None = None,
) -> dict[str, Any]:
    """Measure a model on its own held-out data and on other sets: names or `Data`; None takes what the cards name.

    `curves` are attacks on the embedded input. `rows` bounds the rows of each set; besides, `costly_rows` those of PGD,
    input gradients and sharpness, `other_rows` those of each shifted or adversarial set, and `outlier_rows` those of
    each set of outliers, drawn by the seed, every label in proportion. `progress(stage, done, total)` is told of
    everything. A set that a card names and that is not to be had here is in `left_out`.
    """
    for attack in curves:
        if attack not in GRIDS:
            raise InputError(f"unknown curve {attack!r}; {did_you_mean(attack, GRIDS)}")
    bounds = (rows, costly_rows, other_rows, outlier_rows)
    run = Run(model, tokenizer, data, batch_size, max_length, *bounds, seed=seed, stage=progress)
    others = {kind: labelled_sets(run, kind, sets) for kind, sets in (("shift", shift), ("adversarial", adversarial))}
    outliers = outlier_sets(run, anomaly)  # all of them are looked for before anything slow begins
    result = own_data(run)
    for kind, found in others.items():
        result[kind] = {one.name: jsons(measured_shift(run, one)) for one in found}
    if data.task == "classification":
        result |= classifier_only(run, outliers, curves)
    if landscape:
        result["landscape"] = flatness(run)
    if pretrained is not None:
        result["drift"] = drift(run, pretrained)
    return result | {"perspectives": perspectives(result), "left_out": run.left_out, "seed": seed}


def jsons(figures: Mapping[str, Figure]) -> dict[str, Any]:
    return {name: figure.to_json() for name, figure in figures.items()}


def own_data(run: Run) -> dict[str, Any]:
    """The task metrics of every held-out split (MNLI has two); the first is the one that other stages use."""
    splits = held_out(run.data)
    figures = {}
    for split in splits:
        rows = pooled(run.data, [split], run.rows, run.seed)
        found = run.probabilities(split, rows)
        figures[split] = jsons(measure(run.data.metrics, found, labels_of(rows), run.seed))
        if run.data.task == "classification" and run.own is None:
            run.own = found
            figures[split]["calibration"] = calibration(found, labels_of(rows))
    first = figures.pop(splits[0])
    parts = {"calibration": first.pop("calibration")} if "calibration" in first else {}
    return {"data": run.data.name, "split": splits[0], "clean": first, "other_splits": figures, **parts}


def classifier_only(run: Run, outliers: Sequence[Other], curves: Sequence[str]) -> dict[str, Any]:
    """What a regression does not have."""
    result: dict[str, Any] = {"anomaly": {}}
    for one in outliers:
        outside = confidence(run.probabilities(one.name, one.rows))
        result["anomaly"][one.name] = jsons(detection(confidence(run.own), outside, seed=run.seed))
    result["perturbation"] = {attack: curve(run, attack, GRIDS[attack]) for attack in curves}
    return result


def own_rows(run: Run, limit: int | None = None) -> Rows:
    return pooled(run.data, held_out(run.data)[:1], run.bound(limit), run.seed)


def curve(run: Run, attack: Any, epsilons: Sequence[float]) -> dict[str, Any]:
    """Accuracy at each epsilon, and the mean fall at the paper's three."""
    rows = own_rows(run, run.costly_rows if attack == "pgd" else None)
    labels = checked_labels(run.model, rows)
    subject = Subject(unwrapped(run.model), run.tokenizer, texts_of(rows), labels, run.batch_size, run.max_length)
    right = surviving(subject, epsilons, Search(attack, seed=run.seed), run.progress(attack))
    clean = right[list(epsilons).index(0.0)]
    paper = right[[place for place, epsilon in enumerate(epsilons) if epsilon in PAPER_EPSILONS]]
    return {
        "points": [point(epsilon, kept) for epsilon, kept in zip(epsilons, right, strict=True)],
        "mean_drop": mean(clean - paper.mean(0)).to_json(),
    }


def flatness(run: Run) -> dict[str, Any]:
    rows = own_rows(run, run.costly_rows)
    norm = input_gradient_norm(run.model, run.tokenizer, rows, **run.sizes("input gradient"))
    found = sharpness(run.model, run.tokenizer, rows, seed=run.seed, **run.sizes("sharpness"))
    return {"input_gradient_norm": norm.to_json(), "sharpness": found.to_json()}


def drift(run: Run, pretrained: nn.Module) -> dict[str, Any]:
    """CKA of each layer, the embeddings first, and the distance of the weights."""
    texts = texts_of(own_rows(run))
    sizes = {**run.sizes("similarity"), "seed": run.seed}
    layers = layer_similarity(run.model, pretrained, run.tokenizer, texts, **sizes)
    distance = weight_distance(run.model, pretrained)
    return {"cka": [figure.to_json() for figure in layers], "weight_distance": distance.to_json()}


def measured_shift(run: Run, one: Other) -> dict[str, Figure]:
    return shift(run.model, run.tokenizer, one, **run.sizes(one.name))


def labelled_sets(run: Run, kind: str, sets: Sets) -> list[Other]:
    """The other sets of a kind, found and with their labels matched."""
    settings: dict[str, Any] = {"task": run.data.name, "limit": run.bound(run.other_rows), "seed": run.seed}
    return gathered(run, kind, sets, lambda source: other(source, run.data.labels, **settings))


def outlier_sets(run: Run, sets: Sets) -> list[Other]:
    """Texts from elsewhere, whatever their labels."""

    def find(source: str | Data) -> Other:
        data = source if isinstance(source, Data) else load(source, labelled=False)
        rows = pooled(data, held_out(data, labelled=False), run.bound(run.outlier_rows), run.seed)
        return Other(data.name, rows, None)

    return gathered(run, "anomaly", sets, find)


def gathered(run: Run, kind: str, sets: Sets, find: Callable[[str | Data], Other]) -> list[Other]:
    """The sets that were asked for; of those that the cards name, the ones that are here."""
    if sets is not None:
        return [find(source) for source in sets]
    found = []
    for card, use in evaluation_sets(run.data.name):
        if use.kind == kind:
            try:
                found.append(find(card.name))
            except InputError as error:
                run.left_out[card.name] = str(error)
    return found


def main(figures: Mapping[str, Any]) -> float:
    """The accuracy, or the first of the metrics of a task that has none (CoLA, STS-B)."""
    return float((figures.get("accuracy") or next(iter(figures.values())))["value"])


def perspectives(result: Mapping[str, Any]) -> dict[str, float]:
    """The numbers that `relative_improvement` compares, of those that were measured.

    The adversarial one is the mean over adversarial sets; without any, the accuracy under PGD at the paper's epsilons.
    """
    own = [result["clean"], *result["other_splits"].values()]
    sets = {kind: list(result[kind].values()) for kind in ("shift", "adversarial")}
    found = {
        "in_distribution": [max(0.0, main(split)) for split in own],
        **{kind: [one["accuracy"]["value"] for one in some if "accuracy" in one] for kind, some in sets.items()},
        "calibration": [one["ece"]["value"] for some in sets.values() for one in some if "ece" in one],
        "anomaly": [one["auroc"]["value"] for one in result.get("anomaly", {}).values()],
    }
    if "calibration" in result:
        found["calibration"].append(result["calibration"]["ece"]["value"])
    if not found["adversarial"] and "pgd" in result.get("perturbation", {}):
        points = result["perturbation"]["pgd"]["points"]
        found["adversarial"] = [point["accuracy"] for point in points if point["epsilon"] > 0]
    return {name: float(np.mean(values)) for name, values in found.items() if values}
