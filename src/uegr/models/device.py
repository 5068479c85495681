"""Where a model computes."""

import torch
from torch import nn

from uegr.errors import InputError


def chosen_device(name: str | None = None) -> torch.device:
    """The device of this name; without one, cuda if there is one, else cpu.

    >>> chosen_device("cpu")
    device(type='cpu')
    """
    here = available()
    if name is None:
        return torch.device("cuda" if here["cuda"] else "cpu")
    if name not in here:
        raise InputError(f"unknown device {name}; choose one of: {', '.join(here)}")
    if not here[name]:
        found = ", ".join(one for one, there in here.items() if there)
        raise InputError(
            f"expected a device of this machine ({found}), got --device {name}, which torch does not find; "
            "leave out --device"
        )
    return torch.device(name)


def placed(model: nn.Module, device: torch.device) -> nn.Module:
    """The model, now on this device."""
    return model.to(device)


def available() -> dict[str, bool]:
    """Which devices torch finds on this machine."""
    return {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
