"""The line of FGM through one text: where it starts, where the label changes, and what it leaves as it was."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.evaluation.subjects import own_labels, some_rows, subject
from uegr.errors import InputError
from uegr.evaluation.line import fgm_line
from uegr.evaluation.perturbation import perturbation_curve
from uegr.models.texts import probabilities
from uegr.pieces.embedding import word_norm

RADII = [0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0]


def literal(model: Any, tokenizer: Any, text: str, radius: float) -> np.ndarray:
    """By hand: the gradient of -log p of the model's own label, one unit long, times the radius and the mean norm."""
    model.eval()
    batch, shift, seen = tokenizer([text], return_tensors="pt"), None, {}

    def hook(module: Any, inputs: Any, output: Any) -> Any:
        seen["x"] = output
        return output if shift is None else output + shift

    handle = model.get_input_embeddings().register_forward_hook(hook)
    logits = model(**batch).logits
    (gradient,) = torch.autograd.grad(-logits.log_softmax(-1)[0, logits.argmax()], seen["x"])
    shift = radius * word_norm(model) * gradient / gradient.pow(2).sum().sqrt()
    found = model(**batch).logits.softmax(-1)[0].detach().numpy()
    handle.remove()
    return np.asarray(found)


@pytest.mark.parametrize("family", ["bert", "textcnn", "xlnet", "gpt2", "bilstm"])
def test_the_line_equals_the_literal_transcription(family: str) -> None:
    model, tokenizer = subject(family, num_labels=3, dtype=torch.float64)
    for row in some_rows(3):
        line = fgm_line(model, tokenizer, row["text"], RADII)
        expected = [literal(model, tokenizer, row["text"], radius) for radius in RADII]
        assert np.allclose(line.probabilities, expected, atol=1e-9)


def test_it_starts_at_the_clean_answer_and_agrees_with_the_curve() -> None:
    model, tokenizer = subject("bert", num_labels=3)
    flipped = 0
    for row in own_labels(model, tokenizer, some_rows(8)):
        line = fgm_line(model, tokenizer, row["text"], RADII)
        assert np.allclose(line.probabilities[0], probabilities(model, tokenizer, [row["text"]])[0], atol=1e-6)
        curve = perturbation_curve(model, tokenizer, [row], epsilons=RADII, relative=True)
        assert [bool(point.accuracy.value) for point in curve] == (line.labels == line.labels[0]).tolist()
        flipped += line.flips is not None
    assert flipped


def test_the_first_change_lies_in_the_first_step_that_changes() -> None:
    model, tokenizer = subject("bert", num_labels=3)
    for row in some_rows(8):
        line = fgm_line(model, tokenizer, row["text"], RADII)
        others = np.flatnonzero(line.labels != line.labels[0])
        if not len(others):
            assert line.flips is None
            continue
        assert line.flips is not None
        assert RADII[others[0] - 1] < line.flips <= RADII[others[0]]
        finer = fgm_line(model, tokenizer, row["text"], [0.0, line.flips])
        assert finer.labels[1] != finer.labels[0]


def test_a_temperature_moves_the_probabilities_and_not_the_label() -> None:
    model, tokenizer = subject("bert", num_labels=2)
    text = some_rows(1)[0]["text"]
    cold, hot = (fgm_line(model, tokenizer, text, RADII, temperature=heat) for heat in (0.5, 3.0))
    assert (cold.labels == hot.labels).all()
    assert cold.probabilities.max() > hot.probabilities.max()


def test_the_model_is_left_as_it_was() -> None:
    model, tokenizer = subject("bert")
    model.train()
    fgm_line(model, tokenizer, "a text", RADII)
    assert model.training
    assert all(weight.grad is None and weight.requires_grad for weight in model.parameters())
    assert not model.get_input_embeddings()._forward_hooks


@pytest.mark.parametrize("radii", [[], [0.1, 0.2], [0.0, 0.2, 0.1], [0.0, 0.0], [0.0, -1.0], [0.0, float("nan")]])
def test_radii_grow_from_zero(radii: list[float]) -> None:
    model, tokenizer = subject("bert")
    with pytest.raises((InputError, ValueError), match="expected"):
        fgm_line(model, tokenizer, "a text", radii)


def test_a_regression_has_no_label_to_lose() -> None:
    model, tokenizer = subject("bert", num_labels=1)
    with pytest.raises(InputError, match="got a regression"):
        fgm_line(model, tokenizer, "a text", RADII)
