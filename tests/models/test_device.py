"""Where a model computes: what is not there is one line, before anything is written."""

import pytest
import torch

from uegr.errors import InputError
from uegr.models import device
from uegr.models.device import chosen_device


@pytest.fixture
def machine(monkeypatch):
    """A machine with these devices."""

    def has(*names):
        monkeypatch.setattr(device, "available", lambda: {name: name in names for name in ("cpu", "cuda", "mps")})

    return has


@pytest.mark.parametrize(("here", "usual"), [(("cpu",), "cpu"), (("cpu", "mps"), "cpu"), (("cpu", "cuda"), "cuda")])
def test_the_usual_device(machine, here, usual):
    machine(*here)
    assert chosen_device() == torch.device(usual)
    assert chosen_device("cpu") == torch.device("cpu")


def test_what_is_not_there_is_one_line(machine):
    machine("cpu", "mps")
    with pytest.raises(InputError, match=r"a device of this machine \(cpu, mps\), got --device cuda, which torch"):
        chosen_device("cuda")
    with pytest.raises(InputError, match="unknown device gpu; choose one of: cpu, cuda, mps"):
        chosen_device("gpu")
    assert chosen_device("mps") == torch.device("mps")
