"""Every method against the literal float64 transcription of its paper, to 1e-9."""

import copy
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.methods import reference_baselines, reference_core, reference_pretrained
from tests.methods.tiny_models import made, unless_refused
from uegr.methods import METHODS
from uegr.testing.models import batch_for, classifier
from uegr.testing.subject import EARLY, gradients, prepared, step

TOLERANCE = 1e-9
SOURCES = [reference_core, reference_baselines, reference_pretrained]
REFERENCES: dict[str, Any] = {name: found for source in SOURCES for name, found in source.REFERENCES.items()}
OPTIONS: dict[str, Any] = {k: v for source in SOURCES for k, v in source.OPTIONS.items()}


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_a_reference(name: str) -> None:
    assert name in REFERENCES, f"write down {name}'s equations in tests/methods/reference_*.py"


@pytest.mark.parametrize("labels", [3, 1], ids=["classification", "regression"])
@pytest.mark.parametrize("name", [name for name in METHODS if name in REFERENCES])
def test_the_gradient_equals_the_papers_equations(name: str, labels: int) -> None:
    actual, expected, plain = both(name, labels)
    for parameter, gradient in actual.items():
        wanted = expected.get(parameter, torch.zeros_like(gradient))
        torch.testing.assert_close(
            gradient, wanted, rtol=TOLERANCE, atol=TOLERANCE, msg=lambda text, where=parameter: f"{where}: {text}"
        )
    if name != "vanilla":  # or the comparison would show nothing
        assert max(float((actual[key] - plain[key]).abs().max()) for key in plain) > 1e-3


def both(name: str, labels: int) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Tensor]]:
    """The method's gradient, its reference's, and that of plain fine-tuning, from the same random numbers."""
    model = classifier(labels=labels, dtype=torch.float64)
    batch = batch_for(model, labels)
    method = made(name, **OPTIONS.get(name, {}))
    with unless_refused(name, "regression" if labels == 1 else "classification"):
        prepared(method, model, batch)
    torch.manual_seed(0)
    expected = REFERENCES[name](copy.deepcopy(model), batch, dict(method.options))
    torch.manual_seed(0)
    plain = REFERENCES["vanilla"](copy.deepcopy(model), batch, {})
    step(method, model, batch, moment=EARLY)
    return gradients(model), expected, plain
