"""Weights moved, replaced and frozen for a moment, and random starts."""

import math
from contextlib import suppress

import pytest
import torch
from torch import Tensor, nn

from tests.models.families import tiny
from uegr.pieces.perturbation import climb, normal_start, project, random_start
from uegr.pieces.randomness import rehearsed
from uegr.pieces.weights import frozen, gradients, moved, relative, replaced, steepest, trainable


def model_and_copy() -> tuple[nn.Module, dict[str, Tensor]]:
    model, _ = tiny("bilstm", dtype=torch.float64)
    return model, {name: weight.detach().clone() for name, weight in model.named_parameters()}


@pytest.mark.parametrize("raises", [False, True])
def test_weights_come_back_bitwise(raises: bool) -> None:
    model, before = model_and_copy()
    weights = trainable(model)
    moves = {name: torch.full_like(weight, 1 / 3) for name, weight in weights.items()}
    for context in (moved(weights, moves), replaced(weights, moves)):
        with suppress(KeyError), context:
            for weight in weights.values():
                weight.data.mul_(1.7)
            if raises:
                raise KeyError
        assert all(torch.equal(weight, before[name]) for name, weight in model.named_parameters())


def test_inside_the_weights_are_where_they_should_be() -> None:
    model, before = model_and_copy()
    weights = trainable(model)
    some = dict(list(weights.items())[:2])
    moves = {name: torch.full_like(weight, 0.25) for name, weight in some.items()}
    with moved(weights, moves):
        for name, weight in weights.items():
            assert torch.equal(weight, before[name] + 0.25 if name in some else before[name])
    with replaced(weights, moves):
        for name, weight in weights.items():
            assert torch.equal(weight, torch.full_like(weight, 0.25) if name in some else before[name])


def test_autocast_forgets_the_weights_that_it_has_cast() -> None:
    layer = nn.Linear(2, 1, bias=False)
    nn.init.ones_(layer.weight)
    with torch.autocast("cpu", torch.bfloat16):
        assert layer(torch.ones(2)).tolist() == [2.0]
        with moved(trainable(layer), {"weight": torch.ones(1, 2)}):
            assert layer(torch.ones(2)).tolist() == [4.0]
        assert layer(torch.ones(2)).tolist() == [2.0]


def test_only_what_trains_is_seen_and_frozen_comes_back() -> None:
    layer = nn.Linear(2, 2)
    layer.bias.requires_grad_(False)
    assert list(trainable(layer)) == ["weight"]
    inside = None
    with suppress(KeyError), frozen(dict(layer.named_parameters())):
        inside = layer.weight.requires_grad
        raise KeyError
    assert inside is False
    assert layer.weight.requires_grad
    assert not layer.bias.requires_grad


def test_gradients_leave_out_what_the_value_does_not_depend_on() -> None:
    one, other = nn.Parameter(torch.tensor(2.0)), nn.Parameter(torch.tensor(3.0))
    assert {name: float(g) for name, g in gradients(one**3, {"one": one, "other": other}).items()} == {"one": 12.0}


def test_ascents_have_their_lengths_and_are_zero_without_direction() -> None:
    slopes = {"a": torch.tensor([[1.0, -2.0]]), "b": torch.tensor([2.0]), "c": torch.zeros(3)}
    moves = steepest(slopes, rho=0.6)
    assert math.isclose(math.sqrt(sum(float(move.square().sum()) for move in moves.values())), 0.6, rel_tol=1e-6)
    torch.testing.assert_close(moves["a"], 0.2 * slopes["a"])
    weights = {name: nn.Parameter(torch.full_like(slope, 3.0)) for name, slope in slopes.items()}
    each = relative(slopes, weights, gamma=0.1)
    torch.testing.assert_close(each["b"], torch.tensor([0.3]))
    assert not each["c"].any()
    broken = {"a": torch.tensor([float("nan")]), "b": torch.tensor([1.0])}
    assert not any(move.any() for move in steepest(broken, rho=1.0).values())


def batch_of(model: nn.Module) -> dict[str, Tensor]:
    ids = torch.tensor([[7, 8, 9, 0, 0], [7, 7, 7, 7, 7], [0, 0, 0, 0, 0]])
    return {"input_ids": ids, "attention_mask": (ids != 0).long()}


@pytest.mark.parametrize("norm", ["example", "token", "max"])
def test_a_random_start_lies_in_the_ball_and_fills_it(norm: str) -> None:
    model, _ = tiny("bilstm", dtype=torch.float64)
    batch = batch_of(model)
    start = random_start(model, batch, 0.5, norm)
    assert start.shape == (3, 5, 16)
    assert not start[batch["attention_mask"] == 0].any()
    torch.testing.assert_close(project(start, 0.5, norm), start)
    entries = {"example": [48, 80], "token": [16, 16], "max": [1, 1]}[norm]
    for row, count in zip(start[:2], entries, strict=True):  # the entries of U(-1, 1) have a largest near 1
        assert 0.9 < float(row.abs().max()) * math.sqrt(count) / 0.5 <= 1.0


def test_a_random_start_has_no_matrix_ball() -> None:
    model, _ = tiny("bilstm")
    with pytest.raises(ValueError, match="expected norm example, token, max or sign"):
        random_start(model, batch_of(model), 0.5, "matrix")


def test_a_normal_start_has_its_deviation() -> None:
    model, _ = tiny("bilstm", dtype=torch.float64)
    batch = {"input_ids": torch.full((20, 50), 7)}
    torch.manual_seed(0)
    start = normal_start(model, batch, 0.2)
    assert abs(float(start.std()) - 0.2) < 0.01
    batch = batch_of(model)
    assert not normal_start(model, batch, 0.2)[batch["attention_mask"] == 0].any()


def test_a_climb_ends_at_the_edge_in_the_direction_of_the_slope() -> None:
    batch = {"input_ids": torch.ones(1, 2, dtype=torch.long)}
    direction = torch.tensor([[[3.0, 0.0], [0.0, 4.0]]])
    found = climb(
        torch.zeros(1, 2, 2),
        lambda delta: (delta * direction).sum(),
        batch,
        steps=4,
        step=0.5,
        norm="example",
        within=lambda delta: project(delta, 1.0, "example"),
    )
    torch.testing.assert_close(found, direction / 5)
    assert not found.requires_grad


def test_a_rehearsal_draws_what_comes_again_also_after_an_exception() -> None:
    torch.manual_seed(3)
    with suppress(KeyError), rehearsed(torch.device("cpu")):
        first = torch.rand(2)
        raise KeyError
    assert torch.equal(torch.rand(2), first)
