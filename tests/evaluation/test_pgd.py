"""PGD against a literal float64 transcription, and its walks: inside the ball, and more never finds less."""

import numpy as np
import pytest
import torch

from tests.evaluation.subjects import own_labels, right_rows, some_rows, subject
from uegr.evaluation.perturbation import Search, random_start


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

    def watch(model, batch, labels, delta, temperature):
        _, gradient = real(model, batch, labels, delta, temperature)
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
        lambda model, batch, labels, delta, _: (np.array(next(script), dtype=bool), torch.ones_like(delta)),
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

    def look(model, batch, labels, delta, temperature):
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
