"""UEGR's whole step in float64, written down slowly from the equations: loops over examples, tokens, units, pairs.

Nothing of uegr.pieces' mathematics is imported. Every example runs alone and without its padding. Random numbers are
replayed: the caller seeds torch as before the real step, and the same numbers are drawn in the same order of sites
(`random_bits` is plumbing). The backward stage is in selection_reference.py.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from tests.methods.dropout_reference import Site, adaptive_mask, centres, drop_rows, learned_ranks, own_mask
from uegr.pieces.masks import random_bits

Masks = list[Tensor]  # one multiplier (examples, [tokens,] units) a call of a site, in the order of the calls


@dataclass
class Reference:
    """What one step must have computed."""

    task: Tensor
    delta: list[list[list[float]]]
    ranks: dict[Site, list[float]]
    drops: dict[Site, list[list[float]]]
    adversarial: Tensor
    divergence: Tensor
    gradients: dict[str, Tensor] = field(default_factory=dict)


def reference_step(model: nn.Module, batch: dict[str, Tensor], options: dict[str, Any], before: dict) -> Reference:
    """The forward stage and the gradient of L_train; `before` are the ranks of the step before, of each site."""
    examples = [alone(batch, i) for i in range(len(batch["input_ids"]))]
    calls = site_calls(model, batch)
    own = centres(model, calls)
    count, passes = len(examples), options["submodels"]

    # 1. The clean pass: L_st, dL_st/dx and the gradient of what enters each site.
    if options["clean_dropout"] == "adaptive":
        q = {site: drop_rows(before.get(site), site[1], rate, 1, options) for site, rate in own.items()}
        clean_masks = [adaptive_mask(random_bits(shape, torch.device("cpu")), q[site]) for site, _, shape in calls]
    else:
        clean_masks = [own_mask(shape, rate) for _, rate, shape in calls]
    starts = [torch.zeros(*width(model, example), dtype=torch.float64, requires_grad=True) for example in examples]
    entered: list[list[tuple[Site, Tensor]]] = []
    losses = []
    for i, example in enumerate(examples):
        logits, seen = run(model, example, starts[i], [mask[i] for mask in clean_masks])
        losses.append(loss_of(logits, example["labels"]))
        entered.append(seen)
    task = added(losses) / count
    inputs = [values for seen in entered for _, values in seen]
    found = torch.autograd.grad(task, [*starts, *inputs], retain_graph=True, allow_unused=True)
    slopes = [slope.tolist() for slope in found[:count]]

    # 2. The perturbation, eq. 2.
    delta = perturbation(slopes, examples, options["epsilon"], options["norm"])

    # 3. Adaptive dropout: the units' ranks, then each pass's drop probabilities.
    ranks = learned_ranks(entered, found[count:]) if options["spread"] != 0 else {}
    drops = {site: drop_rows(ranks.get(site), site[1], rate, passes, options) for site, rate in own.items()}
    many = repeated_bits([shape for _, _, shape in calls], passes, count, options["split"] or passes)
    masks = [adaptive_mask(bits, drops[site]) for bits, (site, _, _) in zip(many, calls, strict=True)]

    # 4. K passes over x + delta, eq. 3.
    predicted = [
        [
            run(model, example, torch.tensor(delta[i], dtype=torch.float64), [mask[k * count + i] for mask in masks])[0]
            for i, example in enumerate(examples)
        ]
        for k in range(passes)
    ]
    each = [
        added([loss_of(z, example["labels"]) for z, example in zip(row, examples, strict=True)]) / count
        for row in predicted
    ]
    adversarial = added(each) / (passes if options["adversarial_reduction"] == "mean" else 1)  # eq. 3, eq. 10

    # 5. The divergence of every pair, eq. 4, and L_train, eq. 6.
    apart = [
        divergence_of(predicted[left][i], predicted[right][i], options["divergence"])
        for left in range(passes)
        for right in range(left + 1, passes)
        for i in range(count)
    ]
    divergence = added(apart) if apart else torch.zeros((), dtype=torch.float64)
    if options["reduction"] == "mean":
        divergence = divergence / count
    if options["pairs"] == "mean" and passes > 1:
        divergence = divergence / (passes * (passes - 1) / 2)
    whole = task + adversarial + options["divergence_weight"] * divergence
    result = Reference(task, delta, ranks, drops, adversarial, options["divergence_weight"] * divergence)
    names = dict(model.named_parameters())
    gradients = torch.autograd.grad(whole, list(names.values()), allow_unused=True)
    result.gradients = {name: g for name, g in zip(names, gradients, strict=True) if g is not None}
    return result


def pieces(count: int, split: int) -> list[int]:
    """The sizes of the pieces that the K passes run in: as equal as they can be, the larger ones first."""
    sizes = [count // split + (1 if i < count % split else 0) for i in range(split)]
    return [size for size in sizes if size]


def repeated_bits(shapes: list[torch.Size], passes: int, count: int, split: int) -> list[Tensor]:
    """The numbers of every call, drawn piece by piece, put in the order of the passes: row k * count + i."""
    drawn: list[list[Tensor]] = [[] for _ in shapes]
    for size in pieces(count, split):
        for rows, shape in zip(drawn, shapes, strict=True):
            bits = random_bits(torch.Size([passes * size, *shape[1:]]), torch.device("cpu"))
            rows.append(bits.view(passes, size, *shape[1:]))
    return [torch.cat(rows, dim=1).flatten(0, 1) for rows in drawn]


def alone(batch: dict[str, Tensor], i: int) -> dict[str, Tensor]:
    """Example i without its padding."""
    kept = [t for t in range(batch["input_ids"].shape[1]) if int(batch["attention_mask"][i, t]) == 1]
    return {
        "input_ids": batch["input_ids"][i : i + 1, kept],
        "attention_mask": batch["attention_mask"][i : i + 1, kept],
        "labels": batch["labels"][i],
        "positions": torch.tensor(kept),
    }


def width(model: nn.Module, example: dict[str, Tensor]) -> tuple[int, int]:
    return example["input_ids"].shape[1], model.get_input_embeddings().weight.shape[1]


def site_calls(model: nn.Module, batch: dict[str, Tensor]) -> list[tuple[Site, float, torch.Size]]:
    """Every call of an nn.Dropout on the whole batch, in order: its site, own rate, and shape."""
    calls: list[tuple[Site, float, torch.Size]] = []

    def note(name: str) -> Callable[..., None]:
        return lambda module, inputs: calls.append(((name, inputs[0].shape[-1]), module.p, inputs[0].shape))

    with hooked(model, lambda name, module: module.register_forward_pre_hook(note(name))), torch.no_grad():
        model.eval()
        model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"])
        model.train()
    return calls


@contextmanager
def hooked(model: nn.Module, register: Callable[[str, nn.Module], Any]) -> Iterator[None]:
    with ExitStack() as stack:
        for name, module in model.named_modules():
            if isinstance(module, nn.Dropout):
                stack.callback(register(name, module).remove)
        yield


def run(
    model: nn.Module, example: dict[str, Tensor], move: Tensor, masks: Masks
) -> tuple[Tensor, list[tuple[Site, Tensor]]]:
    """The logits of one example moved by `move`, its sites multiplied by the masks, and what entered the sites."""
    entered: list[tuple[Site, Tensor]] = []

    def replace(name: str) -> Callable[..., Tensor]:
        def multiply(module: nn.Module, inputs: tuple[Tensor], output: Tensor) -> Tensor:
            mask = masks[len(entered)]
            entered.append(((name, inputs[0].shape[-1]), inputs[0]))
            return inputs[0] * (mask[example["positions"]] if mask.dim() == 2 else mask)

        return multiply

    layer = model.get_input_embeddings()
    shift = layer.register_forward_hook(lambda module, inputs, output: output + move)
    model.eval()  # nn.Dropout passes everything on; the masks drop
    try:
        with hooked(model, lambda name, module: module.register_forward_hook(replace(name))):
            output = model(input_ids=example["input_ids"], attention_mask=example["attention_mask"])
    finally:
        model.train()
        shift.remove()
    return output["logits"][0], entered


def loss_of(logits: Tensor, label: Tensor) -> Tensor:
    """Cross-entropy of one example, or the squared error of a regression."""
    if len(logits) == 1:
        return (logits[0] - label) ** 2
    return -log_probabilities(logits)[int(label)]


def log_probabilities(logits: Tensor) -> list[Tensor]:
    normaliser = torch.log(added([torch.exp(logits[c]) for c in range(len(logits))]))
    return [logits[c] - normaliser for c in range(len(logits))]


def added(terms: list[Tensor]) -> Tensor:
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def perturbation(slopes: list, examples: list[dict[str, Tensor]], epsilon: float, norm: str) -> list:
    """Eq. 2 under each reading of its norm; per example a list of tokens, each a list of dimensions."""
    if norm == "matrix":  # the gradient of the embedding matrix: one row a word
        rows: dict[int, list[float]] = {}
        for slope, example in zip(slopes, examples, strict=True):
            for vector, word in zip(slope, example["input_ids"][0].tolist(), strict=True):
                rows[word] = [a + b for a, b in zip(rows.get(word, [0.0] * len(vector)), vector, strict=True)]
        length = math.sqrt(sum(value**2 for row in rows.values() for value in row))
        words = [example["input_ids"][0].tolist() for example in examples]
        return [[[epsilon * value / length for value in rows[word]] for word in text] for text in words]
    if norm == "sign":
        return [[[epsilon * ((v > 0) - (v < 0)) for v in vector] for vector in slope] for slope in slopes]
    moved = []
    for slope in slopes:
        whole = math.sqrt(sum(value**2 for vector in slope for value in vector))
        tokens = []
        for vector in slope:
            length = whole if norm == "example" else math.sqrt(sum(value**2 for value in vector))
            tokens.append([epsilon * value / length if length > 0 else 0.0 for value in vector])
        moved.append(tokens)
    return moved


def divergence_of(left: Tensor, right: Tensor, name: str) -> Tensor:
    """Between two predictions for one example."""
    if len(left) == 1:
        return (left[0] - right[0]) ** 2
    log_p, log_q = log_probabilities(left), log_probabilities(right)
    p, q = [torch.exp(value) for value in log_p], [torch.exp(value) for value in log_q]
    classes = range(len(left))
    if name == "js":
        middle = [(p[c] + q[c]) / 2 for c in classes]
        one = added([p[c] * torch.log(p[c] / middle[c]) for c in classes])
        other = added([q[c] * torch.log(q[c] / middle[c]) for c in classes])
        return (one + other) / 2
    if name in ("mse", "mae"):
        return added([torch.abs(p[c] - q[c]) ** (2 if name == "mse" else 1) for c in classes]) / len(left)
    if name == "ce":
        return -added([p[c] * torch.log(q[c]) for c in classes])
    forward = added([p[c] * torch.log(p[c] / q[c]) for c in classes])
    backward = added([q[c] * torch.log(q[c] / p[c]) for c in classes])
    return forward if name == "kl" else (forward + backward) / 2
