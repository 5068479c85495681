"""What is measured of a trained model: every figure with its number of examples and an interval.

from uegr.evaluation import perturbation_curve, probabilities, score
score(["accuracy"], probabilities(model, tokenizer, texts), labels)
perturbation_curve(model, tokenizer, rows, epsilons=(0.01, 0.25, 0.5), attack="pgd", restarts=5)
"""

from uegr.evaluation.intervals import Figure
from uegr.evaluation.metrics import METRICS, measure, score
from uegr.evaluation.perturbation import perturbation_curve
from uegr.evaluation.predict import probabilities

__all__ = ["METRICS", "Figure", "measure", "perturbation_curve", "probabilities", "score"]
