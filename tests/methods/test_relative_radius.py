"""epsilon_relative: the radius of an example is epsilon times the mean length of its own word vectors."""

import copy
from typing import Any

import pytest
import torch

from tests.methods import reference_core
from tests.methods.tiny_models import made
from uegr.testing.models import batch_for, classifier
from uegr.testing.subject import gradients, prepared, step


def test_the_gradient_equals_a_literal_transcription() -> None:
    """FGM on eight texts of different lengths, in float64; a small epsilon must move the vectors it is relative to."""
    model = classifier(dtype=torch.float64)
    with torch.no_grad():
        model.get_input_embeddings().weight *= torch.linspace(0.5, 4, 40, dtype=torch.float64).unsqueeze(1)
    batch, method = batch_for(model), made("fgm", epsilon=0.3, epsilon_relative=True)
    torch.manual_seed(0)
    expected = reference_core.fgm(copy.deepcopy(model), batch, dict(method.options))
    torch.manual_seed(0)
    absolute = reference_core.fgm(copy.deepcopy(model), batch, dict(method.options) | {"epsilon_relative": False})
    step(method, model, batch)
    for name, gradient in gradients(model).items():
        torch.testing.assert_close(gradient, expected[name], rtol=1e-10, atol=1e-10, msg=lambda text, n=name: n + text)
    assert max(float((absolute[name] - expected[name]).abs().max()) for name in expected) > 1e-3


@pytest.mark.parametrize(
    ("name", "options"),
    [("fgm", {}), ("rat", {}), ("rat", {"epsilons": (0.2, 0.4)}), ("rat_su", {}), ("uegr", {}), ("uegr_plus", {})],
)
def test_on_one_text_it_is_a_multiple_of_epsilon(name: str, options: dict[str, Any]) -> None:
    """With every method that has the option: epsilon 0.3 of the mean length is that many units."""
    model = classifier(dtype=torch.float64)
    batch = {key: value[1:2] for key, value in batch_for(model).items()}
    mean = reference_core.mean_length(model, batch["input_ids"][0], batch["attention_mask"][0])
    found = []
    for relative, times in ((True, 1.0), (False, mean)):
        radii = {"epsilon": 0.3 * times, "epsilon_relative": relative}
        radii |= {"epsilons": tuple(times * radius for radius in options["epsilons"])} if options else {}
        method = prepared(made(name, **radii), model, batch)
        step(method, model, batch)
        found.append(gradients(model))
    for parameter, gradient in found[0].items():
        torch.testing.assert_close(gradient, found[1][parameter], rtol=1e-9, atol=1e-10)
