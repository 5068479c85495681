"""The mean of the weights over the last part of a training, in place of the weights of its last step.

    tail: w_mean = (1/n) sum of the weights after each of the last n steps              Izmailov et al. 2018 (SWA)
    ema:  w_mean <- d w_mean + (1 - d) w after each step, d = min(decay, (1 + t) / (10 + t))

It costs one copy of the trained weights and no pass. Evaluations during training see the mean, so the best epoch is
chosen by it and kept with it; the training itself goes on with its own weights, which come back bitwise. At the end the
model has the mean. Before the tail begins there is no mean: the weights are those of the step.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import TrainerCallback

from uegr.errors import InputError
from uegr.training.step import trainable

Averaging = Literal["none", "tail", "ema"]


class MeanWeights:
    """The running mean of the trained weights, by name."""

    def __init__(self, kind: Averaging = "none", start: float = 0.5, decay: float = 0.99) -> None:
        if kind not in get_args(Averaging):
            raise InputError(f"expected averaging to be one of {', '.join(get_args(Averaging))}, got {kind!r}")
        if not (0 <= start < 1 and 0 < decay < 1):
            raise InputError(f"expected 0 <= averaging_start < 1 and 0 < averaging_decay < 1, got {start} and {decay}")
        self.kind, self.start, self.decay = kind, start, decay
        self.steps = 0  # that the mean is over
        self.mean: dict[str, Tensor] = {}
        self.shown = False

    @torch.no_grad()
    def add(self, model: nn.Module, step: int, total: int) -> None:
        """Take the weights after optimizer step `step`, from 1, of `total` into the mean."""
        if self.kind == "none" or (self.kind == "tail" and step <= self.start * total):
            return
        weights = trainable(model)
        self.steps += 1
        if not self.mean:
            self.mean = {name: promoted(weight) for name, weight in weights.items()}
            return
        share = 1 / self.steps if self.kind == "tail" else 1 - min(self.decay, (1 + self.steps) / (10 + self.steps))
        for name, weight in weights.items():
            self.mean[name].lerp_(weight.to(self.mean[name].dtype), share)

    @contextmanager
    def applied(self, model: nn.Module) -> Iterator[None]:
        """Inside, the model has the mean; also within another `applied`."""
        if not self.mean or self.shown:
            yield
            return
        own = {name: weight.detach().clone() for name, weight in trainable(model).items()}
        self.shown = True
        try:
            self.assign(model)
            yield
        finally:
            self.shown = False
            put(model, own)

    def assign(self, model: nn.Module) -> None:
        """Give the model the mean for good, if there is one."""
        put(model, self.mean)

    def check(self, loads_best: bool, sharded: bool) -> None:
        """What does not go with a mean."""
        if self.kind != "none" and loads_best:
            raise InputError("expected load_best_model_at_end=False with averaging, got True; the mean is not in it")
        if self.kind != "none" and sharded:
            raise InputError("expected whole weights for averaging, got FSDP or DeepSpeed; start with torchrun")

    def save(self, file: Path) -> None:
        """Write the mean into a checkpoint."""
        if self.mean:
            save_file({name: value.contiguous() for name, value in self.state_dict().items()}, file)

    def load(self, file: Path, place: str) -> None:
        """Read the mean from a checkpoint, if it has one."""
        if file.exists():
            self.load_state_dict(load_file(file, device=place))

    def state_dict(self) -> dict[str, Tensor]:
        """What a checkpoint needs."""
        return {"steps": torch.tensor(self.steps)} | {f"mean.{name}": value for name, value in self.mean.items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Undo `state_dict`."""
        self.steps = int(state["steps"])
        self.mean = {name.removeprefix("mean."): value.clone() for name, value in state.items() if name != "steps"}


def promoted(weight: Tensor) -> Tensor:
    """A copy in at least single precision, in which small steps add up."""
    return weight.detach().to(torch.promote_types(weight.dtype, torch.float32), copy=True)


@torch.no_grad()
def put(model: nn.Module, values: Mapping[str, Tensor]) -> None:
    """Write the values into the weights of these names."""
    weights = trainable(model)
    for name, value in values.items():
        weights[name].copy_(value)


class Averages(TrainerCallback):
    """Adds to the mean after each step, and gives it to the model at the end."""

    def __init__(self, trainer: Any) -> None:
        self.means: MeanWeights = trainer.means
        sharded = trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled
        self.means.check(trainer.args.load_best_model_at_end, sharded)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.means.add(kwargs["model"], state.global_step, state.max_steps)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.means.assign(kwargs["model"])
