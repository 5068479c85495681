"""The curve: FGM against a literal float64 transcription, and what must be left alone."""

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from tests.evaluation.subjects import own_labels, right_rows, some_rows, subject
from uegr.errors import InputError
from uegr.evaluation import perturbation_curve
from uegr.evaluation.perturbation import Search

EPSILONS = [0.0, 0.2, 0.5, 3.0]


def literal_fgm(model: PreTrainedModel, tokenizer, rows, epsilon):
    """One row at a time, the gradient by hand: x + epsilon g / ||g||, right only if the clean text is too."""
    model.eval()
    layer, kept = model.get_input_embeddings(), 0
    for row in rows:
        batch = tokenizer([row["text"]], return_tensors="pt")
        moved = {"shift": None}

        def hook(module, inputs, output, moved=moved):
            moved["x"] = output
            return output if moved["shift"] is None else output + moved["shift"]

        handle = layer.register_forward_hook(hook)
        logits = model(**batch).logits
        clean = logits.argmax().item() == row["label"]
        (gradient,) = torch.autograd.grad(-logits.log_softmax(-1)[0, row["label"]], moved["x"])
        moved["shift"] = epsilon * gradient / gradient.pow(2).sum().sqrt()
        kept += clean and model(**batch).logits.argmax().item() == row["label"]
        handle.remove()
    return kept / len(rows)


@pytest.mark.parametrize(
    ("family", "count"), [("bert", 50), ("textcnn", 50), ("xlnet", 20), ("gpt2", 20), ("bilstm", 20)]
)
def test_fgm_equals_the_literal_transcription(family, count):
    model, tokenizer = subject(family, num_labels=3, dtype=torch.float64)
    rows = own_labels(model, tokenizer, some_rows(count))
    rows[0]["label"] = (rows[0]["label"] + 1) % 3  # one that is wrong from the start
    points = perturbation_curve(model, tokenizer, rows, epsilons=EPSILONS, batch_size=7)
    assert [point.accuracy.value for point in points] == [literal_fgm(model, tokenizer, rows, e) for e in EPSILONS]
    assert points[0].accuracy.value == (count - 1) / count
    assert points[-1].accuracy.value < 0.9  # the attack does something
    assert all(
        figure.n == count and figure.low <= figure.value <= figure.high for figure in (p.accuracy for p in points)
    )


def test_a_row_that_is_wrong_already_is_not_mended_by_the_perturbation(monkeypatch):
    from uegr.evaluation import perturbation

    model, tokenizer = subject()
    rows = own_labels(model, tokenizer, some_rows(4))
    rows[1]["label"] = 1 - rows[1]["label"]
    monkeypatch.setattr(perturbation, "hits", lambda model, batch, labels, delta: np.ones(len(labels), dtype=bool))
    assert right_rows(model, tokenizer, rows, Search())[0].tolist() == [True, False, True, True]


def test_nothing_of_the_model_is_touched():
    model, tokenizer = subject()
    model.train()
    model.classifier.eval()
    frozen = next(model.parameters()).requires_grad_(False)
    modes = [module.training for module in model.modules()]
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    state = torch.get_rng_state()
    first = perturbation_curve(model, tokenizer, some_rows(10), attack="pgd", steps=2, restarts=1)
    assert first == perturbation_curve(model, tokenizer, some_rows(10), attack="pgd", steps=2, restarts=1)
    assert [module.training for module in model.modules()] == modes
    assert all(torch.equal(weights[name], value) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not frozen.requires_grad
    assert sum(parameter.requires_grad for parameter in model.parameters()) == len(list(model.parameters())) - 1
    assert not model.get_input_embeddings()._forward_hooks
    assert torch.equal(state, torch.get_rng_state())


def test_progress_reaches_its_end_and_never_goes_back():
    model, tokenizer = subject()
    for attack in ("fgm", "pgd", "noise"):
        calls = []
        perturbation_curve(
            model,
            tokenizer,
            some_rows(10),
            epsilons=(0.0, 0.5, 1.0),
            attack=attack,
            steps=1,
            restarts=1,
            batch_size=4,
            progress=lambda done, total, calls=calls: calls.append((done, total)),
        )
        done = [done for done, _ in calls]
        assert done == sorted(done)
        assert calls[-1][0] == calls[-1][1]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"attack": "pdg"}, "fgm, pgd or noise"),
        ({"steps": 0}, "steps >= 1"),
        ({"restarts": 0}, "restarts >= 1"),
        ({"norm": "matrix"}, "norm example, token or max"),
        ({"norm": "l2"}, "got 'l2'"),
        ({"epsilons": (-1.0,)}, "epsilon >= 0"),
        ({"batch_size": 0}, "batch_size >= 1"),
    ],
)
def test_what_cannot_be_is_refused(settings, message):
    model, tokenizer = subject()
    with pytest.raises(ValueError, match=message):
        perturbation_curve(model, tokenizer, some_rows(2), **settings)


def test_regressions_and_unknown_labels_are_refused():
    model, tokenizer = subject(num_labels=1)
    with pytest.raises(InputError, match="classifier"):
        perturbation_curve(model, tokenizer, some_rows(2))
    model, tokenizer = subject()
    with pytest.raises(InputError, match="labels from 0 to 1"):
        perturbation_curve(model, tokenizer, [{"text": "w5", "label": 2}])
    with pytest.raises(InputError, match="without"):
        perturbation_curve(model, tokenizer, [{"text": "w5"}])


def test_noise_is_a_random_step_of_the_same_length():
    model, tokenizer = subject()
    rows, sizes = some_rows(24), (0.0, 0.1, 5.0)
    curve = {name: perturbation_curve(model, tokenizer, rows, epsilons=sizes, attack=name) for name in ("fgm", "noise")}
    values = {name: [point.accuracy.value for point in points] for name, points in curve.items()}
    assert values["noise"][0] == values["fgm"][0]
    assert values["noise"][0] >= values["noise"][2]
    assert sum(values["noise"]) > sum(values["fgm"])  # the gradient knows where it hurts
    again = perturbation_curve(model, tokenizer, rows, epsilons=sizes, attack="noise", batch_size=5)
    assert again == curve["noise"]
