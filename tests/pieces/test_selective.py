"""The selective update as an edit: refreshing, state, the update of any optimizer, and what Adam makes of 1/p."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from uegr.pieces.saliency import keep_probability
from uegr.pieces.schedule import Moment
from uegr.pieces.selective import SelectiveUpdate

KEYWORDS: dict[str, Any] = {"score": "rank", "keep": "salient", "alpha": 0.9, "beta": 10.0}


def parameters(*sizes: int, dtype: torch.dtype = torch.float32) -> dict[str, nn.Parameter]:
    random = torch.Generator().manual_seed(0)
    return {f"p{i}": nn.Parameter(torch.randn(n, generator=random).to(dtype)) for i, n in enumerate(sizes)}


def give_gradients(named: dict[str, nn.Parameter], seed: int) -> dict[str, Tensor]:
    random = torch.Generator().manual_seed(seed)
    for parameter in named.values():
        parameter.grad = torch.randn(parameter.shape, generator=random).to(parameter.dtype)
    return {name: parameter.grad.clone() for name, parameter in named.items()}


def expected_p(roots: dict[str, Tensor], changes: dict[str, Any] | None = None) -> dict[str, Tensor]:
    """The slow way: every entry's place among the sorted squares of all."""
    options = KEYWORDS | (changes or {})
    everything = sorted(v for root in roots.values() for v in (root.double() ** 2).tolist())
    place = {value: number / (len(everything) - 1) for number, value in enumerate(everything)}
    return {
        name: keep_probability(
            torch.tensor([place[v] for v in (root.double() ** 2).tolist()]), options["keep"], options["alpha"], 10.0
        )
        for name, root in roots.items()
    }


def test_every_step_masks_by_its_own_gradient() -> None:
    named = parameters(300, 50)
    before = give_gradients(named, 1)
    SelectiveUpdate(**KEYWORDS).edit(named, Moment(seed=2))
    p = expected_p(before)
    for name, parameter in named.items():
        kept = parameter.grad != 0
        assert 0 < kept.sum() < len(kept)
        torch.testing.assert_close(parameter.grad[kept], (before[name] / p[name])[kept])


def test_parameters_without_gradient_are_left_alone() -> None:
    named = parameters(300, 50)
    give_gradients(named, 1)
    named["p1"].grad = None
    SelectiveUpdate(**KEYWORDS).edit(named, Moment())
    assert named["p1"].grad is None
    SelectiveUpdate(**KEYWORDS).edit({"p1": named["p1"]}, Moment())


@pytest.mark.parametrize("refresh", [3, "epoch"])
def test_refresh_masks_by_the_summed_squares_of_the_window_before(refresh: Any) -> None:
    named = parameters(200)
    edit = SelectiveUpdate(**KEYWORDS, refresh=refresh)
    sums: list[Tensor] = []
    for step in range(7):
        gradient = give_gradients(named, step)["p0"]
        edit.edit(named, Moment(step, epoch_steps=3, seed=4))
        if step % 3 == 0:
            sums.append(torch.zeros(200))
        sums[-1] = sums[-1] + gradient.square()
        if step < 3:
            assert torch.equal(named["p0"].grad, gradient)  # nothing known, nothing masked
            continue
        kept = named["p0"].grad != 0
        p = expected_p({"p0": sums[step // 3 - 1].sqrt()})["p0"]
        torch.testing.assert_close(named["p0"].grad[kept], (gradient / p)[kept].float(), rtol=1e-4, atol=0)
        assert kept.sum() < 200


def test_refresh_by_epoch_without_its_length_is_refused() -> None:
    named = parameters(10)
    give_gradients(named, 0)
    with pytest.raises(ValueError, match="expected the number of steps in an epoch"):
        SelectiveUpdate(**KEYWORDS, refresh="epoch").edit(named, Moment())


def test_a_long_window_of_half_precision_does_not_stop_growing() -> None:
    named = parameters(2, dtype=torch.bfloat16)
    edit = SelectiveUpdate(**KEYWORDS, refresh=1000)
    for step in range(1000):
        named["p0"].grad = torch.ones(2, dtype=torch.bfloat16)
        edit.edit(named, Moment(step))
    torch.testing.assert_close(edit.roots["p0"].float(), torch.full((2,), math.sqrt(1000)))


@pytest.mark.parametrize("stop", [1, 3, 4])
def test_state_survives_a_checkpoint(stop: int) -> None:
    """A run that stops and goes on in a new process ends with the gradients of one that did not stop."""

    def steps(edit: SelectiveUpdate, first: int, last: int) -> Tensor:
        named = parameters(200)
        for step in range(first, last):
            give_gradients(named, step)
            edit.edit(named, Moment(step, seed=1))
        return named["p0"].grad

    whole = steps(SelectiveUpdate(**KEYWORDS, refresh=3), 0, 6)
    first, second = (SelectiveUpdate(**KEYWORDS, refresh=3) for _ in range(2))
    steps(first, 0, stop)
    second.load_state_dict({name: value.clone() for name, value in first.state_dict().items()})
    assert torch.equal(steps(second, stop, 6), whole)


def test_a_gradient_that_is_not_contiguous_is_masked_too() -> None:
    parameter = nn.Parameter(torch.randn(20, 30))
    parameter.grad = torch.randn(30, 20).T
    before = parameter.grad.clone()
    SelectiveUpdate(**KEYWORDS | {"alpha": 0.5}).edit({"p": parameter}, Moment())
    kept = parameter.grad != 0
    assert 0 < kept.sum() < kept.numel()
    assert (parameter.grad[kept].sign() == before[kept].sign()).all()


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.AdamW])
@pytest.mark.parametrize("contiguous", [True, False])
def test_rescale_update_masks_and_divides_the_update_of_any_optimizer(optimizer: Any, contiguous: bool) -> None:
    start = torch.randn(20, 30) if contiguous else torch.randn(30, 20).T
    plain, masked = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    gradient = torch.randn(20, 30)
    plain.grad, masked.grad = gradient.clone(), gradient.clone()
    edit = SelectiveUpdate(**KEYWORDS | {"alpha": 0.5}, rescale="update")
    edit.edit({"p": masked}, Moment(seed=3))
    assert torch.equal(masked.grad, gradient)  # the optimizer sees the whole gradient
    for parameter in (plain, masked):
        optimizer([parameter], lr=0.1).step()
    edit.after({"p": masked})
    update, full = masked.detach() - start, plain.detach() - start
    p = expected_p({"p": gradient.flatten()}, {"alpha": 0.5})["p"].view(20, 30).float()
    kept = update != 0
    assert 0 < kept.sum() < kept.numel()
    torch.testing.assert_close(update[kept], (full / p)[kept], rtol=1e-3, atol=1e-6)
    untouched = masked.detach().clone()
    edit.after({"p": masked})
    assert torch.equal(masked, untouched)  # once


def test_under_adam_the_factor_cancels_and_on_the_update_it_does_not() -> None:
    """A constant gradient moves Adam by 1 a step; masked with p = 1/2 by sqrt(1/2), with or without the factor 1/p."""

    def mean_step(rescale: Any) -> float:
        parameter = nn.Parameter(torch.zeros(1000))
        optimizer = torch.optim.Adam([parameter], lr=1.0, betas=(0.9, 0.99))
        edit = SelectiveUpdate(**KEYWORDS | {"beta": 0.0}, rescale=rescale)
        total = 0.0
        for step in range(500):
            before = parameter.detach().clone()
            parameter.grad = torch.ones(1000)
            edit.edit({"p": parameter}, Moment(step))
            optimizer.step()
            edit.after({"p": parameter})
            total += float((parameter.detach() - before).abs().mean()) if step >= 300 else 0.0
        return total / 200

    divided, plain, update = mean_step(True), mean_step(False), mean_step("update")
    assert divided == pytest.approx(plain, rel=1e-4)
    assert divided == pytest.approx(math.sqrt(0.5), rel=0.02)
    assert update == pytest.approx(1.0, rel=0.02)


@pytest.mark.parametrize("rescale", [True, "update"])
def test_sgd_is_unbiased_either_way(rescale: Any) -> None:
    times, start, gradient = 1500, torch.zeros(40).double(), torch.linspace(0.1, 2, 40).double()
    total = torch.zeros(40).double()
    for seed in range(times):
        parameter = nn.Parameter(start.clone())
        parameter.grad = gradient.clone()
        edit = SelectiveUpdate(**KEYWORDS | {"alpha": 0.6, "beta": 1.0}, rescale=rescale)
        edit.edit({"p": parameter}, Moment(seed=seed))
        torch.optim.SGD([parameter], lr=1.0).step()
        edit.after({"p": parameter})
        total += parameter.detach()
    off = (total / times + gradient) / (gradient * 2 / math.sqrt(times))
    assert off.abs().max() < 4


@pytest.mark.parametrize("refresh", [0, -1, 1.5, "step", None])
def test_a_refresh_that_is_none_is_refused(refresh: Any) -> None:
    with pytest.raises(ValueError, match="expected refresh to be a number of steps >= 1 or 'epoch', got"):
        SelectiveUpdate(**KEYWORDS, refresh=refresh)


@pytest.mark.parametrize("rescale", ["yes", None, 2])
def test_a_rescale_that_is_none_is_refused(rescale: Any) -> None:
    with pytest.raises(ValueError, match="expected rescale to be true, false or 'update', got"):
        SelectiveUpdate(**KEYWORDS, rescale=rescale)
