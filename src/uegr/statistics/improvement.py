"""One number for several perspectives on robustness (UEGR's table III, after RoAST: Kim et al. 2023).

    improvement = mean over perspectives of (score - base) / (best - base), in percent

best is 1 for accuracy and AUROC and 0 for ECE. 100% closes the whole gap that the base leaves; a negative value is
worse than the base. Where the base is perfect there is no gap: the perspective is left out, and the result names it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from uegr.errors import InputError, did_you_mean

BEST = {"in_distribution": 1.0, "shift": 1.0, "adversarial": 1.0, "calibration": 0.0, "anomaly": 1.0}


@dataclass(frozen=True)
class Improvement:
    """In percent: the mean, and each perspective it is the mean of; None where nothing could be compared."""

    value: float | None
    perspectives: dict[str, float]
    left_out: tuple[str, ...]  # where the base is perfect, or only one of the two was measured
    base: str

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "left_out": list(self.left_out)}


def relative_improvement(
    scores: Mapping[str, float],
    base: Mapping[str, float],
    *,
    best: Mapping[str, float] = BEST,
    base_name: str = "vanilla",
) -> Improvement:
    """Scores and base by perspective, as shares from 0 to 1.

    >>> relative_improvement({"shift": 0.9, "calibration": 0.06}, {"shift": 0.8, "calibration": 0.08}).perspectives
    {'shift': 50.0, 'calibration': 25.0}
    """
    check_perspectives(scores, best)
    check_perspectives(base, best)
    common = [name for name in best if name in scores and name in base and base[name] != best[name]]
    gains = {name: gain(scores[name], base[name], best[name]) for name in common}
    left_out = tuple(name for name in best if (name in scores or name in base) and name not in gains)
    return Improvement(sum(gains.values()) / len(gains) if gains else None, gains, left_out, base_name)


def gain(score: float, base: float, best: float) -> float:
    """The part of the gap between base and best that the score closes, in percent, free of floating-point dust."""
    return round(100 * (score - base) / (best - base), 10)


def check_perspectives(scores: Mapping[str, float], best: Mapping[str, float] = BEST) -> None:
    """Refuse names that are not known and percentages."""
    for name, value in scores.items():
        if name not in best:
            raise InputError(f"unknown perspective {name!r}; {did_you_mean(name, best)}")
        if not 0 <= value <= 1:
            raise InputError(f"expected {name} as a share from 0 to 1, got {value}; divide percentages by 100")
