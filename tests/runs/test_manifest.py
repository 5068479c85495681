"""The hash of the weights that a run starts from: every weight counts, and it is made beside the other work."""

import threading
from collections import OrderedDict

import pytest
import torch
from torch import nn

from uegr.runs import manifest


def model(scale: float = 1.0) -> nn.Module:
    """Weights in several shapes and types, a single number among them."""
    torch.manual_seed(0)
    parts = OrderedDict(first=nn.Linear(3, 4), second=nn.BatchNorm1d(4), third=nn.Linear(4, 2).bfloat16())
    built = nn.Sequential(parts)
    built.register_buffer("scale", torch.tensor(scale))
    return built


def test_the_same_weights_have_the_same_hash_and_a_changed_bit_another() -> None:
    expected = manifest.hashing(model())()
    assert manifest.hashing(model())() == expected
    assert manifest.hashing(model(scale=1.5))() != expected
    for name in model().state_dict():
        other = model()
        other.state_dict()[name].reshape(-1).view(torch.uint8)[0] ^= 1
        assert manifest.hashing(other)() != expected, name


def test_names_count() -> None:
    one, other = nn.ModuleDict({"a": nn.Linear(2, 2)}), nn.ModuleDict({"b": nn.Linear(2, 2)})
    other["b"].load_state_dict(one["a"].state_dict())
    assert manifest.hashing(one)() != manifest.hashing(other)()


def test_hashing_does_not_hold_up_the_work_that_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    go, real = threading.Event(), manifest.weight_digest

    def slow(name: str, weight: torch.Tensor) -> str:
        assert go.wait(10)
        return real(name, weight)

    monkeypatch.setattr(manifest, "weight_digest", slow)
    waiting = manifest.hashing(model())
    go.set()  # not reached if the line before waited
    monkeypatch.undo()
    assert waiting() == manifest.hashing(model())()
