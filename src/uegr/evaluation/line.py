"""One text, moved along its own gradient: the probabilities at every radius of FGM, and where the label changes.

    delta = radius g / ||g||_2,  g the gradient of the loss of the label that the model gives to the clean text

The direction does not depend on the radius, so one backward pass serves the whole line (evaluation/perturbation.py). A
radius is relative: 1 is the mean norm of the word vectors. The norm runs over all tokens of the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from uegr.errors import InputError
from uegr.evaluation.perturbation import ascent
from uegr.models.texts import Text, batches, evaluating, is_regression, scores
from uegr.pieces.checks import check_epsilon
from uegr.pieces.embedding import Batch, perturbed, repeated, unwrapped, word_norm
from uegr.pieces.perturbation import unit, zero_start

FINER = 50  # parts of the first step in which the label changes


@dataclass(frozen=True)
class Line:
    """Probabilities (radii, classes), and the smallest radius at which the label is another; None if it never is."""

    radii: tuple[float, ...]
    probabilities: NDArray[np.float64]
    flips: float | None

    @property
    def labels(self) -> NDArray[np.int64]:
        """The number of the label at each radius."""
        found: NDArray[np.int64] = self.probabilities.argmax(1)
        return found


@dataclass(frozen=True)
class Course:
    """A text's batch of one row, and the direction of its loss, as long as the mean word vector."""

    model: nn.Module
    batch: Batch
    direction: Tensor  # (1, tokens, dimensions)
    temperature: float

    @torch.inference_mode()
    def at(self, radii: Sequence[float]) -> NDArray[np.float64]:
        """Probabilities at each radius, (radii, classes)."""
        steps = torch.tensor(radii, dtype=self.direction.dtype, device=self.direction.device)
        many = repeated(self.batch, len(radii))
        with perturbed(self.model, steps[:, None, None] * self.direction, many):
            logits = self.model(**many).logits
        found: NDArray[np.float64] = scores(self.model, logits, temperature=self.temperature).cpu().numpy()
        return found


def fgm_line(
    model: nn.Module,
    tokenizer: Any,
    text: Text,
    radii: Sequence[float],
    *,
    max_length: int | None = None,
    temperature: float = 1.0,
) -> Line:
    """The line of a text or pair at growing radii, of which the first is 0. Dropout is off; no `.grad` is touched."""
    radii = tuple(check_epsilon(float(radius)) for radius in radii)
    if not radii or radii[0] != 0 or list(radii) != sorted(set(radii)):
        raise InputError(f"expected growing radii from 0, got {radii}")
    if is_regression(model):
        raise InputError("expected a classifier, got a regression, which has no label to lose")
    inner = unwrapped(model)
    with evaluating(inner):
        ((_, batch),) = batches(inner, tokenizer, [text], max_length=max_length)
        course = started(inner, batch, temperature)
        found = course.at(radii)
        return Line(radii, found, first_flip(course, radii, found))


def started(model: nn.Module, batch: Batch, temperature: float) -> Course:
    """The direction in which the loss of the model's own label grows."""
    with torch.inference_mode():
        labels = model(**batch).logits.argmax(-1)
    _, gradient = ascent(model, batch, labels.clone(), zero_start(model, batch), temperature)
    return Course(model, batch, word_norm(model) * unit(gradient, batch, "example"), temperature)


def first_flip(course: Course, radii: Sequence[float], found: NDArray[np.float64]) -> float | None:
    """The smallest radius with another label, to a fiftieth of the step in which it lies."""
    others = np.flatnonzero(found.argmax(1) != found[0].argmax())
    if not len(others):
        return None
    last, first = radii[others[0] - 1], radii[others[0]]
    between = np.linspace(last, first, FINER + 1)[1:]
    changed = np.flatnonzero(course.at(between.tolist()).argmax(1) != found[0].argmax())
    return float(between[changed[0]]) if len(changed) else first
