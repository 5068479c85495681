"""The contract that every entry of METHODS is held to, one step at a time; adding a method adds it here.

test_contract_trainer.py and test_contract_processes.py go on with whole trainings, test_limits.py and
test_references.py with equations.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import BertModel
from transformers.models.bert.modeling_bert import BertEncoder

from tests.methods.tiny_models import (
    EARLY,
    LATE,
    WITHOUT_DROPOUT,
    adapted,
    batch_for,
    classifier,
    gradients,
    made,
    prepared,
    step,
    tagger,
    token_labels,
    unless_refused,
    writer,
)
from tests.models.families import tiny
from uegr.methods import METHODS, Method
from uegr.pieces.schedule import Moment

every_method = pytest.mark.parametrize("name", METHODS)
both_moments = pytest.mark.parametrize("moment", [EARLY, LATE], ids=["first", "later"])

# A task of forty steps wants earlier ends of schedules, and weights of the order of the task's own.
LEARNS: dict[str, dict[str, Any]] = {
    "wcons": {"k": 0.5, "t0": 5.0},
    "ascc": {"beta": 1.0},
    "rift": {"beta": 1.0},
    "adv_ptwd": {"beta": 1.0},
    "adv_mixout": {"beta": 1.0},
}


@every_method
def test_it_learns_a_small_task(name: str) -> None:
    model, _ = tiny("textcnn")
    method, total = prepared(made(name, **LEARNS.get(name, {})), model, key_words(16, seed=0)), 40
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=0.01)
    for number in range(total):
        step(method, model, key_words(16, number), moment=Moment(number, total, epoch_steps=10), seed=number)
        optimizer.step()
    test = key_words(200, seed=999)
    with torch.no_grad():
        correct = model.eval()(**test)["logits"].argmax(-1) == test["labels"]
    assert float(correct.float().mean()) > 0.85


def key_words(size: int, seed: int) -> dict[str, Tensor]:
    """Texts whose class is told by one of two words at any place."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(10, 40, (size, 6), generator=generator)
    labels = torch.randint(0, 2, (size,), generator=generator)
    ids[torch.arange(size), torch.randint(0, 4, (size,), generator=generator)] = 5 + labels
    ids[::3, 4:] = 0
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": labels}


@every_method
@both_moments
def test_a_step_leaves_no_trace(name: str, moment: Moment) -> None:
    model, batch, method = ready(name)
    before = state(model)
    step(method, model, batch, moment=moment)
    same(state(model), before)


@every_method
@both_moments
def test_an_exception_in_any_backward_leaves_no_trace(name: str, moment: Moment) -> None:
    model, batch, method = ready(name)
    for broken in range(method.objective.yields):
        before = state(model)
        with pytest.raises(Broken):
            step(method, model, batch, moment=moment, backward=breaking_at(broken, Tensor.backward))
        same(state(model), before)
    step(method, model, batch, moment=moment)  # and it goes on


@every_method
@both_moments
def test_an_exception_in_any_forward_leaves_no_trace(name: str, moment: Moment, monkeypatch: Any) -> None:
    model, batch, method = ready(name)
    forwards = 0
    while True:
        before = state(model)
        with monkeypatch.context() as patch:
            patch.setattr(BertEncoder, "forward", breaking_at(forwards, BertEncoder.forward))
            try:
                step(method, model, batch, moment=moment)
            except Broken:
                same(state(model), before)
                forwards += 1
            else:
                break
    assert 1 <= forwards <= method.objective.passes[0]


class Broken(Exception):
    """What the tests throw."""


def breaking_at(call: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, but its call of that number (from 0) raises."""
    calls = iter(range(1000))

    def perhaps(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == call:
            raise Broken
        return function(*args, **kwargs)

    return perhaps


def ready(name: str, **options: Any) -> tuple[nn.Module, dict[str, Tensor], Method]:
    model = classifier()
    batch = batch_for(model)
    return model, batch, prepared(made(name, **options), model, batch)


def state(model: nn.Module) -> dict[str, Any]:
    """All that a method could leave behind: hooks, forwards, rates, modes, weights, what trains; not the gradients."""
    found: dict[str, Any] = {}
    for name, module in model.named_modules():
        found[f"{name} attributes"] = sorted(module.__dict__)
        found[f"{name} members"] = list(module._modules), list(module._parameters), list(module._buffers)
        found[f"{name} hooks"] = {
            key: list(value) for key, value in module.__dict__.items() if "hooks" in key and value
        }
        found[f"{name} mode"] = module.training, getattr(module, "p", None), module.__dict__.get("forward")
    for name, weight in [*model.named_parameters(), *model.named_buffers()]:
        hooks = weight._backward_hooks, getattr(weight, "_post_accumulate_grad_hooks", None)
        found[f"{name} tensor"] = id(weight), weight.requires_grad, hooks
        found[f"{name} value"] = weight.detach().clone()
    return found


def same(after: dict[str, Any], before: dict[str, Any]) -> None:
    assert after.keys() == before.keys()
    for key, value in before.items():
        equal = torch.equal(after[key], value) if isinstance(value, Tensor) else after[key] == value
        assert equal, f"{key} was {value}, is {after[key]}"


@every_method
def test_declared_passes_are_counted_passes(name: str, monkeypatch: Any) -> None:
    model, batch, method = ready(name)
    rows = {"forward": 0, "backward": 0}
    forward = BertModel.forward

    def counted(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        output = forward(self, *args, **kwargs)
        rows["forward"] += len(output.last_hidden_state)
        if output.last_hidden_state.requires_grad:
            output.last_hidden_state.register_hook(lambda g: rows.update(backward=rows["backward"] + len(g)))
        return output

    monkeypatch.setattr(BertModel, "forward", counted)
    step(method, model, batch)
    size = len(batch["labels"])
    assert (rows["forward"] / size, rows["backward"] / size) == method.objective.passes


@every_method
def test_no_graph_outlives_its_backward(name: str) -> None:
    model, batch, method = ready(name)
    left: list[int] = []
    with living_graphs() as living:

        def backward(loss: Tensor) -> None:
            loss.backward()
            left.append(len(living))

        step(method, model, batch, backward=backward)
        assert len(left) == method.objective.yields
        assert not any(left)
        assert not living


@contextmanager
def living_graphs() -> Iterator[set[int]]:
    """The tensors that autograd holds for a backward to come."""
    living: set[int] = set()

    class Held:
        def __init__(self, tensor: Tensor) -> None:
            self.tensor = tensor.detach() if tensor.requires_grad else tensor
            living.add(id(self))

        def __del__(self) -> None:
            living.discard(id(self))

    with torch.autograd.graph.saved_tensors_hooks(Held, lambda held: held.tensor):
        yield living


@every_method
@both_moments
def test_on_a_lora_model_only_what_trains_has_a_gradient(name: str, moment: Moment) -> None:
    model = adapted("bert" if moment is EARLY else "gpt2")
    batch = batch_for(model)
    method = prepared(made(name), model, batch)
    before = state(model)
    step(method, model, batch, moment=moment)
    same(state(model), before)
    touched = {key for key, weight in model.named_parameters() if weight.grad is not None and weight.grad.any()}
    trained = {key for key, weight in model.named_parameters() if weight.requires_grad}
    assert touched <= trained
    assert any("modules_to_save" in key for key in touched)
    if name != "lpft" or moment is LATE:
        assert any("lora" in key for key in touched)
    finite(model)


def finite(model: nn.Module) -> None:
    for key, weight in model.named_parameters():
        assert weight.grad is None or torch.isfinite(weight.grad).all(), key


@every_method
def test_a_decoder_never_sees_its_padding(name: str) -> None:
    model = classifier("gpt2")
    batch = batch_for(model)
    assert (batch["input_ids"][:, -1] == model.config.pad_token_id).any()
    method = prepared(made(name), model, batch)
    before = state(model)
    step(method, model, batch)
    same(state(model), before)
    finite(model)
    words = model.transformer.wte.weight.grad
    assert words.any()
    assert not words[model.config.pad_token_id].any()


@every_method
@pytest.mark.parametrize("task", ["regression", "token classification", "causal language model"])
def test_other_tasks_than_classification(name: str, task: str) -> None:
    model, batch = other_task(task)
    with unless_refused(name, task):
        method = prepared(made(name), model, batch)
        before = state(model)
        terms = step(method, model, batch)
    same(state(model), before)
    finite(model)
    assert all(torch.isfinite(value) for value in terms.values())
    assert any(weight.grad is not None and weight.grad.any() for weight in model.parameters())


def other_task(task: str) -> tuple[nn.Module, dict[str, Tensor]]:
    if task == "regression":
        model = classifier(labels=1)
        return model, batch_for(model, labels=1)
    model = tagger() if task == "token classification" else writer()
    return model, token_labels(batch_for(model), classes=3 if task == "token classification" else None)


@every_method
def test_under_one_autocast_around_the_step_the_gradient_is_nearly_the_same(name: str) -> None:
    model, batch, method = ready(name, **WITHOUT_DROPOUT.get(name, {}))
    step(method, model, batch)
    exact = torch.cat([gradient.flatten() for gradient in gradients(model).values()])
    with torch.autocast("cpu", torch.bfloat16):
        step(method, model, batch)
    rough = torch.cat([gradient.flatten() for gradient in gradients(model).values()])
    assert rough.dtype == torch.float32
    assert torch.isfinite(rough).all()
    assert float(torch.cosine_similarity(exact, rough, dim=0)) > 0.9
