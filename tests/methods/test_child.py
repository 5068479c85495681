"""What a child network keeps: the share, the mean, the layers, and the moment it is drawn for."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import uegr
from tests.methods.tiny_models import made
from uegr import Moment, methods
from uegr.methods import Method
from uegr.testing.models import batch_for, classifier
from uegr.testing.subject import gradients, step
from uegr.training.step import edit_gradients


def layered(gradient: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The gradients of the layers, and all others, flat."""
    inside = [value.flatten() for key, value in gradient.items() if "encoder.layer" in key]
    outside = [value.flatten() for key, value in gradient.items() if "encoder.layer" not in key]
    return torch.cat(inside), torch.cat(outside)


def flat(gradient: dict[str, Tensor]) -> Tensor:
    """All gradients in one vector."""
    return torch.cat([value.flatten() for value in gradient.values()])


def test_child_f_keeps_a_share_and_the_mean() -> None:
    model = classifier(dropout=False)
    batch = batch_for(model)
    step(methods.child_f(p=1.0), model, batch)
    unmasked = gradients(model)
    whole = flat(unmasked)
    method, total, draws = methods.child_f(p=0.3), torch.zeros_like(whole), 200
    for seed in range(draws):
        for key, weight in model.named_parameters():
            weight.grad = unmasked[key].clone()
        edit_gradients(method, model, Moment(step=4, seed=seed))
        masked = flat(gradients(model))
        total += masked
    kept = (masked != 0) & (whole != 0)
    torch.testing.assert_close(masked[kept], whole[kept] / 0.3)
    assert float(kept.sum() / (whole != 0).sum()) == pytest.approx(0.3, abs=0.03)
    deviation = whole.abs() * (0.7 / 0.3 / draws) ** 0.5
    assert ((total / draws - whole).abs() <= 6 * deviation + 1e-9).all()


def test_child_f_masks_every_parameter() -> None:
    model = classifier(dropout=False)
    batch = batch_for(model)
    step(methods.child_f(p=1.0), model, batch)
    unmasked = gradients(model)
    step(methods.child_f(p=0.3), model, batch)
    for key, masked in gradients(model).items():
        live = unmasked[key] != 0
        if live.sum() > 20:  # 0.7 ** 20 < 0.001: all kept means not masked
            assert (masked[live] == 0).any(), key


def test_child_f_draws_by_seed_and_step() -> None:
    model = classifier(dropout=False)
    batch, found = batch_for(model), []
    for moment in (Moment(3, seed=1), Moment(3, seed=1), Moment(4, seed=1), Moment(3, seed=2)):
        step(methods.child_f(), model, batch, moment=moment, seed=len(found))
        found.append(layered(gradients(model))[0])
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    assert not torch.equal(found[0], found[3])


def test_child_d_is_the_same_child_throughout_and_in_the_checkpoint() -> None:
    model = classifier()
    batches = [batch_for(model, seed=seed) for seed in range(3)]
    method = made("child_d", p=0.2)
    method.objective.prepare(model, batches)
    step(method, model, batches[0])
    first = gradients(model)
    resumed = made("child_d", p=0.2)
    resumed.load_state_dict(method.state_dict())
    step(resumed, model, batches[0], moment=Moment(9, seed=9))
    assert all(torch.equal(value, gradients(model)[key]) for key, value in first.items())
    inside, _ = layered(first)
    child = torch.cat([value.flatten() for value in method.state_dict().values()])
    assert float(child.float().mean()) == pytest.approx(0.2, abs=1e-3)
    assert float((inside != 0).float().mean()) <= 0.2 + 1e-3


def test_roast_masks_the_layers_only_and_only_after_the_first_epoch() -> None:
    model = classifier(dropout=False)
    batch = batch_for(model)
    options: dict[str, Any] = {"epsilon": 0.02, "alpha": 0.8, "beta": 1e6}
    method, plain = made("roast", **options), made("roast", **options)
    whole = layered(after(plain, model, batch, Moment(0, epoch_steps=100)))
    for number in range(3):
        found = layered(after(method, model, batch, Moment(number, epoch_steps=2)))
        assert torch.equal(found[1], whole[1])
        if number < 2:
            assert torch.equal(found[0], whole[0])
    assert float((found[0] != 0).float().mean()) == pytest.approx(0.2, abs=0.01)
    edge = whole[0].abs().sort(descending=True).values[int(0.19 * len(whole[0]))]
    assert (found[0][whole[0].abs() >= edge] != 0).all()


def after(method: Method, model: nn.Module, batch: dict[str, Tensor], moment: Moment) -> dict[str, Tensor]:
    step(method, model, batch, moment=moment)
    return gradients(model)


def test_roast_says_when_it_needs_the_epoch() -> None:
    model = classifier()
    with pytest.raises(ValueError, match="expected the number of steps in an epoch for refresh='epoch'"):
        uegr.backward(methods.roast(), model, batch_for(model))


def test_a_model_without_trainable_layers_is_refused() -> None:
    model = classifier()
    model.bert.encoder.requires_grad_(False)
    for method in (methods.child_d(), methods.roast()):
        with pytest.raises(ValueError, match="expected trainable layers in the encoder, got Bert"):
            method.objective.check(model)
