"""What each perspective was measured on (uegr.evaluation.suite), and the improvement: only the same is compared."""

from typing import Any

from uegr.report.figures import Entry, Quantity, bare
from uegr.result import Evaluation
from uegr.statistics import relative_improvement


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


def improvement(evaluation: Evaluation, base: Evaluation, base_name: str) -> Entry | None:
    """The share of the gap to perfect that is closed; None where nothing can be compared."""
    same = [name for name, of in made_of(evaluation).items() if made_of(base).get(name) == of]
    own, other = ({name: one.perspectives[name] for name in same} for one in (evaluation, base))
    gained = relative_improvement(own, other, base_name=base_name)
    if gained.value is None:
        return None
    perspectives = ", ".join(gained.perspectives).replace("_", " ")
    label = f"closed of the gap that {gained.base} leaves, mean over {perspectives}"
    return Entry(Quantity("improvement", label, "improvement"), bare(gained.value / 100, 0))
