"""One step: its terms and gradients, edits in time, and nothing left behind when a pass raises."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import uegr
from tests.models.families import tiny
from uegr.methods import Method, Objective, fgm, rat, rat_su, vanilla
from uegr.methods import uegr as uegr_method
from uegr.pieces.schedule import Moment
from uegr.training.step import accumulate, edit_gradients, finish_update, total, trainable


def batch_for(model: nn.Module) -> dict[str, Tensor]:
    ids = torch.tensor([[6, 7, 8, 9], [9, 8, model.config.pad_token_id, model.config.pad_token_id], [5, 6, 6, 7]])
    mask = (ids != model.config.pad_token_id).long()
    if model.config.model_type == "xlnet":
        ids, mask = ids.flip(1), mask.flip(1)
    return {"input_ids": ids, "attention_mask": mask, "labels": torch.tensor([0, 1, 1])}


def gradients(model: nn.Module) -> dict[str, Tensor]:
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def test_vanilla_is_one_plain_backward() -> None:
    model, _ = tiny("bert")
    batch = batch_for(model)
    torch.manual_seed(0)
    terms = uegr.backward(vanilla(), model.train(), batch)
    found = gradients(model)
    model.zero_grad()
    torch.manual_seed(0)
    loss = model(**batch).loss
    loss.backward()
    assert terms == {"task": loss.item()}
    assert all(torch.equal(found[name], gradient) for name, gradient in gradients(model).items())


def test_gradients_add_up_and_the_terms_are_those_of_the_step() -> None:
    model, _ = tiny("bert")
    batch = batch_for(model)
    method = uegr_method(selective_update=False)
    torch.manual_seed(0)
    terms = uegr.backward(method, model.train(), batch)
    once = gradients(model)
    assert terms.keys() == {"task", "adversarial", "divergence"}
    assert all(isinstance(value, float) for value in terms.values())
    torch.manual_seed(0)
    uegr.backward(uegr_method(selective_update=False), model, batch)
    for name, gradient in gradients(model).items():
        torch.testing.assert_close(gradient, 2 * once[name])


def test_an_own_backward_is_used_for_every_loss() -> None:
    model, _ = tiny("bert")
    seen: list[Tensor] = []

    def scaled(loss: Tensor) -> None:
        seen.append(loss.detach())
        (loss * 3).backward()

    torch.manual_seed(0)
    uegr.backward(fgm(), model.train(), batch_for(model), backward=scaled)
    tripled = gradients(model)
    model.zero_grad()
    torch.manual_seed(0)
    terms = uegr.backward(fgm(), model, batch_for(model))
    assert [loss.item() for loss in seen] == pytest.approx(list(terms.values()))
    for name, gradient in gradients(model).items():
        torch.testing.assert_close(tripled[name], 3 * gradient)


def test_the_edit_comes_after_the_last_backward_and_follows_the_moment() -> None:
    model, _ = tiny("bert")
    batch = batch_for(model)

    def masked(step: int | Moment) -> dict[str, Tensor]:
        model.zero_grad()
        torch.manual_seed(0)
        uegr.backward(uegr_method(), model.train(), batch, step=step)
        return gradients(model)

    first, again, other = masked(3), masked(Moment(3, total=9)), masked(4)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)
    model.zero_grad()
    torch.manual_seed(0)
    accumulate(uegr_method(), model, batch, Moment(3), Tensor.backward)
    whole = gradients(model)
    edit_gradients(uegr_method(), model, Moment(3))
    assert all(torch.equal(first[name], gradient) for name, gradient in gradients(model).items())
    assert any(not torch.equal(first[name], whole[name]) for name in whole)


@pytest.mark.parametrize("method", [uegr_method(), rat(), uegr_method(split=3), vanilla()], ids=repr)
def test_all_but_the_last_backward_run_without_synchronising(method: Method) -> None:
    model, _ = tiny("bert")
    inside, marks = [False], []

    @contextmanager
    def no_sync() -> Iterator[None]:
        inside[0] = True
        yield
        inside[0] = False

    def backward(loss: Tensor) -> None:
        marks.append(inside[0])
        loss.backward()

    handle = model.register_forward_pre_hook(lambda module, inputs: marks.append(inside[0]))
    accumulate(method, model.train(), batch_for(model), Moment(), backward, no_sync)
    handle.remove()
    yields = method.objective.yields
    assert marks == [True] * 2 * (yields - 1) + [False] * 2  # forward and backward alike


@pytest.mark.parametrize("method", [uegr_method(), rat(), rat_su()], ids=["uegr", "rat", "rat_su"])
def test_an_own_loop_is_told_when_a_model_cannot_work(method: Method) -> None:
    model, _ = tiny("llama")
    with pytest.raises(ValueError, match=r"expected a model with nn\.Dropout modules to draw sub-models from"):
        uegr.backward(method, model, batch_for(model))
    assert all(p.grad is None for p in model.parameters())


def test_recomputed_activations_give_the_same_gradients() -> None:
    """Gradient checkpointing runs forwards again inside the backward, with hooks and masks as they were."""
    found = []
    for recompute in (False, True):
        model, _ = tiny("bert", dtype=torch.float64)
        if recompute:
            model.gradient_checkpointing_enable()
        torch.manual_seed(4)
        method = uegr_method(rates=(0.2, 0.4))
        uegr.backward(method, model.train(), batch_for(model))
        found.append((gradients(model), method.state_dict()))
    for plain, again in zip(*found, strict=True):
        assert plain.keys() == again.keys()
        for name, value in plain.items():
            torch.testing.assert_close(again[name], value)


class Miscounting(Objective):
    """Says that it yields twice."""

    yields = 2

    def __init__(self, times: int) -> None:
        self.times = times

    def losses(self, model: nn.Module, batch: Any) -> Iterator[dict[str, Tensor]]:
        for _ in range(self.times):
            yield {"task": model(**batch).loss}


@pytest.mark.parametrize(("times", "line"), [(1, "2 yields, but stopped earlier"), (3, "2 yields, but yielded more")])
def test_a_method_that_miscounts_its_yields_is_told(times: int, line: str) -> None:
    model, _ = tiny("bert")
    with pytest.raises(TypeError, match=line):
        uegr.backward(Method(Miscounting(times)), model, batch_for(model))


def test_a_single_term_is_left_as_it_is() -> None:
    loss = torch.tensor(1.5)
    assert total({"task": loss}) is loss
    assert total({"a": loss, "b": torch.tensor(2.0)}).item() == 3.5


def test_only_what_is_trained_is_edited() -> None:
    model, _ = tiny("bert")
    for parameter in model.bert.embeddings.parameters():
        parameter.requires_grad_(False)
    torch.manual_seed(0)
    uegr.backward(uegr_method(alpha=0.5), model.train(), batch_for(model))
    assert not any(name.startswith("bert.embeddings") for name in trainable(model))
    assert all(p.grad is None for p in model.bert.embeddings.parameters())
    assert any((p.grad == 0).any() for p in trainable(model).values())


def test_finish_update_masks_the_optimizers_step() -> None:
    model, _ = tiny("bert")
    batch = batch_for(model)
    method = uegr_method(rescale="update", alpha=0.95)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    torch.manual_seed(0)
    uegr.backward(method, model.train(), batch)
    optimizer.step()
    finish_update(method, model)
    moved = {name: p.detach() - before[name] for name, p in model.named_parameters()}
    whole = gradients(model)
    kept = sum(int((m != 0).sum()) for m in moved.values()) / sum(int((g != 0).sum()) for g in whole.values())
    assert 0.05 < kept < 0.9
    finish_update(vanilla(), model)


def test_a_loop_that_forgets_to_finish_the_update_is_told() -> None:
    model, _ = tiny("bert")
    method = uegr_method(rescale="update")
    uegr.backward(method, model.train(), batch_for(model))
    with pytest.raises(ValueError, match=r"expected finish_update\(method, model\) after every step of the optimizer"):
        uegr.backward(method, model, batch_for(model), step=1)
