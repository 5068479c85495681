"""What each perspective of an evaluation was measured on: only the same is compared (uegr.evaluation.suite)."""

from typing import Any

from uegr.result import Evaluation


def made_of(evaluation: Evaluation) -> dict[str, Any]:
    """The splits, sets and radii behind each perspective that it has."""
    splits = [evaluation.split, *evaluation.other_splits]
    curve = evaluation.perturbation.get("pgd") or evaluation.perturbation.get("pgd_relative")
    radii = [(point.relative, None if point.relative else point.epsilon) for point in curve.points] if curve else []
    shift, adversarial = sorted(evaluation.shift), sorted(evaluation.adversarial)
    bins = evaluation.calibration.bins if evaluation.calibration else None
    found = {
        "in_distribution": splits,
        "shift": shift,
        "adversarial": adversarial or radii,
        "calibration": (splits, shift, adversarial, bins),
        "anomaly": sorted(evaluation.anomaly),
    }
    return {name: of for name, of in found.items() if name in evaluation.perspectives}
