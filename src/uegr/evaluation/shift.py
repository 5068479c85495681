"""Accuracy on other data with the same labels: what is left of a model when the domain changes.

A label of the model may have another name there, or several of its labels may be one (HANS knows only
`non-entailment`): the answer is the label with the largest probability, translated (McCoy et al. 2019). Rows whose
label no answer of the model can mean are left out; n counts what is measured.
"""

from typing import Any

import numpy as np
from torch import nn

from uegr.errors import InputError
from uegr.evaluation.calibration import BINS, calibration_error, tempered
from uegr.evaluation.metrics import measure
from uegr.evaluation.sets import Other
from uegr.models.texts import Progress, labels_of, probabilities, texts_of
from uegr.statistics.intervals import Figure, share_of


def shift(
    model: nn.Module,
    tokenizer: Any,
    other: Other,
    *,
    batch_size: int = 64,
    max_length: int | None = None,
    progress: Progress | None = None,
    bins: int = BINS,
    temperature: float = 1.0,
) -> dict[str, Figure]:
    """Accuracy and calibration error, after a temperature, on the other data; its own metrics for a regression."""
    sizes: dict[str, Any] = {"batch_size": batch_size, "max_length": max_length, "progress": progress}
    labels, texts = labels_of(other.rows), texts_of(other.rows)
    if other.meaning is None:
        return measure(other.metrics, probabilities(model, tokenizer, texts, **sizes), labels)
    kept = np.flatnonzero(np.isin(labels, [place for place in other.meaning if place >= 0]))
    if not len(kept):
        raise InputError(f"{other.name} has no rows whose label the model knows")
    found = probabilities(model, tokenizer, [texts[row] for row in kept], **sizes)
    right = np.array(other.meaning)[found.argmax(1)] == labels[kept]
    confidence = tempered(found, temperature).max(1)
    return {"accuracy": share_of(right), "ece": calibration_error(confidence, right, bins=bins)}
