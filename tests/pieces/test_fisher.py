"""Squared gradients of single examples: their sum, and that nothing else is touched."""

from collections.abc import Generator

import pytest
import torch
from torch import Tensor, nn

from uegr.pieces.fisher import Squares, squared_gradients


def example(model: nn.Module, row: Tensor) -> Generator[Tensor]:
    """Two losses of one example."""
    yield model(row).square().sum()
    yield 3 * model(row).sum()


def test_the_sum_over_examples_of_the_squared_gradient() -> None:
    model = nn.Linear(3, 2).double()
    model.bias.requires_grad_(False)
    rows = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    before = model.weight
    found = squared_gradients(model, (example(model, row) for row in rows))
    expected = torch.zeros(2, 3, dtype=torch.float64)
    for row in rows:
        (gradient,) = torch.autograd.grad(model(row).square().sum() + 3 * model(row).sum(), model.weight)
        expected += gradient**2
    assert found.keys() == {"weight"}
    torch.testing.assert_close(found["weight"], expected, rtol=1e-12, atol=1e-12)
    assert model.weight is before
    assert model.weight.grad is None


def test_the_weights_come_back_and_the_losses_are_closed_after_an_exception() -> None:
    model, closed = nn.Linear(3, 2), []

    def broken() -> Generator[Tensor]:
        try:
            yield torch.zeros(())  # has no gradient: its backward raises
        finally:
            closed.append(True)

    before = model.weight
    with pytest.raises(RuntimeError, match="does not require grad"):
        squared_gradients(model, [broken()])
    assert model.weight is before
    assert closed


def test_sums_are_taken_once() -> None:
    squares = Squares()
    squares.add({"w": torch.tensor([1.0])})
    squares.add({"w": torch.tensor([2.0])})
    assert squares.take()["w"].tolist() == [3.0]
    with pytest.raises(ValueError, match="expected squared gradients of single examples, got none"):
        squares.take()
