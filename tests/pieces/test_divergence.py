"""Divergences from logits: the laws of each, its literal formula, regression, and the pairs of passes."""

import math
from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from uegr.pieces.divergence import DIVERGENCES, between, js, kl, named, pairwise, squared_difference, symmetric_kl

LOGITS = st.integers(2, 6).flatmap(
    lambda n: st.tuples(*(st.lists(st.floats(-40, 40, width=32), min_size=n, max_size=n) for _ in range(2)))
)


def rows(pair: tuple[list[float], list[float]], dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    left, right = pair
    return torch.tensor([left], dtype=dtype), torch.tensor([right], dtype=dtype)


def probabilities(logits: list[float]) -> list[float]:
    top = max(logits)
    weights = [math.exp(value - top) for value in logits]
    return [weight / sum(weights) for weight in weights]


def slow(name: str, left: list[float], right: list[float]) -> float:
    """One example's divergence from its definition."""
    p, q = probabilities(left), probabilities(right)

    def divergence(a: list[float], b: list[float]) -> float:
        return sum(x * math.log(x / y) for x, y in zip(a, b, strict=True) if x > 0)

    middle = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
    apart = [x - y for x, y in zip(p, q, strict=True)]
    return {
        "kl": lambda: divergence(p, q),
        "symmetric_kl": lambda: (divergence(p, q) + divergence(q, p)) / 2,
        "js": lambda: (divergence(p, middle) + divergence(q, middle)) / 2,
        "ce": lambda: -sum(x * math.log(y) for x, y in zip(p, q, strict=True)),
        "mse": lambda: sum(x**2 for x in apart) / len(apart),
        "mae": lambda: sum(abs(x) for x in apart) / len(apart),
    }[name]()


@given(LOGITS)
def test_every_divergence_is_its_definition(pair: tuple[list[float], list[float]]) -> None:
    for name, divergence in DIVERGENCES.items():
        assert divergence(*rows(pair)).item() == pytest.approx(slow(name, *pair), rel=1e-9, abs=1e-12), name


@given(LOGITS)
def test_js_is_symmetric_and_between_0_and_ln_2(pair: tuple[list[float], list[float]]) -> None:
    for dtype, tolerance in ((torch.float64, 1e-14), (torch.float32, 1e-6)):
        left, right = rows(pair, dtype)
        value = js(left, right).item()
        assert value == pytest.approx(js(right, left).item(), abs=tolerance)
        assert -tolerance <= value <= math.log(2) + tolerance


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=2, max_size=6), st.floats(-100, 100))
def test_equal_predictions_are_not_apart(logits: list[float], shift: float) -> None:
    """Softmax does not see a shift of all logits."""
    values = torch.tensor([logits], dtype=torch.float64)
    for name in ("kl", "symmetric_kl", "js", "mse", "mae"):
        assert DIVERGENCES[name](values, values + shift).item() == pytest.approx(0, abs=1e-8), name


@given(LOGITS)
def test_orders_that_hold_between_divergences(pair: tuple[list[float], list[float]]) -> None:
    left, right = rows(pair)
    assert kl(left, right).item() >= -1e-14
    assert js(left, right).item() <= symmetric_kl(left, right).item() / 2 + 1e-14  # Lin 1991: JS <= J/4, J = 2 sym
    assert symmetric_kl(left, right).item() == pytest.approx(symmetric_kl(right, left).item())


@pytest.mark.parametrize("name", DIVERGENCES)
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e30])
def test_gradients_stay_finite_for_certain_predictions(name: str, scale: float) -> None:
    left = torch.tensor([[scale, 0.0, -scale]], requires_grad=True)
    right = torch.tensor([[-scale, 0.0, scale]], requires_grad=True)
    value = DIVERGENCES[name](left, right).sum()
    value.backward()
    assert math.isfinite(value.item())
    assert torch.isfinite(left.grad).all()
    assert torch.isfinite(right.grad).all()


def test_js_of_certain_and_contrary_predictions_is_ln_2() -> None:
    far = js(torch.tensor([[1e4, 0.0]]), torch.tensor([[0.0, 1e4]]))
    assert far.item() == pytest.approx(math.log(2), abs=1e-7)


@given(st.integers(1, 5), st.integers(1, 4), st.integers(2, 4), st.sampled_from(sorted(DIVERGENCES)))
def test_k_passes_have_k_times_k_minus_1_half_pairs(passes: int, examples: int, classes: int, name: str) -> None:
    logits = torch.randn(passes, examples, classes, dtype=torch.float64)
    each = [
        [slow(name, logits[j, i].tolist(), logits[k, i].tolist()) for i in range(examples)]
        for j, k in combinations(range(passes), 2)
    ]
    assert len(each) == passes * (passes - 1) // 2
    total = sum(sum(pair) for pair in each)
    count = max(len(each), 1)
    measure = DIVERGENCES[name]
    assert pairwise(logits, measure, reduction="sum", pairs="sum").item() == pytest.approx(total)
    assert pairwise(logits, measure, reduction="mean", pairs="sum").item() == pytest.approx(total / examples)
    assert pairwise(logits, measure, reduction="sum", pairs="mean").item() == pytest.approx(total / count)
    assert pairwise(logits, measure).item() == pytest.approx(total / examples)  # eq. 4


@pytest.mark.parametrize("name", DIVERGENCES)
def test_a_single_output_is_a_regression(name: str) -> None:
    left, right = torch.tensor([[1.0], [4.0]]), torch.tensor([[3.0], [4.5]])
    assert between(left, right, named(name)).item() == pytest.approx((4 + 0.25) / 2)
    assert between(left, right, named(name), "sum").item() == pytest.approx(4 + 0.25)
    assert squared_difference(left, right).tolist() == [4.0, 0.25]


def test_refusals() -> None:
    with pytest.raises(ValueError, match="expected a divergence among kl, symmetric_kl, js, ce, mse, mae, got 'jd'"):
        named("jd")
    with pytest.raises(ValueError, match="expected reduction to be mean or sum, got 'total'"):
        pairwise(torch.zeros(2, 1, 2), js, reduction="total")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="expected pairs to be mean or sum, got 'all'"):
        pairwise(torch.zeros(2, 1, 2), js, pairs="all")  # type: ignore[arg-type]
