"""Losses that are not means over examples say so, and only those: 2x4 against 1x8 examples, in float64."""

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.methods.tiny_models import made
from uegr.testing.models import batch_for, classifier
from uegr.testing.subject import EARLY, gradients, prepared, step

MEANS: list[tuple[str, dict[str, Any]]] = [
    ("fgm", {}),
    ("fgm", {"norm": "token"}),
    ("rat", {"norm": "max"}),
    ("rat", {"reduction": "sum", "kl": False}),
    ("rdrop", {}),
    ("roast", {}),
    ("uegr", {"spread": 0.0, "selective_update": False}),
]
OTHERS: list[tuple[str, dict[str, Any], str]] = [
    ("fgm", {"norm": "matrix"}, "norm='matrix'"),
    ("rat", {"norm": "matrix"}, "norm='matrix'"),
    ("rat", {"reduction": "sum"}, "reduction='sum'"),
    ("rat_su", {"norm": "matrix"}, "norm='matrix'"),
    ("rat_su", {"reduction": "sum"}, "reduction='sum'"),
    ("uegr", {"norm": "matrix"}, "norm='matrix'"),
    ("uegr", {"reduction": "sum", "divergence_weight": 1.0}, "reduction='sum'"),
    ("rdrop", {"reduction": "sum"}, "reduction='sum'"),
    ("roast", {"reduction": "sum", "divergence_weight": 1.0}, "reduction='sum'"),
    ("roast", {"norm": "matrix"}, "norm='matrix'"),
]
WHOLE: dict[str, dict[str, Any]] = {
    "uegr": {"spread": 0.0, "selective_update": False},
    "rat_su": {"alpha": 0.0, "beta": 1e12},  # every entry is kept
}


def halves_against_whole(name: str, options: dict[str, Any]) -> float:
    """The largest difference between the gradient of eight examples and the mean of two times four."""
    found: list[dict[str, Tensor]] = []
    for size in (8, 4):
        model = classifier(dropout=False, dtype=torch.float64)
        batch = batch_for(model)
        method = prepared(made(name, **options), model, batch)
        parts = [{key: value[i : i + size] for key, value in batch.items()} for i in range(0, 8, size)]
        total: dict[str, Tensor] = {}
        for part in parts:
            step(method, model, part, moment=EARLY)
            total = {key: total.get(key, 0) + value / len(parts) for key, value in gradients(model).items()}
        found.append(total)
    return max(float((found[0][key] - found[1][key]).abs().max()) for key in found[0])


@pytest.mark.parametrize(("name", "options"), MEANS)
def test_a_mean_over_examples_says_nothing(name: str, options: dict[str, Any]) -> None:
    assert not made(name, **options).objective.batchwise
    assert halves_against_whole(name, options) < 1e-9


@pytest.mark.parametrize(("name", "options", "reason"), OTHERS)
def test_what_is_not_a_mean_over_examples_says_why(name: str, options: dict[str, Any], reason: str) -> None:
    assert reason in made(name, **options).objective.batchwise
    if "norm" in options or name == "roast":  # without dropout, sub-models agree: their divergence is 0 either way
        assert halves_against_whole(name, options | WHOLE.get(name, {})) > 1e-6
