"""Where in the training a step is: for schedules, windows of steps, and random numbers."""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Moment:
    """One optimizer step: its number from 0, how many there will be, how many make an epoch, and the run's seed.

    A loop that knows neither total nor epoch leaves them out; a method that needs them raises an error.
    """

    step: int = 0
    total: int | None = None
    epoch_steps: int | None = None
    seed: int = 0

    def generator(self, device: torch.device) -> torch.Generator:
        """Random numbers that depend on seed and step alone, so that replicas and resumed runs draw the same.

        >>> first, again = (Moment(step=3, seed=1).generator(torch.device("cpu")) for _ in range(2))
        >>> bool(torch.rand(1, generator=first) == torch.rand(1, generator=again))
        True
        """
        mixed = (self.seed * 0x9E3779B97F4A7C15 + self.step * 0xBF58476D1CE4E5B9) % 2**63
        return torch.Generator(device=device).manual_seed(mixed)


def warmed(value: float, share: float, moment: Moment) -> float:
    """`value`, growing linearly from 0 over the first `share` of all steps.

    >>> [warmed(1.0, 0.5, Moment(step, total=8)) for step in (0, 2, 4, 7)]
    [0.0, 0.5, 1.0, 1.0]
    """
    if share == 0:
        return value
    if moment.total is None:
        raise ValueError(f"expected the number of training steps for a warm-up over {share} of them, got none")
    return value * min(1.0, moment.step / (share * moment.total))
