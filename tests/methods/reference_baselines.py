"""Literal transcriptions of the baselines' equations in float64: the gradient that each method must leave in `.grad`.

    reference(model, batch, options) -> gradient by parameter name

Written from the papers with loops over examples, tokens and steps; nothing of uegr.pieces is used. Random numbers are
replayed: the caller seeds torch as before the real step, and the same numbers are drawn in the same order.
"""

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

Batch = dict[str, Tensor]
Gradients = dict[str, Tensor]
Options = dict[str, Any]

# Options at which each method differs visibly from plain fine-tuning on a tiny model.
OPTIONS: dict[str, Options] = {
    "pgd": {"epsilon": 0.5, "step": 0.3},
    "freelb": {"epsilon": 0.5, "step": 0.3, "steps": 4},
    "sam": {"rho": 0.5},
    "awp": {"gamma": 0.1, "epsilon": 0.3},
    "smart": {"epsilon": 0.2, "sigma": 0.15, "step": 0.1, "steps": 2, "smoothness": 3.0},
    "r3f": {"sigma": 0.2, "strength": 2.0},
}


def logits_of(model: nn.Module, batch: Batch, move: Tensor | None = None) -> Tensor:
    """z(x + move)."""
    layer = model.get_input_embeddings()
    hook = layer.register_forward_hook(lambda module, inputs, output: output if move is None else output + move)
    try:
        return model(**{key: value for key, value in batch.items() if key != "labels"})["logits"]
    finally:
        hook.remove()


def loss_of(logits: Tensor, labels: Tensor) -> Tensor:
    """The mean cross-entropy, or the mean squared error of a regression."""
    total = torch.zeros((), dtype=torch.float64)
    for row, label in zip(logits, labels, strict=True):
        if len(row) == 1:
            total = total + (row[0] - label) ** 2
        else:
            total = total - torch.log(torch.exp(row[int(label)]) / torch.exp(row).sum())
    return total / len(labels)


def kl_both_ways(one: Tensor, other: Tensor) -> Tensor:
    """mean over examples of KL(P || Q) + KL(Q || P); of a regression the squared difference."""
    total = torch.zeros((), dtype=torch.float64)
    for a, b in zip(one, other, strict=True):
        if len(a) == 1:
            total = total + (a[0] - b[0]) ** 2
            continue
        p, q = torch.exp(a) / torch.exp(a).sum(), torch.exp(b) / torch.exp(b).sum()
        for c in range(len(p)):
            total = total + p[c] * torch.log(p[c] / q[c]) + q[c] * torch.log(q[c] / p[c])
    return total / len(one)


def slopes(value: Tensor, model: nn.Module) -> Gradients:
    """d value / d theta of every parameter that trains."""
    weights = {name: weight for name, weight in model.named_parameters() if weight.requires_grad}
    found = torch.autograd.grad(value, list(weights.values()), allow_unused=True)
    return {name: slope for name, slope in zip(weights, found, strict=True) if slope is not None}


def added(*parts: Gradients) -> Gradients:
    return {name: sum((part[name] for part in parts[1:]), parts[0][name]) for name in parts[0]}


def size(values: Tensor) -> float:
    """||values||_2."""
    return math.sqrt(math.fsum(value**2 for value in values.flatten().tolist()))


def shape_of(model: nn.Module, batch: Batch) -> tuple[int, ...]:
    return (*batch["input_ids"].shape, model.get_input_embeddings().weight.shape[-1])


def uniform_noise(model: nn.Module, batch: Batch) -> Tensor:
    """U(-1, 1), nothing on padding."""
    noise = torch.empty(shape_of(model, batch), dtype=torch.float64).uniform_(-1, 1)
    noise[batch["attention_mask"] == 0] = 0.0
    return noise


def small_start(model: nn.Module, batch: Batch, radius: float) -> Tensor:
    """U(-radius, radius) / sqrt(tokens * d), example by example."""
    noise = uniform_noise(model, batch)
    for i in range(len(noise)):
        noise[i] *= radius / math.sqrt(int(batch["attention_mask"][i].sum()) * noise.shape[-1])
    return noise


def slope_of_move(model: nn.Module, batch: Batch, move: Tensor, value: Callable[[Tensor], Tensor]) -> Tensor:
    """d value(z(x + move)) / d move, nothing on padding."""
    leaf = move.clone().requires_grad_()
    (slope,) = torch.autograd.grad(value(logits_of(model, batch, leaf)), leaf)
    slope[batch["attention_mask"] == 0] = 0.0
    return slope


def climbed(move: Tensor, slope: Tensor, step: float, radius: float) -> Tensor:
    """move + step slope / ||slope||, back onto the ball of the radius, example by example."""
    result = torch.zeros_like(move)
    for i in range(len(move)):
        result[i] = move[i] + step * slope[i] / size(slope[i])
        result[i] *= min(1.0, radius / size(result[i]))
    return result


def pgd(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Madry et al. 2018."""
    labels = batch["labels"]
    clean = slopes(loss_of(logits_of(model, batch), labels), model)
    move = small_start(model, batch, options["epsilon"])
    for _ in range(options["steps"]):
        slope = slope_of_move(model, batch, move, lambda logits: loss_of(logits, labels))
        move = climbed(move, slope, options["step"], options["epsilon"])
    return added(clean, slopes(loss_of(logits_of(model, batch, move), labels), model))


def rdrop(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Liang et al. 2021; both passes are one forward, so that the dropout masks are those of the batch twice."""
    count = len(batch["labels"])
    logits = logits_of(model, {name: torch.cat([values, values]) for name, values in batch.items()})
    one, other = logits[:count], logits[count:]
    task = (loss_of(one, batch["labels"]) + loss_of(other, batch["labels"])) / 2
    apart = kl_both_ways(one, other)
    halved = apart if logits.shape[-1] == 1 else apart / 2
    return slopes(task + options["alpha"] * halved, model)


def freelb(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Zhu et al. 2020, algorithm 1, with one dropout mask for all steps."""
    move = small_start(model, batch, options["epsilon"])
    masks = torch.get_rng_state()
    found = []
    for _ in range(options["steps"]):
        torch.set_rng_state(masks)
        found.append(slopes(loss_of(logits_of(model, batch, move), batch["labels"]) / options["steps"], model))
        torch.set_rng_state(masks)
        slope = slope_of_move(model, batch, move, lambda logits: loss_of(logits, batch["labels"]))
        move = climbed(move, slope, options["step"], options["epsilon"])
    return added(*found)


def sam(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Foret et al. 2021, eq. 2 and 3, with one dropout mask for both passes."""
    masks = torch.get_rng_state()
    direction = slopes(loss_of(logits_of(model, batch), batch["labels"]), model)
    length = math.sqrt(math.fsum(size(slope) ** 2 for slope in direction.values()))
    torch.set_rng_state(masks)
    there = at(model, {name: options["rho"] * slope / length for name, slope in direction.items()})
    return slopes(loss_of(logits_of(there, batch), batch["labels"]), there)


def at(model: nn.Module, moves: Gradients) -> nn.Module:
    """The model with its weights moved."""
    there = copy.deepcopy(model)
    with torch.no_grad():
        for name, weight in there.named_parameters():
            weight.copy_(weight + moves[name] if name in moves else weight)
    return there


def awp(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Wu et al. 2020, its input found by one step of FGM."""
    still = torch.zeros(shape_of(model, batch), dtype=torch.float64)
    slope = slope_of_move(model, batch, still, lambda logits: loss_of(logits, batch["labels"]))
    move = torch.stack([options["epsilon"] * row / size(row) for row in slope])
    masks = torch.get_rng_state()
    direction = slopes(loss_of(logits_of(model, batch, move), batch["labels"]), model)
    weights = dict(model.named_parameters())
    moves = {
        name: options["gamma"] * size(weights[name].detach()) * slope / size(slope)
        for name, slope in direction.items()
        if slope.dim() > 1 and size(slope) > 0
    }
    torch.set_rng_state(masks)
    there = at(model, moves)
    return slopes(loss_of(logits_of(there, batch, move), batch["labels"]), there)


def neftune(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Jain et al. 2024, algorithm 1."""
    noise = small_start(model, batch, options["alpha"])
    return slopes(loss_of(logits_of(model, batch, noise), batch["labels"]), model)


def r3f(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Aghajanyan et al. 2021, with uniform noise."""
    clean = logits_of(model, batch)
    noisy = logits_of(model, batch, options["sigma"] * uniform_noise(model, batch))
    return slopes(loss_of(clean, batch["labels"]) + options["strength"] * kl_both_ways(clean, noisy), model)


def smart(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Jiang et al. 2020, at the first step, where theta~ = theta but for the dropout mask."""
    goal = logits_of(model, batch).detach()
    clean = logits_of(model, batch)
    move = torch.empty(shape_of(model, batch), dtype=torch.float64).normal_() * options["sigma"]
    move[batch["attention_mask"] == 0] = 0.0
    for _ in range(options["steps"]):
        slope = slope_of_move(model, batch, move, lambda logits: kl_both_ways(logits, clean.detach()))
        for i, t in (batch["attention_mask"] == 1).nonzero().tolist():
            move[i, t] += options["step"] * slope[i, t] / max(abs(value) for value in slope[i, t].tolist())
        clipped = [max(-options["epsilon"], min(options["epsilon"], value)) for value in move.flatten().tolist()]
        move = torch.tensor(clipped, dtype=torch.float64).view(move.shape)
    smooth = kl_both_ways(logits_of(model, batch, move), clean)
    task, near = loss_of(clean, batch["labels"]), kl_both_ways(clean, goal)
    return slopes(task + options["smoothness"] * smooth + options["proximal"] * near, model)


def lpft(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Kumar et al. 2022, while probing: the head alone has a gradient."""
    found = slopes(loss_of(logits_of(model, batch), batch["labels"]), model)
    return {name: slope for name, slope in found.items() if name.startswith("classifier.")}


REFERENCES: dict[str, Callable[[nn.Module, Batch, Options], Gradients]] = {
    "pgd": pgd,
    "rdrop": rdrop,
    "freelb": freelb,
    "sam": sam,
    "awp": awp,
    "neftune": neftune,
    "r3f": r3f,
    "smart": smart,
    "lpft": lpft,
}
