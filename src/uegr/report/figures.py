"""The figures of one task of one run: each with what it is of, its 95% interval and the rows behind it."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from uegr.result import Attack, Calibration, Evaluation, Figures, Task
from uegr.statistics import Figure

LESS_IS_MORE = {"ece", "brier", "fpr95", "mean_drop", "success_rate", "sharpness", "input_gradient_norm", "rmse", "mse"}
LESS_IS_MORE |= {"ece_calibrated"}
NEITHER = {"weight_distance", "words_changed", "words_changed_share", "queries"}
SHARES = {
    "ece",
    "ece_calibrated",
    "fpr95",
    "auroc",
    "aupr",
    "aupr_out",
    "mean_drop",
    "success_rate",
    "words_changed_share",
}
SHARES |= {
    "accuracy",
    "f1",
    "macro_f1",
    "balanced_accuracy",
    "matthews",
    "pearson",
    "spearman",
    "accuracy_after",
    "improvement",
}
SPOKEN = {
    "ece": "calibration error (ECE)",
    "ece_calibrated": "calibration error (ECE) after a temperature",
    "brier": "Brier score",
    "auroc": "AUROC",
    "aupr": "AUPR",
    "aupr_out": "AUPR, outliers positive",
    "fpr95": "FPR95",
    "f1": "F1",
    "macro_f1": "macro F1",
    "mean_drop": "mean drop in accuracy",
    "accuracy_after": "accuracy under attack",
    "success_rate": "attack success rate",
    "words_changed": "words changed",
    "words_changed_share": "share of words changed",
    "queries": "queries per example",
    "input_gradient_norm": "norm of the input gradient",
    "sharpness": "sharpness of the loss",
    "weight_distance": "distance of the weights from pretraining",
}


@dataclass(frozen=True)
class Quantity:
    """What a figure is of: `key` is its path, `label` what a person reads, `of` what a column summarises.

    A column is the mean of what was measured: these sets, these radii, an attack with these settings. Only columns of
    the same are compared.
    """

    key: str
    label: str
    metric: str
    of: tuple[str, ...] = ()

    @property
    def place(self) -> str:
        """The set, radius or attack that a figure is on.

        >>> Quantity("perturbation/fgm within 0.1/accuracy", "", "accuracy").place
        'fgm within 0.1'
        """
        return "/".join(self.key.split("/")[1:-1])

    @property
    def share(self) -> bool:
        """Whether it is shown in percent."""
        return self.metric in SHARES

    @property
    def of_rows(self) -> bool:
        """Whether n counts rows; that of a distance of weights counts these."""
        return self.metric != "weight_distance"

    @property
    def better(self) -> int:
        """1: more is better, -1: less is, 0: neither."""
        return -1 if self.metric in LESS_IS_MORE else 0 if self.metric in NEITHER else 1


@dataclass(frozen=True)
class Entry:
    """One line of a run's figures."""

    quantity: Quantity
    figure: Figure
    right: tuple[str, ...] = ()  # which rows are right, for each figure that this is the mean of (statistics/rows.py)


Entries = dict[str, Entry]  # by key


def figures_of(task: Task) -> Entries:
    """Every figure in the order of measuring; of two with the same key, the one that rests on more rows."""
    found: Entries = {}
    for entry in (*evaluated(task.evaluation), *scored(task), *attacked(task.attacks)):
        before = found.get(entry.quantity.key)
        if before is None or entry.figure.n > before.figure.n:
            found[entry.quantity.key] = entry
    return found


def evaluated(evaluation: Evaluation | None) -> Iterator[Entry]:
    """What `uegr evaluate` measured."""
    if evaluation is None:
        return
    for split, scores in {evaluation.split: evaluation.clean, **evaluation.other_splits}.items():
        yield from each("clean", split, scores)
    for attack, curve in evaluation.perturbation.items():
        for point in curve.points:
            if point.epsilon > 0:
                named = f"{spelt(attack)} within {point.size:g}"
                yield from each("perturbation", named, {"accuracy": point.accuracy}, point.right)
        yield from each("perturbation", spelt(attack), {"mean_drop": curve.mean_drop})
    sets = {"shift": evaluation.shift, "adversarial": evaluation.adversarial, "anomaly": evaluation.anomaly}
    for kind, some in sets.items():
        for name, scores in some.items():
            yield from each(kind, name, scores)
    yield from about_the_model(evaluation)


def spelt(curve: str) -> str:
    """What a curve is called.

    >>> spelt("pgd_relative"), spelt("fgm")
    ('relative pgd', 'fgm')
    """
    attack, _, kind = curve.partition("_")
    return f"{kind} {attack}".strip()


def about_the_model(evaluation: Evaluation) -> Iterator[Entry]:
    """What was measured once per model."""
    if evaluation.calibration is not None:
        yield from each("calibration", "", calibration_figures(evaluation.calibration))
    if evaluation.landscape is not None:
        yield from each("landscape", "", dict(evaluation.landscape))
    if evaluation.drift is not None:
        yield from each("drift", "", {"weight_distance": evaluation.drift.weight_distance})


def calibration_figures(found: Calibration) -> Figures:
    """The errors that were measured; the calibrated one is after the temperature of the task."""
    figures = {"ece": found.ece, "brier": found.brier}
    return figures if found.ece_calibrated is None else figures | {"ece_calibrated": found.ece_calibrated}


def scored(task: Task) -> Iterator[Entry]:
    """The scores at the end of training, the test split first."""
    for split in sorted(task.scores, key=lambda name: name != "test"):
        yield from each("clean", split, task.scores[split], task.right.get(split))


def attacked(attacks: Mapping[str, Attack]) -> Iterator[Entry]:
    """The summaries of word attacks; means over successes and searches have no interval."""
    for name, attack in attacks.items():
        yield from each("attack", name, {"accuracy_after": attack.accuracy_after}, attack.right)
        if attack.success_rate is not None:
            yield from each("attack", name, {"success_rate": attack.success_rate})
        means = {
            "words_changed_share": attack.words_changed_share,
            "words_changed": attack.words_changed,
            "queries": attack.queries,
        }
        known = {metric: value for metric, value in means.items() if value is not None}
        yield from each("attack", name, {metric: bare(value, attack.examples) for metric, value in known.items()})


def bare(value: float, n: int) -> Figure:
    """A figure without an interval."""
    return Figure(value, math.nan, math.nan, n)


def each(kind: str, name: str, scores: Figures, right: str | None = None) -> Iterator[Entry]:
    """The known figures of one set; its accuracy is made of the rows that are `right`."""
    for metric, figure in scores.items():
        if math.isfinite(figure.value):
            rows = (right,) if right and metric in ("accuracy", "accuracy_after") else ()
            yield Entry(quantity(kind, name, metric), figure, rows)


def quantity(kind: str, name: str, metric: str) -> Quantity:
    """What a metric on a set is called.

    >>> quantity("perturbation", "fgm within 0.1", "accuracy")
    Quantity(key='perturbation/fgm within 0.1/accuracy', label='accuracy, fgm within 0.1', metric='accuracy', of=())
    """
    spoken = SPOKEN.get(metric, metric.replace("_", " "))
    key = "/".join(part for part in (kind, name, metric) if part)
    return Quantity(key, f"{spoken}, {name}" if name else spoken, metric)


def number(value: Any) -> float | None:
    """A finite number, or None: settings and printed figures come from YAML.

    >>> number(3), number("3"), number(True)
    (3.0, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
