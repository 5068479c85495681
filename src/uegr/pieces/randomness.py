"""Two passes through the same sub-model: random numbers that are drawn, and drawn again."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def rehearsed(device: torch.device) -> Iterator[None]:
    """Inside, torch draws the numbers that it will draw again afterwards, so that both passes have one dropout mask.

    >>> with rehearsed(torch.device("cpu")):
    ...     first = torch.rand(3)
    >>> bool((torch.rand(3) == first).all())
    True
    """
    if device.type == "cpu":
        with torch.random.fork_rng(devices=[]):
            yield
    else:
        with torch.random.fork_rng(devices=[device], device_type=device.type):
            yield
