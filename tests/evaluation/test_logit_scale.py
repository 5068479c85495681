"""The scale of the logits decides no accuracy under FGM or PGD, and a radius can be relative to the word vectors."""

import copy

import numpy as np
import pytest
import torch

from tests.evaluation.subjects import own_labels, right_rows, some_rows, subject
from uegr.errors import InputError
from uegr.evaluation import Radii, Sets, evaluate, perturbation_curve
from uegr.evaluation.perturbation import Search
from uegr.pieces.embedding import word_norm

ROWS = 40


def scaled(model, factor):
    """The model with its logits multiplied."""
    copied = copy.deepcopy(model)
    with torch.no_grad():
        for name in ("weight", "bias"):
            getattr(copied.classifier, name).mul_(factor)
    return copied


@pytest.fixture(scope="module")
def given():
    model, tokenizer = subject(num_labels=3)
    return model, tokenizer, own_labels(model, tokenizer, some_rows(ROWS))


@pytest.mark.parametrize("search", [{"attack": "fgm"}, {"attack": "pgd", "steps": 3, "restarts": 2}], ids=str)
@pytest.mark.parametrize("factor", [0.1, 10, 1000])
def test_the_scale_of_the_logits_decides_no_row(given, search, factor):
    model, tokenizer, rows = given
    epsilons = (0.1, 0.3)
    plain = right_rows(model, tokenizer, rows, Search(**search), epsilons)
    sharp = right_rows(scaled(model, factor), tokenizer, rows, Search(**search, temperature=factor), epsilons)
    assert np.abs(plain.sum(1) - sharp.sum(1)).max() <= 1
    assert (plain != sharp).sum() <= 1
    assert 0 < plain[1].sum() < plain[0].sum() < ROWS


def test_a_saturated_softmax_does_not_look_robust(given):
    """Without a temperature too: the gradient of the loss itself would be 0 in every row."""
    model, tokenizer, rows = given
    sharp = scaled(model, 1e5)
    logits = sharp(**tokenizer([row["text"] for row in rows], padding=True, return_tensors="pt")).logits
    loss = torch.nn.functional.cross_entropy(logits, torch.tensor([row["label"] for row in rows]))
    assert torch.autograd.grad(loss, logits)[0].abs().max() == 0
    plain, found = (right_rows(one, tokenizer, rows, Search("fgm"))[0] for one in (model, sharp))
    assert found.sum() <= plain.sum() + 3


def test_a_relative_radius_is_in_mean_norms_of_the_word_vectors(given):
    model, tokenizer, rows = given
    weight = model.get_input_embeddings().weight
    norms = weight.detach().norm(dim=1)
    assert word_norm(model) == pytest.approx(float(norms[norms > 0].mean()), rel=1e-6)
    size = 0.2 / word_norm(model)
    (relative,) = perturbation_curve(model, tokenizer, rows, epsilons=[size], relative=True)
    (absolute,) = perturbation_curve(model, tokenizer, rows, epsilons=[0.2])
    assert (relative.relative, absolute.relative) == (size, None)
    assert relative.epsilon == pytest.approx(0.2)
    assert relative.right == absolute.right
    assert (relative.size, absolute.size) == (size, 0.2)


def test_the_suite_measures_relative_radii_beside_or_in_place_of_the_others(given):
    model, tokenizer, rows = given
    sets = Sets("own", {"test": rows}, ("accuracy",), ("a", "b", "c"))
    found = evaluate(model, tokenizer, sets, radii=Radii(pgd=[], relative=[0.02, 0.1]), landscape=False, ascended=2.0)
    assert set(found.perturbation) == {"fgm", "fgm_relative", "pgd_relative"}
    curve = found.perturbation["pgd_relative"]
    assert [point.relative for point in curve.points] == [0.0, 0.02, 0.1]
    accuracies = [point.accuracy.value for point in curve.points]
    assert curve.mean_drop.value == pytest.approx(accuracies[0] - np.mean(accuracies[1:]))
    assert found.perspectives["adversarial"] == pytest.approx(np.mean(accuracies[1:]))
    few = evaluate(model, tokenizer, sets, radii=Radii(fgm=[0.1]), curves=["fgm"], landscape=False).perturbation["fgm"]
    assert [point.epsilon for point in few.points] == [0.0, 0.1]
    assert few.mean_drop.n == 0


def test_a_temperature_is_above_zero():
    with pytest.raises(InputError, match="expected temperature > 0, got 0"):
        Search(temperature=0.0)
