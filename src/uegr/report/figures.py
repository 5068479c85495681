"""A run's figures, one by one: each with its 95% interval, the rows behind it, and which way is better."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

NORMAL_95 = 1.959963984540054  # the 97.5% quantile of the standard normal distribution
LESS_IS_MORE = {"ece", "brier", "fpr95", "mean_drop", "success_rate", "sharpness", "input_gradient_norm", "rmse", "mse"}
NEITHER = {"weight_distance", "words_changed", "words_changed_share", "queries"}
SHARES = {"ece", "fpr95", "auroc", "aupr", "aupr_out", "mean_drop", "success_rate", "words_changed_share"}
SHARES |= {"accuracy", "f1", "macro_f1", "matthews", "pearson", "spearman", "accuracy_after", "improvement"}
SPOKEN = {
    "ece": "calibration error (ECE)",
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
    "queries": "queries an example",
    "input_gradient_norm": "norm of the input gradient",
    "sharpness": "sharpness of the loss",
    "weight_distance": "distance of the weights from pretraining",
}


@dataclass(frozen=True)
class Figure:
    """One number of one run. `key` is its path, `label` what a person reads; low and high bound it at 95%."""

    key: str
    label: str
    metric: str
    value: float
    low: float | None = None
    high: float | None = None
    n: int | None = None

    @property
    def share(self) -> bool:
        """Whether it is shown in percent."""
        return self.metric in SHARES

    @property
    def better(self) -> int:
        """1: more is better, -1: less is, 0: neither."""
        return -1 if self.metric in LESS_IS_MORE else 0 if self.metric in NEITHER else 1


def figures_of(result: Mapping[str, Any]) -> dict[str, Figure]:
    """Every figure of a result.json by its key, in the order of measuring; what was not measured is not there."""
    evaluation = result.get("evaluation") or {}
    found = [*evaluated(evaluation), *scored(result, set(own_splits(evaluation))), *attacked(result)]
    return {figure.key: figure for figure in found}


def own_splits(evaluation: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The held-out splits of the run's own data, the main one first."""
    if not evaluation:
        return {}
    return {evaluation["split"]: evaluation["clean"], **evaluation.get("other_splits", {})}


def evaluated(evaluation: Mapping[str, Any]) -> Iterator[Figure]:
    """What `uegr evaluate` measured."""
    for split, scores in own_splits(evaluation).items():
        yield from each("clean", split, scores)
    for attack, curve in evaluation.get("perturbation", {}).items():
        for point in curve["points"]:
            if point["epsilon"] > 0:
                name = f"{attack} within {point['epsilon']:g}"
                yield from each("perturbation", name, {"accuracy": point | {"value": point["accuracy"]}})
        yield from each("perturbation", attack, {"mean_drop": curve.get("mean_drop")})
    for kind in ("shift", "adversarial", "anomaly"):
        for name, scores in evaluation.get(kind, {}).items():
            yield from each(kind, name, scores)
    calibration = evaluation.get("calibration", {})
    yield from each("calibration", "", {name: calibration.get(name) for name in ("ece", "brier")})
    yield from each("landscape", "", evaluation.get("landscape", {}))
    yield from each("drift", "", {"weight_distance": evaluation.get("drift", {}).get("weight_distance")})


def each(kind: str, name: str, scores: Mapping[str, Any]) -> Iterator[Figure]:
    """The figures among the scores of one set."""
    for metric, stored in scores.items():
        if isinstance(stored, Mapping) and number(stored.get("value")) is not None:
            yield figure(kind, name, metric, stored)


def figure(kind: str, name: str, metric: str, stored: Mapping[str, Any]) -> Figure:
    key = "/".join(part for part in (kind, name, metric) if part)
    low, high = number(stored.get("low")), number(stored.get("high"))
    rows = stored.get("n")
    return Figure(key, label(metric, name), metric, float(stored["value"]), low, high, rows and int(rows))


def label(metric: str, name: str) -> str:
    """As people say it.

    >>> label("accuracy", "fgm within 0.1"), label("ece", "")
    ('accuracy, fgm within 0.1', 'calibration error (ECE)')
    """
    spoken = SPOKEN.get(metric, metric.replace("_", " "))
    return f"{spoken}, {name}" if name else spoken


def scored(result: Mapping[str, Any], known: set[str]) -> Iterator[Figure]:
    """The scores at the end of training, of splits that were not measured again."""
    splits = {name: scores for name, scores in result.get("scores", {}).items() if name not in known}
    for split in sorted(splits, key=lambda name: name != "test"):
        rows = splits[split].get("n")
        for metric, value in splits[split].items():
            if metric != "n" and number(value) is not None:
                low, high = wilson(value, rows) if metric == "accuracy" and rows else (None, None)
                yield figure("clean", split, metric, {"value": value, "low": low, "high": high, "n": rows})


def attacked(result: Mapping[str, Any]) -> Iterator[Figure]:
    """The summaries of word attacks."""
    for name, summary in result.get("attacks", {}).items():
        rows = summary["examples"]
        for metric in ("accuracy_after", "success_rate", "words_changed_share", "words_changed", "queries"):
            value = number(summary.get(metric))
            if value is not None:
                low, high = wilson(value, rows) if metric == "accuracy_after" else (None, None)
                yield figure("attack", name, metric, {"value": value, "low": low, "high": high, "n": rows})


def number(value: Any) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def wilson(share: float, n: int, z: float = NORMAL_95) -> tuple[float, float]:
    """Wilson's 95% interval of a share of n rows.

    >>> low, high = wilson(0.0, 10)
    >>> round(low, 3), round(high, 3)
    (0.0, 0.278)
    """
    square = z * z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def separate_mean(key: str, name: str, figures: Sequence[Figure]) -> Figure | None:
    """The mean over separate sets; their errors are independent, so half-widths add in quadrature."""
    if len(figures) < 2:
        return replace(figures[0], key=key, label=name) if figures else None
    value = fmean(figure.value for figure in figures)
    low, high = None, None
    if all(figure.low is not None and figure.high is not None for figure in figures):
        below = math.sqrt(sum((f.value - f.low) ** 2 for f in figures if f.low is not None)) / len(figures)
        above = math.sqrt(sum((f.high - f.value) ** 2 for f in figures if f.high is not None)) / len(figures)
        low, high = value - below, value + above
    return Figure(key, name, figures[0].metric, value, low, high, sum(figure.n or 0 for figure in figures))


def same_rows_mean(key: str, name: str, figures: Sequence[Figure]) -> Figure | None:
    """The mean of figures that rest on the same rows; the mean of the ends is wide enough whatever they share."""
    if not figures:
        return None
    ends = [(f.low, f.high) for f in figures if f.low is not None and f.high is not None]
    low = fmean(end for end, _ in ends) if len(ends) == len(figures) else None
    high = fmean(end for _, end in ends) if len(ends) == len(figures) else None
    return Figure(key, name, figures[0].metric, fmean(f.value for f in figures), low, high, figures[0].n)
