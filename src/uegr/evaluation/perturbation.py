"""Accuracy when the embedded input is moved by at most epsilon (UEGR fig. 2b).

`fgm`: one step along the gradient of the loss, delta = epsilon g / ||g||_2 (Miyato et al. 2017). The direction does not
depend on epsilon, so one backward pass serves the whole curve.
`noise`: a step of the same length in a random direction, which no attacker chose.
`pgd`: the FGM point first, then from each of `restarts` random points `steps` steps of length `step` times epsilon,
each followed by a projection into the ball (Madry et al. 2018).

A row counts as right only if the clean text and every point that was visited are classified correctly. The random
points of a row depend only on the seed and the row's number, and the length of a step does not depend on the number of
steps. So more steps or restarts visit the same points, until a row is broken, and then others: they never find less,
and PGD never finds less than FGM.

The gradient of a row's loss at its logits z is (1 - p_y) (q - e_y), with q the probabilities among the wrong classes. A
confident row has 1 - p_y = 1e-40 or so, which float32 rounds to 0: the model would look robust because its logits are
large. Only the direction counts here, so the factor is left out; and q is taken after the `temperature` that fits the
model, as attacks on words are. So the scale of the logits decides nothing.

A radius is in the units of the word vectors, or `relative` to their mean norm: a model does not gain by longer vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from uegr.errors import InputError
from uegr.models.texts import Progress, Rows, Text, batches, evaluating, is_regression, labels_of, texts_of
from uegr.pieces.checks import check_epsilon
from uegr.pieces.embedding import Batch, perturbed, token_mask, unwrapped, word_norm
from uegr.pieces.perturbation import Norm, check_norm, project, unit, zero_start
from uegr.result import Point
from uegr.statistics.intervals import share_of
from uegr.statistics.rows import packed

EPSILONS = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5, 1.0)


@dataclass(frozen=True)
class Search:
    """What is tried on each row; `step` is a fraction of epsilon for any number of steps."""

    attack: Literal["fgm", "pgd", "noise"] = "fgm"
    steps: int = 10
    restarts: int = 3
    step: float = 0.25
    norm: Norm = "example"
    seed: int = 0
    temperature: float = 1.0  # that the logits are divided by before the loss is taken

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise InputError(f"expected temperature > 0, got {self.temperature}")
        if self.attack not in ("fgm", "pgd", "noise"):
            raise InputError(f"expected attack to be fgm, pgd or noise, got {self.attack!r}")
        if self.steps < 1 or self.restarts < 1 or not self.step > 0:
            raise InputError(
                "expected steps >= 1, restarts >= 1 and step > 0, "
                f"got steps={self.steps}, restarts={self.restarts}, step={self.step}"
            )
        if check_norm(self.norm) == "matrix":
            raise InputError("expected norm example, token or max: 'matrix' makes an example depend on its batch")


@dataclass(frozen=True)
class Subject:
    """The model under test and its rows."""

    model: nn.Module
    tokenizer: Any
    texts: list[Text]
    labels: Tensor
    batch_size: int = 64
    max_length: int | None = None

    def batches(self, rows: np.ndarray, progress: Progress | None) -> Any:
        """Row numbers, batch and labels of the chosen rows."""
        texts = [self.texts[row] for row in rows]
        for places, batch in batches(
            self.model,
            self.tokenizer,
            texts,
            batch_size=self.batch_size,
            max_length=self.max_length,
            progress=progress,
        ):
            yield rows[places], batch, self.labels[rows[places]].to(batch["input_ids"].device)


def perturbation_curve(
    model: nn.Module,
    tokenizer: Any,
    rows: Rows,
    *,
    epsilons: Sequence[float] = EPSILONS,
    attack: Literal["fgm", "pgd", "noise"] = "fgm",
    steps: int = 10,
    restarts: int = 3,
    step: float = 0.25,
    norm: Norm = "example",
    batch_size: int = 64,
    max_length: int | None = None,
    seed: int = 0,
    temperature: float = 1.0,
    relative: bool = False,
    progress: Progress | None = None,
) -> list[Point]:
    """A `Point` of epsilon and accuracy for each epsilon, over rows of text, maybe pair, and label.

    With `relative`, the epsilons are multiples of the mean norm of the word vectors. `temperature` is the one that fits
    the model. Dropout is off, no parameter's `.grad` or `requires_grad` is touched. `progress(done, total)` counts
    passes of rows.
    """
    search = Search(attack, steps, restarts, step, norm, seed, temperature)
    subject = Subject(unwrapped(model), tokenizer, texts_of(rows), checked_labels(model, rows), batch_size, max_length)
    return points(subject, epsilons, search, relative, progress)[0]


def points(
    subject: Subject, epsilons: Sequence[float], search: Search, relative: bool, progress: Progress | None
) -> tuple[list[Point], np.ndarray]:
    """The accuracy at each epsilon, and whether each row is right there, (epsilons, rows)."""
    unit_length = word_norm(subject.model) if relative else 1.0
    right = surviving(subject, [unit_length * epsilon for epsilon in epsilons], search, progress)
    found = [
        Point(
            epsilon=unit_length * epsilon,
            accuracy=share_of(kept),
            relative=epsilon if relative else None,
            right=packed(kept),
        )
        for epsilon, kept in zip(epsilons, right, strict=True)
    ]
    return found, right


def checked_labels(model: nn.Module, rows: Rows) -> Tensor:
    """The labels as class numbers of the model."""
    if is_regression(model):
        raise InputError("expected a classifier, got a regression, which has no accuracy to lose")
    config: Any = unwrapped(model).config
    labels = labels_of(rows)
    if labels.min() < 0 or labels.max() >= config.num_labels:
        raise InputError(
            f"expected labels from 0 to {config.num_labels - 1}, which the model knows, got {labels.min()} "
            f"to {labels.max()}"
        )
    return torch.as_tensor(labels, dtype=torch.long)


def surviving(
    subject: Subject, epsilons: Sequence[float], search: Search, progress: Progress | None = None
) -> np.ndarray:
    """Whether each row is still right, (epsilons, rows)."""
    epsilons = [check_epsilon(float(epsilon)) for epsilon in epsilons]
    rows = len(subject.texts)
    total = rows * (1 + len(epsilons) if search.attack == "pgd" else 1)
    with evaluating(subject.model):
        first = noisy if search.attack == "noise" else one_step
        right = first(subject, epsilons, search, shifted(progress, 0, total))
        for index, epsilon in enumerate(epsilons if search.attack == "pgd" else ()):
            left = np.flatnonzero(right[index]) if epsilon > 0 else np.arange(0)
            done = shifted(progress, rows * (index + 2) - len(left), total)
            for some, batch, labels in subject.batches(left, done):
                right[index, some] = climbed(subject.model, batch, labels, some, epsilon, search)
    if progress:
        progress(total, total)
    return right


def shifted(progress: Progress | None, before: int, total: int) -> Progress | None:
    """Progress of one stage as progress of the whole."""
    return progress and (lambda done, _: progress(before + done, total))


def one_step(subject: Subject, epsilons: list[float], search: Search, progress: Progress | None) -> np.ndarray:
    """FGM at every epsilon from one clean gradient, (epsilons, rows)."""
    right = np.zeros((len(epsilons), len(subject.texts)), dtype=bool)
    for rows, batch, labels in subject.batches(np.arange(len(subject.texts)), progress):
        start = zero_start(subject.model, batch)
        clean, gradient = ascent(subject.model, batch, labels, start, search.temperature)
        direction = unit(gradient, batch, search.norm)
        for index, epsilon in enumerate(epsilons):
            still = hits(subject.model, batch, labels, epsilon * direction) if epsilon > 0 else clean
            right[index, rows] = clean & still
    return right


def noisy(subject: Subject, epsilons: list[float], search: Search, progress: Progress | None) -> np.ndarray:
    """A step in a random direction at every epsilon, the same direction for all, (epsilons, rows)."""
    right = np.zeros((len(epsilons), len(subject.texts)), dtype=bool)
    for rows, batch, labels in subject.batches(np.arange(len(subject.texts)), progress):
        direction = random_start(subject.model, batch, rows, 1.0, search, 0)
        clean = hits(subject.model, batch, labels, torch.zeros_like(direction))
        for index, epsilon in enumerate(epsilons):
            right[index, rows] = clean & hits(subject.model, batch, labels, epsilon * direction)
    return right


@torch.inference_mode()
def hits(model: nn.Module, batch: Batch, labels: Tensor, delta: Tensor) -> np.ndarray:
    """Which rows are classified correctly at this delta."""
    with perturbed(model, delta, batch):
        return agrees(model(**batch).logits, labels)


def agrees(logits: Tensor, labels: Tensor) -> np.ndarray:
    return (logits.argmax(-1) == labels).cpu().numpy()


def ascent(
    model: nn.Module, batch: Batch, labels: Tensor, delta: Tensor, temperature: float = 1.0
) -> tuple[np.ndarray, Tensor]:
    """Which rows are right at delta, and the direction there in which each row's own loss grows."""
    with torch.enable_grad(), perturbed(model, delta, batch):
        logits = model(**batch).logits
        (gradient,) = torch.autograd.grad(logits, delta, uphill(logits.detach(), labels, temperature))
    return agrees(logits, labels), gradient


def uphill(logits: Tensor, labels: Tensor, temperature: float) -> Tensor:
    """The gradient of each row's cross-entropy at its logits, (rows, classes), without the factor 1 - p_y.

    >>> uphill(torch.tensor([[1000.0, 0.0, 0.0]]), torch.tensor([0]), 1.0)
    tensor([[-1.0000,  0.5000,  0.5000]])
    """
    own = nn.functional.one_hot(labels, logits.shape[-1]).bool()
    others = (logits.double() / temperature).masked_fill(own, -torch.inf).softmax(-1)
    return torch.where(own, -1.0, others).to(logits.dtype)


def climbed(
    model: nn.Module, batch: Batch, labels: Tensor, rows: np.ndarray, epsilon: float, search: Search
) -> np.ndarray:
    """PGD within epsilon: which rows are right at every point of every restart.

    A row leaves the batch once it is broken, and in a later restart at the step at which it broke before. So the rows
    of the batch at a step of a restart depend only on points that every search with at least as many steps and restarts
    visits, and the numbers are bitwise the same in a larger search.
    """
    never = search.steps + 1
    broken = np.full(len(rows), never)  # the first step, of any restart so far, at which a row was wrong
    for restart in range(search.restarts):
        here, delta = np.arange(len(rows)), random_start(model, batch, rows, epsilon, search, restart)
        for step in range(search.steps + 1):  # the last round takes no step
            stays = torch.as_tensor(broken[here] > step)
            here, delta = here[stays.numpy()], delta[stays.to(delta.device)]
            if not len(here):
                break
            part = {name: value[here] for name, value in batch.items()}
            now, gradient = ascent(model, part, labels[here], delta.requires_grad_(), search.temperature)
            broken[here[~now]] = step
            moved = delta.detach() + search.step * epsilon * unit(gradient, part, search.norm)
            delta = project(moved, epsilon, search.norm)
    right: np.ndarray = broken == never
    return right


def random_start(
    model: nn.Module, batch: Batch, rows: np.ndarray, epsilon: float, search: Search, restart: int
) -> Tensor:
    """A random point of the ball's surface for each row, drawn from the seed, the row's number and the restart."""
    delta = zero_start(model, batch).detach()
    for place, row, mask in zip(range(len(rows)), rows, token_mask(batch).bool(), strict=True):
        generator = np.random.default_rng((search.seed, int(row), restart))
        noise = generator.standard_normal((int(mask.sum()), delta.shape[-1]))
        delta[place, mask] = torch.as_tensor(noise, dtype=delta.dtype, device=delta.device)
    return epsilon * unit(delta, batch, search.norm)
