"""Figures about a trained model: every figure with its number of examples and an interval.

    from uegr.evaluation import Sets, evaluate, perturbation_curve, probabilities, score
    score(["accuracy"], probabilities(model, tokenizer, texts), labels)
    perturbation_curve(model, tokenizer, rows, epsilons=(0.01, 0.25, 0.5), attack="pgd", restarts=5)
    evaluate(model, tokenizer, Sets("mine", {"test": rows}, metrics=("accuracy",), labels=("bad", "good")))

`uegr.runs.sets.gathered` finds sets by name: a shift of the domain, adversarial texts, outliers.

docs/evaluation.md says what each figure means.
"""

from uegr.evaluation.anomaly import anomaly
from uegr.evaluation.calibration import brier, calibration, expected_calibration_error, reliability
from uegr.evaluation.landscape import input_gradient_norm, sharpness
from uegr.evaluation.metrics import METRICS, measure, score
from uegr.evaluation.perturbation import perturbation_curve
from uegr.evaluation.sets import Other, Sets
from uegr.evaluation.similarity import layer_similarity, linear_cka, perturbed_similarity, weight_distance
from uegr.evaluation.suite import Radii, evaluate, perspectives
from uegr.models.texts import probabilities
from uegr.statistics.improvement import relative_improvement
from uegr.statistics.intervals import Figure
from uegr.statistics.significance import holm, mcnemar, paired

__all__ = [
    "METRICS",
    "Figure",
    "Other",
    "Radii",
    "Sets",
    "anomaly",
    "brier",
    "calibration",
    "evaluate",
    "expected_calibration_error",
    "holm",
    "input_gradient_norm",
    "layer_similarity",
    "linear_cka",
    "mcnemar",
    "measure",
    "paired",
    "perspectives",
    "perturbation_curve",
    "perturbed_similarity",
    "probabilities",
    "relative_improvement",
    "reliability",
    "score",
    "sharpness",
    "weight_distance",
]
