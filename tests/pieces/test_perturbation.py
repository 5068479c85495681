"""Perturbations: the length of every unit of the norm, padding, zero and broken gradients, projection."""

import math
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.models.families import tiny
from uegr.pieces.checks import check_epsilon
from uegr.pieces.perturbation import (
    Norm,
    ascend,
    check_norm,
    length,
    normalised,
    project,
    random_start,
    unit,
    zero_start,
)

SCALES = [1.0, 1e-12, 1e-30, 1e-37, 1e20]


def batch_of(lengths: tuple[int, ...], width: int) -> dict[str, Tensor]:
    mask = torch.tensor([[int(t < n) for t in range(width)] for n in lengths])
    ids = torch.randint(5, 12, mask.shape, generator=torch.Generator().manual_seed(0))
    return {"input_ids": ids * mask, "attention_mask": mask}


def gradient_of(batch: dict[str, Tensor], scale: float = 1.0, dimensions: int = 4) -> Tensor:
    shape = (*batch["input_ids"].shape, dimensions)
    return torch.randn(shape, generator=torch.Generator().manual_seed(1)) * scale  # also on padding


def climbed(gradient: Tensor, epsilon: float, batch: dict[str, Tensor], norm: Norm) -> Tensor:
    delta = torch.zeros_like(gradient, requires_grad=True)
    delta.grad = gradient
    return ascend(delta, epsilon, batch, norm)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 3.0])
def test_each_example_moves_by_epsilon_and_padding_by_nothing(scale: float, epsilon: float) -> None:
    batch = batch_of((5, 3, 1), 5)
    delta = climbed(gradient_of(batch, scale), epsilon, batch, "example")
    assert torch.linalg.vector_norm(delta, dim=(1, 2)).tolist() == pytest.approx([epsilon] * 3, rel=1e-5)
    assert not delta[batch["attention_mask"] == 0].any()
    assert not delta.requires_grad


@pytest.mark.parametrize("scale", SCALES)
def test_each_token_moves_by_epsilon_under_norm_token_and_max(scale: float) -> None:
    batch = batch_of((5, 3, 1), 5)
    real = batch["attention_mask"] == 1
    by_length = torch.linalg.vector_norm(climbed(gradient_of(batch, scale), 0.4, batch, "token"), dim=-1)
    by_largest = climbed(gradient_of(batch, scale), 0.4, batch, "max").abs().amax(-1)
    for moved in (by_length, by_largest):
        assert moved[real].tolist() == pytest.approx([0.4] * 9, rel=1e-5)
        assert not moved[~real].any()


def test_norm_matrix_shifts_every_occurrence_of_a_word_alike_by_one_norm() -> None:
    batch = batch_of((5, 3, 5), 5)
    gradient = gradient_of(batch)
    delta = climbed(gradient, 2.0, batch, "matrix")
    matrix = torch.zeros(12, 4)
    for i, t in batch["attention_mask"].nonzero().tolist():
        matrix[batch["input_ids"][i, t]] += gradient[i, t]
    expected = 2.0 * matrix / matrix.norm()
    for i in range(3):
        for t in range(5):
            word = expected[batch["input_ids"][i, t]] if batch["attention_mask"][i, t] else torch.zeros(4)
            torch.testing.assert_close(delta[i, t], word)


@pytest.mark.parametrize("norm", ["example", "token", "max"])
def test_an_example_does_not_depend_on_the_others(norm: Norm) -> None:
    batch = batch_of((5, 3, 4), 5)
    gradient = gradient_of(batch)
    together = climbed(gradient, 0.7, batch, norm)
    for i in range(3):
        single = {name: value[i : i + 1] for name, value in batch.items()}
        assert torch.equal(climbed(gradient[i : i + 1], 0.7, single, norm)[0], together[i])
    broken = gradient.clone()
    broken[1] = math.nan
    assert torch.equal(climbed(broken, 0.7, batch, norm)[[0, 2]], together[[0, 2]])


@pytest.mark.parametrize("norm", get_args(Norm))
@pytest.mark.parametrize("value", [0.0, math.nan, math.inf, -math.inf])
def test_a_zero_or_broken_gradient_gives_no_perturbation(norm: Norm, value: float) -> None:
    batch = batch_of((4, 2), 4)
    delta = climbed(torch.full((2, 4, 3), value), 1.0, batch, norm)
    assert torch.equal(delta, torch.zeros(2, 4, 3))


@pytest.mark.parametrize("norm", get_args(Norm))
def test_perturbations_of_half_precision_are_finite(norm: Norm) -> None:
    batch = batch_of((4, 2), 4)
    for dtype in (torch.bfloat16, torch.float16):
        delta = climbed(gradient_of(batch, 1e-4).to(dtype), 1.0, batch, norm)
        assert delta.dtype == dtype
        assert torch.isfinite(delta).all()
        assert delta.any()


@given(st.lists(st.floats(-1e30, 1e30), min_size=4, max_size=4), st.floats(1e-3, 10))
def test_projection_leaves_what_is_inside_and_shortens_the_rest(values: list[float], radius: float) -> None:
    delta = torch.tensor(values, dtype=torch.float64).view(1, 2, 2)
    for norm, dims in (("example", (1, 2)), ("token", (2,))):
        before = torch.linalg.vector_norm(delta, dim=dims, keepdim=True)
        found = project(delta, radius, norm)  # type: ignore[arg-type]
        inside = (before <= radius).expand_as(delta)
        torch.testing.assert_close(found[inside], delta[inside], rtol=1e-12, atol=0)
        after = torch.linalg.vector_norm(found, dim=dims, keepdim=True)
        torch.testing.assert_close(after, before.clamp(max=radius), rtol=1e-9, atol=1e-300)
    clipped = project(delta, radius, "max").abs().amax(-1)
    torch.testing.assert_close(clipped, delta.abs().amax(-1).clamp(max=radius), rtol=1e-9, atol=0)


@pytest.mark.parametrize("norm", ["example", "token", "max"])
def test_lengths_are_those_of_linear_algebra(norm: Norm) -> None:
    values = torch.randn(3, 4, 5, dtype=torch.float64)
    expected = {
        "example": values.flatten(1).norm(dim=1)[:, None, None],
        "token": values.norm(dim=2, keepdim=True),
        "max": values.abs().max(2, keepdim=True).values,
    }[norm]
    torch.testing.assert_close(length(values, norm), expected, rtol=1e-12, atol=0)


def test_a_unit_has_length_one() -> None:
    batch = batch_of((3, 3), 3)
    found = unit(gradient_of(batch), batch, "example")
    torch.testing.assert_close(found.flatten(1).norm(dim=1), torch.ones(2))
    assert torch.equal(normalised(torch.ones(1, 1, 1), torch.zeros(1, 1, 1)), torch.zeros(1, 1, 1))


@pytest.mark.parametrize("family", ["bert", "albert", "electra", "gpt2", "bilstm", "texthan"])
def test_the_start_is_a_leaf_of_zeros_as_wide_as_the_embedding(family: str) -> None:
    model, _ = tiny(family, dtype=torch.float64)
    batch = batch_of((5, 3), 5)
    start = zero_start(model, batch)
    assert start.shape == (2, 5, model.get_input_embeddings().weight.shape[1])
    assert start.dtype == torch.float64
    assert start.is_leaf
    assert start.requires_grad
    assert not start.any()


def test_refusals() -> None:
    for epsilon in (-0.1, math.nan, math.inf):
        with pytest.raises(ValueError, match=f"expected epsilon >= 0, got {epsilon}"):
            check_epsilon(epsilon)
    with pytest.raises(ValueError, match="expected norm to be one of example, token, matrix, max, sign, got 'l2'"):
        check_norm("l2")
    with pytest.raises(ValueError, match="expected norm example, token, max or sign for a projection, got 'matrix'"):
        project(torch.zeros(1, 1, 1), 1.0, "matrix")
    with pytest.raises(ValueError, match="expected a delta whose backward has run"):
        ascend(torch.zeros(1, 1, 1, requires_grad=True), 1.0, batch_of((1,), 1), "example")


def test_the_sign_is_that_of_each_entry_and_its_ball_a_box() -> None:
    batch = {"input_ids": torch.tensor([[5, 6, 0]]), "attention_mask": torch.tensor([[1, 1, 0]])}
    gradient = torch.tensor([[[1e-30, -4.0], [0.0, math.nan], [9.0, 9.0]]])
    assert unit(gradient, batch, "sign").flatten().tolist() == [1.0, -1.0, 0.0, 0.0, 0.0, 0.0]
    inside = project(torch.tensor([[[0.5, -3.0]]]), 1.0, "sign")
    torch.testing.assert_close(inside, torch.tensor([[[0.5, -1.0]]]))
    model, _ = tiny("bert")
    noise = random_start(model, batch, 0.3, "sign")
    assert 0.2 < float(noise.abs().max()) <= 0.3
    assert not noise[:, 2].any()
