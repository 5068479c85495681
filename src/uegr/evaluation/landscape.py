"""How flat the loss is around the inputs and around the weights: what the theory claims, as figures.

`input_gradient_norm`: the mean over examples of ||dL_i/dx_i||_2, the "gradient penalty" that adversarial training keeps
small (UEGR, section V). `sharpness`: the rise of the mean loss when the weights move by at most rho (Keskar et al.
2017, Foret et al. 2021): the worst of the gradient's direction and of some random ones, so a lower bound.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from uegr.errors import InputError
from uegr.models.texts import Progress, Rows, batches, evaluating, is_regression, labels_of, texts_of
from uegr.pieces.embedding import Batch, perturbed, token_mask, unwrapped
from uegr.pieces.perturbation import zero_start
from uegr.pieces.weights import gradients, moved, steepest, trainable
from uegr.statistics.intervals import Figure, mean


def loss_of_each(model: nn.Module, batch: Batch, labels: Tensor) -> Tensor:
    """Each row's own loss, (rows,), in float64: cross-entropy, or the squared error of a regression."""
    logits: Tensor = model(**batch).logits.double()
    if is_regression(model):
        return (logits.reshape(-1) - labels) ** 2
    return nn.functional.cross_entropy(logits, labels.long(), reduction="none")


@dataclass(frozen=True)
class Sample:
    """The model and the rows it is measured on."""

    model: nn.Module
    tokenizer: Any
    rows: Rows
    batch_size: int
    max_length: int | None

    def batches(self, progress: Progress | None = None) -> Iterator[tuple[np.ndarray, dict[str, Tensor], Tensor]]:
        """Row numbers, batch and labels."""
        labels = torch.as_tensor(labels_of(self.rows))
        for rows, batch in batches(
            self.model,
            self.tokenizer,
            texts_of(self.rows),
            batch_size=self.batch_size,
            max_length=self.max_length,
            progress=progress,
        ):
            yield rows, batch, labels[rows].to(batch["input_ids"].device)

    @torch.inference_mode()
    def losses(self, progress: Progress | None = None) -> np.ndarray:
        """Each row's loss, (rows,)."""
        result = np.zeros(len(self.rows))
        for rows, batch, labels in self.batches(progress):
            result[rows] = loss_of_each(self.model, batch, labels).cpu().numpy()
        return result

    def gradient(self, weights: dict[str, nn.Parameter], progress: Progress | None = None) -> dict[str, Tensor]:
        """The gradient of the mean loss; no `.grad` is touched."""
        total: dict[str, Tensor] = {}
        for _, batch, labels in self.batches(progress):
            with torch.enable_grad():
                loss = loss_of_each(self.model, batch, labels).sum() / len(self.rows)
                found = gradients(loss, weights)
            for name, gradient in found.items():
                total[name] = total[name] + gradient if name in total else gradient
        return total


def input_gradient_norm(
    model: nn.Module,
    tokenizer: Any,
    rows: Rows,
    *,
    batch_size: int = 64,
    max_length: int | None = None,
    progress: Progress | None = None,
) -> Figure:
    """The mean length of the gradient of a row's loss with respect to its embedded tokens, dropout off."""
    sample = Sample(unwrapped(model), tokenizer, rows, batch_size, max_length)
    norms = np.zeros(len(rows))
    with evaluating(model):
        for places, batch, labels in sample.batches(progress):
            delta = zero_start(sample.model, batch)
            with torch.enable_grad(), perturbed(sample.model, delta, batch):
                (gradient,) = torch.autograd.grad(loss_of_each(sample.model, batch, labels).sum(), delta)
            inside = gradient.double() * token_mask(batch).unsqueeze(-1)
            norms[places] = inside.flatten(1).norm(dim=1).cpu().numpy()
    return mean(norms)


@dataclass(frozen=True)
class Sharpness:
    """The rise of the mean loss, with its interval over examples, in the worst direction that was tried."""

    rise: Figure
    rho: float
    direction: str  # gradient, random 1, random 2, ..., or none when every one falls


def sharpness(
    model: nn.Module,
    tokenizer: Any,
    rows: Rows,
    *,
    rho: float = 0.05,
    directions: int = 5,
    batch_size: int = 64,
    max_length: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Sharpness:
    """The worst rise of the loss within rho of the trainable weights, which are bitwise the same afterwards."""
    if not 0 < rho < float("inf") or directions < 0:
        raise InputError(f"expected rho > 0 and directions >= 0, got rho={rho}, directions={directions}")
    weights = trainable(model)
    if not weights:
        raise InputError("expected a model with trainable weights to move, got one whose weights are all frozen")
    sample = Sample(unwrapped(model), tokenizer, rows, batch_size, max_length)
    worst, name = np.zeros(len(rows)), "none"  # the centre lies in the ball too
    with evaluating(model):
        clean = sample.losses()
        for place, (title, direction) in enumerate(candidates(sample, weights, directions, seed)):
            with moved(weights, steepest(direction, rho)):
                rise = sample.losses() - clean
            if rise.mean() > worst.mean():
                worst, name = rise, title
            if progress:
                progress(place + 1, directions + 1)
    return Sharpness(mean(worst), rho, name)


def candidates(
    sample: Sample, weights: dict[str, nn.Parameter], directions: int, seed: int
) -> Iterator[tuple[str, dict[str, Tensor]]]:
    """The directions to try, one at a time in memory: the gradient, then normal noise."""
    yield "gradient", sample.gradient(weights)
    generator = torch.Generator().manual_seed(seed)
    for number in range(1, directions + 1):
        noise = {
            name: torch.randn(weight.shape, generator=generator).to(weight.device, weight.dtype)
            for name, weight in weights.items()
        }
        yield f"random {number}", noise
