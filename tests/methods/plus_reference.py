"""The forward stage of uegr_plus in float64, written down slowly: loops over examples, words, substitutes, sub-models.

As in uegr_reference.py, every example runs alone and without its padding, nothing of uegr.pieces' mathematics is
imported, and random numbers are replayed. A deeper layer is in test_uegr_plus_depth.py.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from tests.methods.dropout_reference import adaptive_mask, centres, drop_rows, learned_ranks, own_mask
from tests.methods.uegr_reference import (
    added,
    alone,
    divergence_of,
    loss_of,
    perturbation,
    repeated_bits,
    run,
    site_calls,
    width,
)
from uegr.testing.models import substitutes

Example = dict[str, Tensor]


def reference_step(model: nn.Module, batch: dict[str, Tensor], options: dict[str, Any]) -> dict[str, Any]:
    """The terms, the adversarial texts and the gradient of their sum; `options["table"]` are substitutes by token."""
    examples = [alone(batch, i) for i in range(len(batch["input_ids"]))]
    calls = site_calls(model, batch)
    count, passes = len(examples), options["submodels"]

    # 1. The clean pass: CE(x), dCE/dx, what enters each site, and the prediction that the others are pulled to.
    masks = [own_mask(shape, rate) for _, rate, shape in calls]
    starts = [torch.zeros(*width(model, example), dtype=torch.float64, requires_grad=True) for example in examples]
    seen = [run(model, example, starts[i], [mask[i] for mask in masks]) for i, example in enumerate(examples)]
    task = added([loss_of(z, example["labels"]) for (z, _), example in zip(seen, examples, strict=True)]) / count
    inputs = [values for _, entered in seen for _, values in entered]
    found = torch.autograd.grad(task, [*starts, *inputs], retain_graph=True, allow_unused=True)
    clean = [z.detach() for z, _ in seen]

    # 2. The adversaries: a point of the ball, and the text with its worst synonyms.
    slopes = [slope.tolist() for slope in found[:count]]
    ball = perturbation(slopes, examples, options["epsilon"], options["norm"])
    texts = [worst_text(model, examples[i], slopes[i], options) for i in range(count)]
    kinds = {"ball": ["ball"], "words": ["words"], "joint": ["joint"]}.get(options["adversary"], ["ball", "words"])

    # 3. K sub-models by adaptive dropout, each on its adversary.
    ranks = learned_ranks([entered for _, entered in seen], found[count:]) if options["spread"] != 0 else {}
    own = centres(model, calls)
    drops = {site: drop_rows(ranks.get(site), site[1], rate, passes, options) for site, rate in own.items()}
    many = repeated_bits([shape for _, _, shape in calls], passes, count, options["split"] or passes)
    masks = [adaptive_mask(bits, drops[site]) for bits, (site, _, _) in zip(many, calls, strict=True)]
    predicted: list[list[Tensor]] = []
    for k in range(passes):
        predicted.append([])
        for i, example in enumerate(examples):
            turn = int(example["input_ids"].sum()) + options["step"] if options["adversary"] == "turns" else 0
            kind = kinds[(turn + k) % len(kinds)]
            move = torch.tensor(ball[i], dtype=torch.float64) * (0 if kind == "words" else 1)
            text = example | ({} if kind == "ball" else {"input_ids": torch.tensor([texts[i]])})
            predicted[k].append(run(model, text, move, [mask[k * count + i] for mask in masks])[0])

    # 4. The loss.
    losses = [loss_of(z, example["labels"]) for row in predicted for z, example in zip(row, examples, strict=True)]
    adversarial = options["adversarial_weight"] * added(losses) / len(losses)
    name = options["divergence"]
    if options["divergence_to"] == "clean":
        apart = [divergence_of(clean[i], predicted[k][i], name) for k in range(passes) for i in range(count)]
    else:
        pairs = [(k, m) for k in range(passes) for m in range(k + 1, passes)]
        apart = [divergence_of(predicted[k][i], predicted[m][i], name) for k, m in pairs for i in range(count)]
    divergence = options["divergence_weight"] * added(apart) / len(apart)
    names = dict(model.named_parameters())
    gradients = torch.autograd.grad(task + adversarial + divergence, list(names.values()), allow_unused=True)
    return {
        "terms": {"task": task, "adversarial": adversarial, "divergence": divergence},
        "texts": texts,
        "gradients": {key: value for key, value in zip(names, gradients, strict=True) if value is not None},
    }


def worst_text(model: nn.Module, example: Example, slope: list[list[float]], options: dict[str, Any]) -> list[int]:
    """The text with the worst share of its words replaced: gain = g . (E[s] - E[x]) of each word's best substitute."""
    ids, mask = (options.get("table") or substitutes())[:2]
    vectors = model.get_input_embeddings().weight.tolist()
    text = example["input_ids"][0].tolist()
    best: list[tuple[float, int, int]] = []  # gain, position, word
    for t, token in enumerate(text):
        for other, usable in zip(ids[token].tolist()[1:], mask[token].tolist()[1:], strict=True):
            gain = sum(g * (a - b) for g, a, b in zip(slope[t], vectors[other], vectors[token], strict=True))
            if usable and gain > max([g for g, place, _ in best if place == t], default=0.0):
                best = [*(entry for entry in best if entry[1] != t), (gain, t, other)]
    best.sort(reverse=True)
    for _, t, word in best[: math.ceil(options["words"] * len(text))]:
        text[t] = word
    return text
