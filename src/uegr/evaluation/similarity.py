"""How far fine-tuning moved a model from its pretrained weights.

Linear CKA of each layer (Kornblith et al. 2019; UEGR fig. 2a), with the columns of X and Y centred over texts:

    CKA(X, Y) = ||Y'X||_F^2 / (||X'X||_F ||Y'Y||_F)

X and Y are one layer's states of the same texts in the two models, averaged over a text's tokens (`pooling="mean"`), or
those of its first token (`"first"`), or one row per token (`"tokens"`); the papers do not say which. The products are
summed batch by batch in float64, so that memory does not grow with the texts. The interval is a jackknife over batches
of unbiased estimates (Song et al. 2012; Nguyen et al. 2021), which need little memory: three numbers per batch. Where
fewer than two of its values are defined, as with a single batch, the interval is not known.

"Under perturbation" (UEGR fig. 2a has three strengths) is our reading: both models see the same moved input, one step
of FGM against the fine-tuned model.

Weight distance (RIFT fig. 2): ||w - w_0||_2 / ||w_0||_2 over all weights of the encoder together.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from uegr.errors import InputError
from uegr.evaluation.perturbation import ascent, checked_labels
from uegr.models.texts import Progress, Rows, Text, batches, evaluating, texts_of
from uegr.pieces.embedding import Batch, perturbed, token_mask, unwrapped
from uegr.pieces.perturbation import unit, zero_start
from uegr.statistics.intervals import NORMAL_95, Figure

Pooling = Literal["mean", "first", "tokens"]
DUST = 1e-20  # times the squared length of a state: what rounding leaves when all rows are the same
MOST_ROWS = 256  # of a batch that the interval uses: there may be many tokens, and their kernel is rows by rows


class Comparison:
    """Linear CKA of two representations that arrive batch by batch, (rows, features) each."""

    def __init__(self) -> None:
        self.rows = 0
        self.shift: tuple[Tensor, Tensor] | None = None
        self.products: list[Tensor] = []  # X'X, X'Y, Y'Y of the shifted rows
        self.sums: list[Tensor] = []
        self.parts: list[np.ndarray] = []  # unbiased estimates of XX, XY, YY, one of each batch

    def add(self, x: Tensor, y: Tensor) -> None:
        x, y = x.double(), y.double()
        if self.shift is None:  # near the mean, so that nothing cancels when the true mean is subtracted at the end
            self.shift = x.mean(0), y.mean(0)
        x, y = x - self.shift[0], y - self.shift[1]
        products, sums = [x.T @ x, x.T @ y, y.T @ y], [x.sum(0), y.sum(0)]
        self.products = [a + b for a, b in zip(self.products, products, strict=True)] if self.products else products
        self.sums = [a + b for a, b in zip(self.sums, sums, strict=True)] if self.sums else sums
        self.rows += len(x)
        if len(x) >= 4:
            some = slice(None, None, -(-len(x) // MOST_ROWS))
            k, l = without_diagonal(x[some] @ x[some].T), without_diagonal(y[some] @ y[some].T)  # noqa: E741
            self.parts.append(np.array([unbiased(k, k), unbiased(k, l), unbiased(l, l)]))

    def value(self) -> float:
        """CKA of all rows so far; NaN where one side does not vary, as the embedding of a first token [CLS]."""
        if self.shift is None:
            return math.nan
        x, y = self.sums
        sums = [torch.outer(x, x), torch.outer(x, y), torch.outer(y, y)]
        centred = [product - outer / self.rows for product, outer in zip(self.products, sums, strict=True)]
        xx, xy, yy = (float(torch.linalg.matrix_norm(matrix)) for matrix in centred)
        varies = [size > DUST * self.rows * float(at @ at) for size, at in zip((xx, yy), self.shift, strict=True)]
        return xy**2 / (xx * yy) if all(varies) else math.nan

    def figure(self) -> Figure:
        """CKA with its interval, whose ends are NaN where they are not known."""
        value = self.value()
        half = NORMAL_95 * jackknife(np.array(self.parts).reshape(-1, 3))
        if not math.isfinite(value + half):
            return Figure(value, math.nan, math.nan, self.rows)
        return Figure(value, max(0.0, value - half), min(1.0, value + half), self.rows)


def without_diagonal(kernel: Tensor) -> Tensor:
    return kernel - torch.diag(kernel.diagonal())


def unbiased(k: Tensor, l: Tensor) -> float:  # noqa: E741
    """The unbiased estimate of HSIC from two kernels without their diagonals (Song et al. 2012, eq. 5)."""
    n = len(k)
    across = (k * l).sum() + k.sum() * l.sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * (k.sum(0) * l.sum(0)).sum()
    return float(across) / (n * (n - 3))


def jackknife(parts: np.ndarray) -> float:
    """The standard error of XY / sqrt(XX YY) from the sums over batches of (XX, XY, YY), (batches, 3).

    A value without one of the batches whose XX or YY is not positive is undefined and does not count.

    >>> jackknife(np.array([[1.0, 0.5, 1.0], [1.0, 0.5, 1.0]])), jackknife(np.ones((1, 3)))
    (0.0, nan)
    """
    xx, xy, yy = (parts.sum(0) - parts).T  # each with one batch left out
    defined = (xx > 0) & (yy > 0)
    ratios = xy[defined] / np.sqrt(xx[defined] * yy[defined])
    n = len(ratios)
    return float(np.sqrt((n - 1) / n * ((ratios - ratios.mean()) ** 2).sum())) if n > 1 else math.nan


def linear_cka(x: Any, y: Any) -> float:
    """CKA of two matrices (rows, features).

    >>> x = torch.tensor([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0]])
    >>> round(linear_cka(x, 5 * x + 1), 12)
    1.0
    """
    comparison = Comparison()
    comparison.add(torch.as_tensor(x), torch.as_tensor(y))
    return comparison.value()


def layer_similarity(
    model: nn.Module,
    reference: nn.Module,
    tokenizer: Any,
    texts: Sequence[Text],
    *,
    pooling: Pooling = "mean",
    batch_size: int = 32,
    max_length: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Figure]:
    """CKA of each layer between two models of one architecture, the embeddings first."""
    if pooling not in ("mean", "first", "tokens"):
        raise InputError(f"expected pooling mean, first or tokens, got {pooling!r}")
    shuffled = [texts[row] for row in order_of(len(texts), seed)]
    layers: list[Comparison] = []
    with evaluating(model), evaluating(reference), torch.inference_mode():
        for _, batch in batches(
            model,
            tokenizer,
            shuffled,
            batch_size=batch_size,
            max_length=max_length,
            sort=False,
            progress=progress,
        ):
            add(layers, states(model, batch, pooling), states(reference, batch, pooling))
    return [layer.figure() for layer in layers]


def perturbed_similarity(
    model: nn.Module,
    reference: nn.Module,
    tokenizer: Any,
    rows: Rows,
    *,
    epsilons: Sequence[float],
    batch_size: int = 32,
    max_length: int | None = None,
    seed: int = 0,
) -> dict[float, list[Figure]]:
    """CKA of each layer of two classifiers that see the same input, moved by each epsilon along the model's gradient.

    The move is FGM's (evaluation/perturbation.py), from the loss of each row's own label; epsilon 0 is no move.
    """
    order, texts, labels = order_of(len(rows), seed), texts_of(rows), checked_labels(model, rows)
    found: dict[float, list[Comparison]] = {epsilon: [] for epsilon in epsilons}
    sizes: dict[str, Any] = {"batch_size": batch_size, "max_length": max_length, "sort": False}
    with evaluating(model), evaluating(reference):
        for places, batch in batches(model, tokenizer, [texts[row] for row in order], **sizes):
            some = labels[order[places]].to(batch["input_ids"].device)
            direction = unit(ascent(model, batch, some, zero_start(model, batch))[1], batch, "example")
            for epsilon, layers in found.items():
                delta = epsilon * direction
                with torch.no_grad(), perturbed(model, delta, batch), perturbed(reference, delta, batch):
                    add(layers, states(model, batch, "mean"), states(reference, batch, "mean"))
    return {epsilon: [layer.figure() for layer in layers] for epsilon, layers in found.items()}


def order_of(rows: int, seed: int) -> NDArray[np.int64]:
    """The rows in a random order: the jackknife needs similar batches."""
    return np.random.default_rng(seed).permutation(rows)


def add(layers: list[Comparison], ours: Sequence[Tensor], theirs: Sequence[Tensor]) -> None:
    """Add the states of a batch to the comparison of each layer; the first batch says how many layers there are."""
    if len(ours) != len(theirs):
        raise InputError(f"expected two models with equally many layers, got {len(ours)} and {len(theirs)}")
    layers += [] if layers else [Comparison() for _ in ours]
    for layer, x, y in zip(layers, ours, theirs, strict=True):
        layer.add(x, y)


def states(model: nn.Module, batch: Batch, pooling: Pooling) -> list[Tensor]:
    """Each layer's states of a batch, (rows, features)."""
    hidden = model(**batch, output_hidden_states=True).hidden_states
    mask = token_mask(batch)
    if pooling == "tokens":
        return [layer[mask.bool()] for layer in hidden]
    if pooling == "first":
        first = mask.argmax(1)
        return [layer[torch.arange(len(mask), device=mask.device), first] for layer in hidden]
    weights = (mask.double() / mask.sum(1, keepdim=True).clamp(min=1)).unsqueeze(-1)
    return [(layer * weights).sum(1) for layer in hidden]


def weight_distance(model: nn.Module, reference: nn.Module) -> Figure:
    """The distance of the encoder's weights, relative to the reference's length; n counts weights, and is exact."""
    ours, theirs = encoder_weights(model), encoder_weights(reference)
    if ours.keys() != theirs.keys() or any(ours[name].shape != theirs[name].shape for name in ours):
        odd = sorted(ours.keys() ^ theirs.keys()) or ["another shape"]
        raise InputError(
            f"expected two models with the same encoder weights, got differences such as {odd[0]}; "
            "merge an adapter into its model first"
        )
    apart = sum(float((ours[name].double() - theirs[name].double()).square().sum()) for name in ours)
    length = sum(float(weight.double().square().sum()) for weight in theirs.values())
    value = math.sqrt(apart / length) if length else math.nan
    return Figure(value, value, value, sum(weight.numel() for weight in ours.values()))


def encoder_weights(model: nn.Module) -> dict[str, Tensor]:
    """The weights below the head, by name."""
    encoder: Any = unwrapped(model).base_model
    return {name: weight.detach() for name, weight in encoder.named_parameters()}
