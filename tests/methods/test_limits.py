"""The limit law of every method: with its own terms at zero it is plain fine-tuning, or a stated multiple of it."""

from typing import Any

import pytest
import torch

from tests.methods.tiny_models import made, vanilla_gradients
from uegr.methods import METHODS
from uegr.testing.models import batch_for, classifier
from uegr.testing.subject import gradients, prepared, step

# The options at which each method is plain fine-tuning, and how many times its gradient.
LIMITS: dict[str, list[tuple[dict[str, Any], float]]] = {
    "vanilla": [({}, 1), ({"dropout": 0.0}, 1)],
    "fgm": [({"epsilon": 0.0}, 2)],
    "pgd": [({"epsilon": 0.0}, 2)],
    "rdrop": [({"alpha": 0.0}, 1), ({}, 1)],  # without dropout both sub-models agree
    "freelb": [({"epsilon": 0.0}, 1)],
    "sam": [({"rho": 0.0}, 1)],
    "awp": [({"gamma": 0.0, "epsilon": 0.0}, 1)],
    "neftune": [({"alpha": 0.0}, 1)],
    "r3f": [({"strength": 0.0}, 1), ({"sigma": 0.0}, 1)],
    "smart": [({"smoothness": 0.0, "proximal": 0.0}, 1), ({"epsilon": 0.0}, 1)],
    "lpft": [({"probing": 0.0}, 1), ({"probing": 0.5}, 1)],  # at a step past the probing
    "rat": [({"epsilon": 0.0}, 2)],
    "rat_su": [({"epsilon": 0.0, "alpha": 0.0, "beta": 1e12}, 2)],  # every entry but the zeros is kept
    "uegr": [({"epsilon": 0.0, "spread": 0.0, "selective_update": False}, 2)],
    "uegr_plus": [({"epsilon": 0.0, "spread": 0.0, "selective_update": False}, 2)],
    "wcons": [({"strength": 0.0, "anneal": "constant"}, 1)],
    "child_f": [({"p": 1.0}, 1)],
    "child_d": [({"p": 1.0}, 1)],
    "mixout": [({"p": 0.0}, 1)],
    "ascc": [({"beta": 0.0}, 1)],
    "rift": [({"alpha": 0.0, "beta": 0.0}, 1)],
    "adv_ptwd": [({"beta": 0.0, "strength": 0.0}, 1)],
    "adv_mixout": [({"beta": 0.0, "p": 0.0}, 1)],
    "roast": [({"epsilon": 0.0}, 2)],  # in the first epoch, before anything is masked
}


@pytest.mark.parametrize("name", METHODS)
def test_its_limits_are_plain_fine_tuning(name: str) -> None:
    assert name in LIMITS, f"say in LIMITS which options of {name} are plain fine-tuning, or a multiple of it"
    for options, times in LIMITS[name]:
        model = classifier(dropout=False, dtype=torch.float64)
        batch = batch_for(model)
        method = prepared(made(name, **options), model, batch)
        step(method, model, batch)
        actual = gradients(model)
        for parameter, gradient in vanilla_gradients().items():
            torch.testing.assert_close(actual[parameter], times * gradient, rtol=1e-9, atol=1e-12, msg=f"{parameter}")
