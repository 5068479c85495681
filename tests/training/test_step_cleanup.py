"""After a step, or an exception anywhere inside one, every hook, forward, rate and weight is back as it was."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn

import uegr
from tests.models.families import tiny
from tests.training.test_step import batch_for, gradients
from uegr.methods import Method, fgm, rat, rat_su, vanilla
from uegr.methods import uegr as uegr_method


class Broken(RuntimeError):
    pass


def snapshot(model: nn.Module) -> dict[str, Any]:
    """Everything about a model that a step may touch, apart from gradients."""
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return {
        "weights": {name: value.clone() for name, value in model.state_dict().items()},
        "hooks": {(name, kind): list(getattr(m, kind)) for name, m in model.named_modules() for kind in hooks},
        "own": {name: {k: v for k, v in vars(m).items() if callable(v)} for name, m in model.named_modules()},
        "rates": {name: m.p for name, m in model.named_modules() if isinstance(m, nn.Dropout)},
        "training": {name: m.training for name, m in model.named_modules()},
        "requires": {name: p.requires_grad for name, p in model.named_parameters()},
        "parameter hooks": {name: p._backward_hooks for name, p in model.named_parameters()},
    }


def assert_unchanged(before: dict[str, Any], after: dict[str, Any]) -> None:
    weights, found = before.pop("weights"), after.pop("weights")
    assert weights.keys() == found.keys()
    assert all(torch.equal(found[name], value) for name, value in weights.items())
    assert after == before


METHODS = [
    uegr_method(),
    uegr_method(clean_dropout="adaptive", rates=(0.2, 0.3), split=2),
    rat(rates=(0.1, 0.2), epsilons=(0.5, 1.0)),
    rat_su(),
    fgm(norm="matrix"),
    vanilla(),
]


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("family", ["bert", "xlnet", "bilstm"])
def test_a_step_leaves_everything_as_it_was(method: Method, family: str) -> None:
    model, _ = tiny(family)
    before = snapshot(model.train())
    uegr.backward(method, model, batch_for(model))
    assert_unchanged(before, snapshot(model))


@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("place", ["forward", "backward", "between"])
def test_an_exception_in_any_pass_leaves_everything_as_it_was(method: Method, place: str) -> None:
    """In the forward of a pass behind its embedding and dropout; inside autograd; and where a loss is handed over."""
    for failing in range(method.objective.yields):
        model, _ = tiny("bert")
        counted = {"forward": -1, "backward": -1}
        middle = model.bert.encoder.layer[1]
        own = middle.forward

        def fragile(*args: Any, own: Any = own, counted: dict = counted, failing: int = failing, **more: Any) -> Any:
            counted["forward"] += 1
            if place == "forward" and counted["forward"] == failing:
                raise Broken
            output = own(*args, **more)
            values = output if isinstance(output, Tensor) else output[0]
            if place == "backward" and counted["forward"] == failing:
                values.register_hook(lambda gradient: (_ for _ in ()).throw(Broken()))
            return output

        def hand_over(loss: Tensor, counted: dict = counted, failing: int = failing) -> None:
            counted["backward"] += 1
            if place == "between" and counted["backward"] == failing:
                raise Broken
            loss.backward()

        middle.forward = fragile
        before, state = snapshot(model.train()), method.state_dict()
        with pytest.raises(Broken) as caught:  # held, so that no garbage collector closes what the step left open
            uegr.backward(method, model, batch_for(model), backward=hand_over)
        assert_unchanged(before, snapshot(model))
        del caught
        if failing == 0:  # a later pass fails when the clean one has taught its ranks
            assert method.state_dict().keys() == state.keys()
            assert all(torch.equal(value, state[name]) for name, value in method.state_dict().items())


def test_after_an_exception_the_next_step_is_as_if_nothing_had_been() -> None:
    model, _ = tiny("bert")
    batch = batch_for(model)
    torch.manual_seed(1)
    uegr.backward(uegr_method(), model.train(), batch)
    expected = gradients(model)
    model.zero_grad()
    method = uegr_method()
    for number in (0, 1):
        losses = iter(range(9))

        def fail(loss: Tensor, losses: Any = losses, number: int = number) -> None:
            if next(losses) == number:
                raise Broken
            loss.backward()

        with pytest.raises(Broken):
            uegr.backward(method, model, batch, backward=fail)
    model.zero_grad()
    torch.manual_seed(1)
    uegr.backward(method, model, batch)
    assert all(torch.equal(expected[name], gradient) for name, gradient in gradients(model).items())
