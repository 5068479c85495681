"""Literal transcriptions of the first five methods, in the convention of reference_baselines.py.

UEGR's own is uegr_reference.py, where every example runs alone; R-AT's K passes here are one forward a piece of the
batch, so that the dropout masks are those of the piece repeated.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import torch
from torch import nn

from tests.methods import plus_reference
from tests.methods.reference_baselines import (
    Batch,
    Gradients,
    Options,
    added,
    kl_both_ways,
    logits_of,
    loss_of,
    shape_of,
    size,
    slopes,
)
from tests.methods.selection_reference import keep_probabilities, masked
from tests.methods.uegr_reference import pieces, reference_step
from uegr.pieces.schedule import Moment

OPTIONS: dict[str, dict[str, Any]] = {"fgm": {"epsilon": 0.5}, "rat": {"epsilon": 0.5}, "rat_su": {"epsilon": 0.5}}


def vanilla(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """CE(x)."""
    return slopes(loss_of(logits_of(model, batch), batch["labels"]), model)


def mean_length(model: nn.Module, ids: torch.Tensor, mask: torch.Tensor) -> float:
    """The mean Euclidean length of the word vectors of one text."""
    lengths = [size(model.get_input_embeddings().weight[word]) for word, real in zip(ids, mask, strict=True) if real]
    return sum(lengths) / len(lengths)


def clean_and_move(model: nn.Module, batch: Batch, options: Options) -> tuple[Gradients, torch.Tensor]:
    """The gradient of CE(x), and delta_i = epsilon g_i / ||g_i|| of the same pass."""
    radii = [options["epsilon"]] * len(batch["labels"])
    if options["epsilon_relative"]:
        texts = zip(radii, batch["input_ids"], batch["attention_mask"], strict=True)
        radii = [radius * mean_length(model, ids, mask) for radius, ids, mask in texts]
    start = torch.zeros(shape_of(model, batch), dtype=torch.float64, requires_grad=True)
    loss = loss_of(logits_of(model, batch, start), batch["labels"])
    (slope,) = torch.autograd.grad(loss, start, retain_graph=True)
    slope[batch["attention_mask"] == 0] = 0.0
    delta = torch.stack([radius * row / size(row) for radius, row in zip(radii, slope, strict=True)])
    return slopes(loss, model), delta


def fgm(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """CE(x) + CE(x + delta)."""
    clean, move = clean_and_move(model, batch, options)
    return added(clean, slopes(loss_of(logits_of(model, batch, move), batch["labels"]), model))


def rat(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Ni et al. 2022, eq. 9: CE(x), the mean adversarial CE, and alpha times the mean symmetric KL of the pairs."""
    clean, move = clean_and_move(model, batch, options)
    passes, count = options["submodels"], len(batch["labels"])
    found: list[list[torch.Tensor]] = [[] for _ in range(passes)]
    start = 0
    for length in pieces(count, options["split"] or passes):
        rows = slice(start, start + length)
        many = {name: torch.cat([values[rows]] * passes) for name, values in batch.items()}
        for own, logits in zip(
            found, logits_of(model, many, torch.cat([move[rows]] * passes)).split(length), strict=True
        ):
            own.append(logits)
        start += length
    each = [torch.cat(own) for own in found]
    task = sum(loss_of(logits, batch["labels"]) for logits in each) / passes
    pairs = [kl_both_ways(one, other) for one, other in combinations(each, 2)]
    halved = sum(pairs) / len(pairs) / (1 if each[0].shape[-1] == 1 else 2)
    weight = options.get("consistency_weight", options["alpha"])  # rat_su's alpha is the selection's
    return added(clean, slopes(task + weight * halved, model))


def rat_su(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """R-AT, then UEGR's eq. 7 to 9."""
    return selected(rat(model, batch, options), options)


def uegr(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Eq. 2 to 9."""
    return selected(reference_step(model, batch, options, {}).gradients, options)


def uegr_plus(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Its own forward stage, then eq. 7 to 9."""
    found = plus_reference.reference_step(model, batch, options)["gradients"]
    return selected(found, {"score": "rank", "keep": "salient"} | options)


def selected(found: Gradients, options: Options) -> Gradients:
    return masked(found, keep_probabilities(found, options), Moment(), rescale=True)


REFERENCES: dict[str, Callable[[nn.Module, Batch, Options], Gradients]] = {
    "vanilla": vanilla,
    "fgm": fgm,
    "rat": rat,
    "rat_su": rat_su,
    "uegr": uegr,
    "uegr_plus": uegr_plus,
}
