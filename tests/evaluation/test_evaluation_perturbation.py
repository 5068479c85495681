"""The curve against a literal float64 transcription, its laws, and what it must leave alone."""

import numpy as np
import pytest
import torch
from subjects import own_labels, some_rows, subject
from transformers import PreTrainedModel

from uegr.errors import InputError
from uegr.evaluation import perturbation_curve
from uegr.evaluation.batches import texts_of
from uegr.evaluation.perturbation import Search, Subject, checked_labels, random_start, surviving

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
    assert [point["accuracy"] for point in points] == [literal_fgm(model, tokenizer, rows, e) for e in EPSILONS]
    assert points[0]["accuracy"] == (count - 1) / count
    assert points[-1]["accuracy"] < 0.9  # the attack does something
    assert all(point["n"] == count and point["low"] <= point["accuracy"] <= point["high"] for point in points)


def literal_pgd(model, tokenizer, text, label, number, epsilon, steps, restarts):
    """One row: clean, then FGM, then every restart's walk; whether every point is right. The ball is the 2-norm's."""
    batch, layer = dict(tokenizer([text], return_tensors="pt")), model.get_input_embeddings()

    def look(delta):
        delta = delta.clone().requires_grad_()
        handle = layer.register_forward_hook(lambda module, inputs, output: output + delta)
        loss = -(logits := model(**batch).logits).log_softmax(-1)[0, label]
        (gradient,) = torch.autograd.grad(loss, delta)
        handle.remove()
        return logits.argmax().item() == label, gradient / gradient.pow(2).sum().sqrt()

    nothing = torch.zeros_like(layer(batch["input_ids"])).detach()
    clean, direction = look(nothing)
    right = [clean, look(epsilon * direction)[0]]
    for restart in range(restarts):
        noise = np.random.default_rng((0, number, restart)).standard_normal(nothing.shape[1:])
        delta = torch.as_tensor(epsilon * noise / np.sqrt((noise**2).sum()))[None]
        for _ in range(steps + 1):
            fine, direction = look(delta)
            right.append(fine)
            moved = delta + 0.25 * epsilon * direction
            delta = moved * min(1.0, epsilon / float(moved.pow(2).sum().sqrt()))
    return all(right)


@pytest.mark.parametrize(("family", "epsilon"), [("bert", 0.3), ("textcnn", 0.05)])
def test_pgd_equals_the_literal_transcription(family, epsilon):
    model, tokenizer = subject(family, num_labels=3, dtype=torch.float64)
    rows = own_labels(model, tokenizer, some_rows(50))
    found = right_rows(model, tokenizer, rows, Search("pgd", steps=3, restarts=2), [epsilon])[0]
    literal = [
        literal_pgd(model, tokenizer, row["text"], row["label"], number, epsilon, 3, 2)
        for number, row in enumerate(rows)
    ]
    assert found.tolist() == literal
    assert 0 < found.sum() < 50


def right_rows(model, tokenizer, rows, search, epsilons=(0.3,)):
    subject = Subject(model, tokenizer, texts_of(rows), checked_labels(model, rows), 8, None)
    return surviving(subject, list(epsilons), search, None)


@pytest.mark.parametrize("family", ["bert", "bilstm"])
def test_more_steps_or_restarts_never_find_less_and_pgd_not_less_than_fgm(family):
    model, tokenizer = subject(family, num_labels=3)
    rows = own_labels(model, tokenizer, some_rows(24))
    epsilons = (0.1, 0.4)

    def broken(**settings):
        return ~right_rows(model, tokenizer, rows, Search(**settings), epsilons)

    one = broken(attack="fgm")
    found = {(s, r): broken(attack="pgd", steps=s, restarts=r) for s in (1, 4) for r in (1, 3)}
    for (steps, restarts), less in found.items():
        assert not (one & ~less).any()
        for (more_steps, more_restarts), more in found.items():
            if more_steps >= steps and more_restarts >= restarts:
                assert not (less & ~more).any()
    assert found[4, 3].sum() > one.sum() or family == "bilstm"  # nearly linear: one step finds all there is


def visited(monkeypatch, model, tokenizer, rows, **settings):
    """Every delta at which PGD looks, in order, with its batch's mask; no row is ever broken, so none is skipped."""
    from uegr.evaluation import perturbation

    seen = []

    def watch(model, batch, labels, delta):
        _, gradient = real(model, batch, labels, delta)
        seen.append((delta.detach().clone(), batch["attention_mask"]))
        return np.ones(len(labels), dtype=bool), gradient

    real = perturbation.ascent
    with monkeypatch.context() as patch:
        patch.setattr(perturbation, "ascent", watch)
        patch.setattr(perturbation, "hits", lambda model, batch, labels, delta: np.ones(len(labels), dtype=bool))
        right_rows(model, tokenizer, rows, Search("pgd", **settings))
    return seen[2:]  # two batches: their clean gradients come first


def test_more_steps_and_restarts_visit_the_same_points_and_further_ones(monkeypatch):
    model, tokenizer = subject()
    rows = some_rows(16)
    grid = [(1, 1), (4, 1), (1, 3), (4, 3)]
    points = {
        (steps, restarts): visited(monkeypatch, model, tokenizer, rows, steps=steps, restarts=restarts)
        for steps, restarts in grid
    }
    for settings in grid:
        assert len(points[settings]) == 2 * settings[1] * (settings[0] + 1)
        wider = {delta.numpy().tobytes() for delta, _ in points[4, 3]}
        assert all(delta.numpy().tobytes() in wider for delta, _ in points[settings])
    assert len({delta.numpy().tobytes() for delta, _ in points[4, 3]}) == len(points[4, 3])


def test_every_point_of_pgd_is_inside_the_ball_and_off_the_padding(monkeypatch):
    model, tokenizer = subject()
    seen = visited(monkeypatch, model, tokenizer, some_rows(16), steps=4, restarts=2)
    norms = torch.cat([delta.flatten(1).norm(dim=1) for delta, _ in seen])
    assert norms.max() <= 0.3 * (1 + 1e-5)
    assert norms.min() > 0.1
    assert any((mask == 0).any() for _, mask in seen)
    assert all((delta[mask == 0] == 0).all() for delta, mask in seen)


def test_a_row_that_was_broken_once_stays_broken(monkeypatch):
    from uegr.evaluation import perturbation

    model, tokenizer = subject()
    script = iter([[1, 1, 1], [0, 1, 1], [1, 1, 1], [0, 1]])  # two restarts of one step; the first row leaves
    monkeypatch.setattr(
        perturbation,
        "ascent",
        lambda model, batch, labels, delta: (np.array(next(script), dtype=bool), torch.ones_like(delta)),
    )
    batch = dict(tokenizer(["w5", "w6", "w7"], return_tensors="pt"))
    search = Search("pgd", steps=1, restarts=2)
    right = perturbation.climbed(model, batch, torch.zeros(3), np.arange(3), 0.3, search)
    assert right.tolist() == [False, False, True]


def companies(monkeypatch, breaks, **settings):
    """Which rows are computed together at each (restart, step), and which survive, where `breaks` says who breaks when.

    Rows are told apart by their first token.
    """
    from uegr.evaluation import perturbation

    model, tokenizer = subject()
    batch = dict(tokenizer([f"w{number}" for number in range(5, 13)], return_tensors="pt"))
    seen, restart, step = {}, -1, 0

    def start(*arguments):
        nonlocal restart, step
        restart, step = restart + 1, 0
        return torch.zeros(8, batch["input_ids"].shape[1], 16)

    def look(model, batch, labels, delta):
        nonlocal step
        rows = [int(row) for row in labels]
        seen[restart, step] = rows
        right = np.array([not breaks(row, restart, step) for row in rows], dtype=bool)
        step += 1
        return right, torch.ones_like(delta)

    with monkeypatch.context() as patch:
        patch.setattr(perturbation, "random_start", start)
        patch.setattr(perturbation, "ascent", look)
        right = perturbation.climbed(model, batch, torch.arange(8), np.arange(8), 0.3, Search("pgd", **settings))
    return seen, right


def test_who_is_computed_together_does_not_depend_on_further_steps_and_restarts(monkeypatch):
    def breaks(row, restart, step):
        return np.random.default_rng([row, restart, step]).random() < 0.12

    grid = [(steps, restarts) for steps in (1, 2, 5) for restarts in (1, 2, 4)]
    found = {one: companies(monkeypatch, breaks, steps=one[0], restarts=one[1]) for one in grid}
    widest, _ = found[5, 4]
    for (steps, restarts), (seen, right) in found.items():
        assert all(widest[moment] == rows for moment, rows in seen.items())
        points = [(r, s) for r in range(restarts) for s in range(steps + 1)]
        assert right.tolist() == [not any(breaks(row, *moment) for moment in points) for row in range(8)]
    assert sum(map(len, widest.values())) < 0.7 * 8 * 4 * 6  # and much is left out


def test_a_row_that_is_wrong_already_is_not_mended_by_the_perturbation(monkeypatch):
    from uegr.evaluation import perturbation

    model, tokenizer = subject()
    rows = own_labels(model, tokenizer, some_rows(4))
    rows[1]["label"] = 1 - rows[1]["label"]
    monkeypatch.setattr(perturbation, "hits", lambda model, batch, labels, delta: np.ones(len(labels), dtype=bool))
    assert right_rows(model, tokenizer, rows, Search())[0].tolist() == [True, False, True, True]


def test_random_starts_depend_on_the_row_and_the_restart_alone():
    model, tokenizer = subject()

    def start(texts, rows, restart=0):
        batch = dict(tokenizer(texts, padding=True, return_tensors="pt"))
        return random_start(model, batch, np.array(rows), 0.3, Search("pgd"), restart)

    narrow, wide = start(["w8"], [9]), start(["w5 w6 w7 w8", "w8"], [4, 9])
    assert torch.equal(narrow[0, :3], wide[1, :3])
    assert not torch.equal(narrow[0, :3], start(["w8"], [8])[0, :3])
    assert not torch.equal(narrow[0, :3], start(["w8"], [9], restart=1)[0, :3])


def test_a_row_s_fate_does_not_depend_on_its_company():
    model, tokenizer = subject(dtype=torch.float64)
    rows = own_labels(model, tokenizer, some_rows(12))
    search = Search("pgd", steps=3, restarts=2)
    together = right_rows(model, tokenizer, rows, search)[0]
    assert (together[:5] == right_rows(model, tokenizer, rows[:5], search)[0]).all()
    assert 0 < together.sum() < 12


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
    for attack in ("fgm", "pgd"):
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
        ({"attack": "pdg"}, "fgm or pgd"),
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
