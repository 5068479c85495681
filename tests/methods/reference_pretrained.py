"""Literal transcriptions of the methods around pretrained weights and substitutes, as in reference_baselines.py.

`options["pretrained"]` are the pretrained weights by name, by default the model's own, as in a first step; a table of
substitutes is `options["table"]`, by default that of tiny_models.py. The step is EARLY: number 0 of 10, seed 0.
"""

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from tests.methods.reference_baselines import (
    Batch,
    Gradients,
    Options,
    kl_both_ways,
    logits_of,
    loss_of,
    shape_of,
    slopes,
)
from uegr.testing.models import substitutes
from uegr.testing.subject import EARLY

# Options at which each method differs visibly from plain fine-tuning on a tiny model.
OPTIONS: dict[str, Options] = {
    "ascc": {"steps": 3, "sparsity": 0.05},
    "adv_ptwd": {"steps": 3, "sparsity": 0.05, "strength": 0.7},
    "adv_mixout": {"steps": 3, "sparsity": 0.05},
    "rift": {"steps": 3, "sparsity": 0.05, "alpha": 0.7},
    "roast": {"epsilon": 0.5, "divergence_weight": 2.0},
}


def pretrained(model: nn.Module, options: Options) -> dict[str, Tensor]:
    """theta*, by name."""
    return options.get("pretrained") or {name: weight.detach().clone() for name, weight in model.named_parameters()}


def distance(model: nn.Module, options: Options) -> Tensor:
    """||theta - theta*||^2 of the encoder."""
    total, anchors = torch.zeros((), dtype=torch.float64), pretrained(model, options)
    for name, weight in model.named_parameters():
        if name.startswith("bert."):
            total = total + ((weight - anchors[name]) ** 2).sum()
    return total


def wcons(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Chen et al. 2020, eq. 8 and 9; pretrained weight decay with `anneal="constant"`."""
    t, middle = EARLY.step + 1, options["t0"] * EARLY.total if options["t0"] < 1 else options["t0"]
    weight = 1 / (1 + math.exp(-options["k"] * (t - middle)))
    task, recall = (1.0, 1.0) if options["anneal"] == "constant" else (weight, 1 - weight)
    loss = loss_of(logits_of(model, batch), batch["labels"])
    return slopes(task * loss + recall * options["strength"] / 2 * distance(model, options), model)


def is_layer(name: str) -> bool:
    """As Child-Tuning released it."""
    return "layer" in name


def child_f(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Xu et al. 2021: m g / p of every parameter, m of seed 0 and step 0."""
    found = slopes(loss_of(logits_of(model, batch), batch["labels"]), model)
    generator = torch.Generator().manual_seed(0)
    for name, slope in found.items():
        if slope.any():
            draws = torch.rand(slope.numel(), generator=generator, dtype=torch.float64).view_as(slope)
            found[name] = torch.where(draws < options["p"], slope / options["p"], 0.0)
    return found


def child_d(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Xu et al. 2021: g of the layers where the Fisher information, here of this one batch, is in the top share p."""
    with torch.random.fork_rng():
        torch.manual_seed(1)  # the first batch of the pass before training
        before = slopes(loss_of(logits_of(model, batch), batch["labels"]), model)
    squares = [slope**2 for name in before if is_layer(name) for slope in before[name].flatten().tolist()]
    squares.sort(reverse=True)
    edge = squares[math.ceil(options["p"] * len(squares)) - 1]
    found = slopes(loss_of(logits_of(model, batch), batch["labels"]), model)
    return {
        name: torch.where(before[name] * before[name] >= edge, slope, 0.0) if is_layer(name) else slope
        for name, slope in found.items()
    }


def mixture(model: nn.Module, options: Options) -> dict[str, Tensor]:
    """Lee et al. 2020, eq. 6: (m u + (1 - m) w - p u) / (1 - p) of every matrix that is not an embedding.

    A row of m is drawn and repeated for all outputs, as released; with `unit="weight"` every entry is drawn.
    """
    p, anchors, mixed = options["p"], pretrained(model, options), {}
    for name, weight in model.named_parameters():
        if name.startswith("bert.") and "embeddings" not in name and weight.dim() == 2:
            count = weight.shape[1] if options["unit"] == "neuron" else weight.numel()
            wide = torch.empty((count + 1) // 2, dtype=torch.int64).random_(-(2**63), None)
            bits = wide.view(torch.int32)[:count].double()  # uniform over 2^32 integers
            m = ((bits + 2**31 + 0.5) / 2**32 > 1 - p).double()
            m = m.repeat(len(weight), 1) if options["unit"] == "neuron" else m.view_as(weight)
            mixed[name] = (m * anchors[name] + (1 - m) * weight - p * anchors[name]) / (1 - p)
    return mixed


class Mixed(nn.Module):
    """The model with other weights, as a function."""

    def __init__(self, model: nn.Module, weights: dict[str, Tensor]) -> None:
        super().__init__()
        self.whole, self.weights = model, weights

    def get_input_embeddings(self) -> nn.Module:
        return self.whole.get_input_embeddings()

    def forward(self, **batch: Any) -> Any:
        return torch.func.functional_call(self.whole, self.weights, args=(), kwargs=batch)


def mixout(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """CE of the mixture."""
    return slopes(loss_of(logits_of(Mixed(model, mixture(model, options)), batch), batch["labels"]), model)


def kl(one: Tensor, other: Tensor) -> list[Tensor]:
    """KL(P || Q) of each example; of a regression the squared difference."""
    values = []
    for a, b in zip(one, other, strict=True):
        p, q = torch.exp(a) / torch.exp(a).sum(), torch.exp(b) / torch.exp(b).sum()
        values.append((a[0] - b[0]) ** 2 if len(a) == 1 else sum(p[c] * torch.log(p[c] / q[c]) for c in range(len(p))))
    return values


def corners(batch: Batch, options: Options) -> dict[tuple[int, int], list[int]]:
    """The substitutes of each position of the side that has any, itself first; all of a single text is that side."""
    ids, mask = (options.get("table") or substitutes())[:2]
    types = batch.get("token_type_ids", torch.zeros_like(batch["input_ids"]))
    wanted = {"first": {0}, "second": {1}, "both": {0, 1}}[options["side"]] if types.any() else {0}
    found = {}
    for i, row in enumerate(batch["input_ids"].tolist()):
        for t, token in enumerate(row):
            words = [word for word, usable in zip(ids[token].tolist(), mask[token].tolist(), strict=True) if usable]
            if len(words) > 1 and batch["attention_mask"][i, t] and int(types[i, t]) in wanted:
                found[i, t] = words
    return found


def move_to(model: nn.Module, batch: Batch, weights: dict[tuple[int, int], list[Tensor]], options: Options) -> Tensor:
    """x^ - x, where x^_t = sum_j w_tj E[word j]."""
    matrix, rows = model.get_input_embeddings().weight, []
    hull = corners(batch, options)
    for i, row in enumerate(batch["input_ids"].tolist()):
        for t, token in enumerate(row):
            point = matrix[token]
            if (i, t) in weights:
                point = sum(w * matrix[word] for w, word in zip(weights[i, t], hull[i, t], strict=True))
            rows.append(point - matrix[token])
    return torch.stack(rows).view(shape_of(model, batch))


def worst(model: nn.Module, batch: Batch, options: Options) -> dict[tuple[int, int], list[Tensor]]:
    """Dong et al. 2021, eq. 8: w = softmax(v), v by Adam on KL(P(x) || P(x^)) - sparsity sum H(w), without dropout."""
    still = copy.deepcopy(model).eval()
    hull = corners(batch, options)
    v = {place: torch.zeros(len(words), dtype=torch.float64) for place, words in hull.items()}
    first, second = ({place: torch.zeros_like(value) for place, value in v.items()} for _ in range(2))
    clean = logits_of(still, batch).detach()
    for number in range(1, options["steps"] + 1):
        leaves = {place: value.clone().requires_grad_() for place, value in v.items()}
        w = {place: torch.exp(leaf) / torch.exp(leaf).sum() for place, leaf in leaves.items()}
        entropy = sum(-(part * torch.log(part)).sum() for part in w.values())
        moved = logits_of(still, batch, move_to(still, batch, {k: list(x) for k, x in w.items()}, options))
        gain = sum(kl(clean, moved)) - options["sparsity"] * entropy
        found = torch.autograd.grad(gain, list(leaves.values()))
        for place, slope in zip(leaves, found, strict=True):
            first[place] = 0.9 * first[place] + 0.1 * slope
            second[place] = 0.999 * second[place] + 0.001 * slope**2
            root = (second[place] / (1 - 0.999**number)).sqrt() + 1e-8
            v[place] = v[place] + options["step_size"] * first[place] / (1 - 0.9**number) / root
    return {place: list(torch.exp(value) / torch.exp(value).sum()) for place, value in v.items()}


def adversarial_loss(model: nn.Module, batch: Batch, options: Options, move: Tensor) -> Tensor:
    """Eq. 9: CE(x) + beta KL(P(x) || P(x^))."""
    clean = logits_of(model, batch)
    apart = kl(clean, logits_of(model, batch, move))
    return loss_of(clean, batch["labels"]) + options["beta"] * sum(apart) / len(apart)


def ascc(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    move = move_to(model, batch, worst(model, batch, options), options)
    return slopes(adversarial_loss(model, batch, options, move), model)


def adv_ptwd(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """ASCC + strength ||theta - theta*||_2."""
    move = move_to(model, batch, worst(model, batch, options), options)
    far = distance(model, options)
    penalty = torch.sqrt(far + 1e-10) if options["distance"] == "norm" else far / 2
    return slopes(adversarial_loss(model, batch, options, move) + options["strength"] * penalty, model)


def adv_mixout(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """ASCC's loss of the mixture, x^ found without it."""
    move = move_to(model, batch, worst(model, batch, options), options)
    return slopes(adversarial_loss(Mixed(model, mixture(model, options)), batch, options, move), model)


def rift(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Dong et al. 2021, eq. 10 and 11; without an attack section 2.3, whose features are those of x."""
    teacher = copy.deepcopy(model).eval()
    with torch.no_grad():
        for name, value in (options.get("pretrained") or {}).items():
            teacher.get_parameter(name).copy_(value)
        t = teacher.bert(**{key: value for key, value in batch.items() if key != "labels"}).pooler_output
    seen: list[Tensor] = []
    hook = model.bert.register_forward_hook(lambda module, inputs, output: seen.append(output.pooler_output))
    if options["attack"]:
        hook.remove()
        move = move_to(model, batch, worst(model, batch, options), options)
        hook = model.bert.register_forward_hook(lambda module, inputs, output: seen.append(output.pooler_output))
        task = adversarial_loss(model, batch, options, move)  # runs x, then x^
    else:
        task = loss_of(logits_of(model, batch), batch["labels"])
    hook.remove()
    labels = batch["labels"] if options["conditional"] else torch.zeros(len(t))
    information = torch.zeros((), dtype=torch.float64)
    for y in sorted(set(labels.tolist())):
        places = [i for i, label in enumerate(labels.tolist()) if label == y]
        inner = torch.zeros((), dtype=torch.float64)
        for i in places:
            f = [score(model, int(y), seen[-1][i], t[j], options) for j in places]
            inner = inner - torch.log(torch.exp(f[places.index(i)]) / sum(torch.exp(x) for x in f))
        information = information + len(places) / len(labels) * (inner / len(places) - math.log(len(places)))
    return slopes(task + options["alpha"] * information, model)


def score(model: nn.Module, y: int, s: Tensor, t: Tensor, options: Options) -> Tensor:
    """f_y: the cosine of the projections, over tau."""
    one, other = projected(model.rift_heads.trained[y], s), projected(model.rift_heads.pretrained[y], t)
    return (one * other).sum() / (one**2).sum().sqrt() / (other**2).sum().sqrt() / options["temperature"]


def projected(head: nn.Module, value: Tensor) -> Tensor:
    """A perceptron of one hidden layer."""
    hidden = torch.clamp(head[0].weight @ value + head[0].bias, min=0.0)
    return head[2].weight @ hidden + head[2].bias


def roast(model: nn.Module, batch: Batch, options: Options) -> Gradients:
    """Kim et al. 2023: CE(x) + CE(x + delta) + weight KL_sym; nothing is masked in the first epoch."""
    start = torch.zeros(shape_of(model, batch), dtype=torch.float64, requires_grad=True)
    clean = logits_of(model, batch, start)
    loss = loss_of(clean, batch["labels"])
    (slope,) = torch.autograd.grad(loss, start, retain_graph=True)
    move = torch.zeros_like(slope)
    for i, row in enumerate(slope):
        for t, vector in enumerate(row):
            if batch["attention_mask"][i, t]:
                move[i, t] = options["epsilon"] * vector / max(abs(value) for value in vector.tolist())
    moved = logits_of(model, batch, move)
    apart = kl_both_ways(clean, moved) / (1 if clean.shape[-1] == 1 else 2)
    total = loss + options["divergence_weight"] * apart * (len(clean) if options["reduction"] == "sum" else 1)
    return slopes(total + (loss_of(moved, batch["labels"]) if options["adversarial"] else 0.0), model)


REFERENCES: dict[str, Callable[[nn.Module, Batch, Options], Gradients]] = {
    "wcons": wcons,
    "child_f": child_f,
    "child_d": child_d,
    "mixout": mixout,
    "ascc": ascc,
    "rift": rift,
    "adv_ptwd": adv_ptwd,
    "adv_mixout": adv_mixout,
    "roast": roast,
}
