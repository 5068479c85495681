"""A loss or gradient that is not finite never reaches the weights, a checkpoint or metrics.jsonl."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from torch import nn
from transformers import TrainerCallback

from tests.models.families import tiny
from tests.training.test_engine import arguments, rows_for
from uegr import RobustTrainer
from uegr.errors import InputError, TrainingWarning
from uegr.methods import Method, Objective, task_loss, vanilla
from uegr.pieces.schedule import Moment
from uegr.runs import folder, manifest
from uegr.runs import train as runs
from uegr.training.callbacks import metrics_line
from uegr.training.config import RunConfig

INFINITE = {"nan loss": math.nan, "infinite loss": math.inf, "infinite gradient": 1e38}


class Faulty(Objective):
    """The model's own loss; at some steps it is multiplied by what makes loss or gradient not finite."""

    def __init__(self, steps: tuple[int, ...], factor: float) -> None:
        self.steps, self.factor, self.step = steps, factor, 0

    def begin(self, moment: Moment) -> None:
        self.step = moment.step

    def losses(self, model: nn.Module, batch: Any) -> Any:
        loss = task_loss(model(**batch))
        bad = self.step in self.steps
        yield {"task": loss * self.factor if bad else loss}


def trainer(folder: Path, steps: tuple[int, ...], factor: float = math.nan, **options: Any) -> RobustTrainer:
    model, _ = tiny("bert")
    rows: Any = Dataset.from_list(
        [{key: torch.as_tensor(value).tolist() for key, value in row.items()} for row in rows_for(model, 32)]
    )
    skip = options.pop("skip_nonfinite", 0)
    args = arguments(folder, max_steps=6, logging_steps=1, **options)
    method = Method(Faulty(steps, factor), name="faulty")
    return RobustTrainer(model=model, args=args, train_dataset=rows, method=method, skip_nonfinite=skip)


def weights(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


@pytest.mark.parametrize("clip", [1.0, 0.0])
@pytest.mark.parametrize("kind", INFINITE)
@pytest.mark.parametrize("accumulation", [1, 2])
def test_the_first_step_that_is_not_finite_stops_the_training(
    tmp_path: Path, kind: str, clip: float, accumulation: int
) -> None:
    options = {"max_grad_norm": clip, "gradient_accumulation_steps": accumulation}
    broken = trainer(tmp_path, (3,), INFINITE[kind], **options)
    with pytest.raises(InputError) as caught:
        broken.train()
    error = str(caught.value)
    assert error.startswith("step 4 of faulty: expected a finite loss and gradient, got the loss ")
    assert "; training rows " in error
    assert error.endswith("(now 0.001), or skip such steps with --set training.skip_nonfinite=N")
    assert all(torch.isfinite(value).all() for value in weights(broken.model).values())


def test_the_rows_of_the_step_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = trainer(tmp_path, (0,))
    seen: list[list[int]] = []
    step = RobustTrainer.training_step

    def noting(self: RobustTrainer, model: nn.Module, inputs: Any, *more: Any) -> Any:
        seen.extend(inputs["input_ids"].tolist())
        return step(self, model, inputs, *more)

    monkeypatch.setattr(RobustTrainer, "training_step", noting)
    with pytest.raises(InputError) as caught:
        broken.train()
    named = str(caught.value).partition("training rows ")[2].partition(";")[0].split(", ")
    data: Any = broken.train_dataset
    assert sorted(data[int(number)]["input_ids"] for number in named) == sorted(seen)


@pytest.mark.parametrize("kind", INFINITE)
def test_as_many_steps_are_skipped_as_are_allowed(tmp_path: Path, kind: str) -> None:
    one = trainer(tmp_path, (1, 3), INFINITE[kind], skip_nonfinite=2)
    before: list[dict[str, torch.Tensor]] = []
    watch(one, lambda: before.append(weights(one.model)))
    with pytest.warns(TrainingWarning, match=r"^step [24] of faulty: .*\(skipped, [12] of 2\)$"):
        one.train()
    assert one.state.global_step == 6
    for step in (1, 3):  # nothing moved, neither by momentum nor by weight decay
        assert all(torch.equal(before[step][name], value) for name, value in before[step + 1].items())
    assert not all(torch.equal(before[4][name], value) for name, value in before[5].items())
    logs = [entry for entry in one.state.log_history if "loss" in entry]
    assert all(math.isfinite(entry["loss"]) for entry in logs)
    assert logs[-1]["skipped_steps"] == 2
    once_more = trainer(tmp_path, (1, 3, 4), INFINITE[kind], skip_nonfinite=2)
    with pytest.warns(TrainingWarning), pytest.raises(InputError, match="after 2 skipped steps"):
        once_more.train()


def watch(one: RobustTrainer, look: Callable[[], None]) -> None:
    class Look(TrainerCallback):
        def on_step_begin(self, *args: Any, **kwargs: Any) -> None:
            look()

    one.add_callback(Look())


@pytest.mark.parametrize("saves", ["steps", "no"])
def test_weights_that_are_not_finite_are_not_kept(tmp_path: Path, saves: str) -> None:
    """A step can be finite and still too large: what it leaves must not become a checkpoint, nor the end."""
    one = trainer(tmp_path, (), save_strategy=saves, save_steps=2)

    class Spoil(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if state.global_step == (2 if saves == "steps" else state.max_steps):
                with torch.no_grad():
                    next(iter(one.model.parameters())).fill_(math.inf)

    one.add_callback(Spoil())
    with pytest.raises(InputError, match=r"^step \d+ of .*: expected finite weights, .*; lower the learning rate"):
        one.train()
    assert not list(tmp_path.glob("checkpoint-*/trainer_state.json"))


def config(home: Path, **training: Any) -> RunConfig:
    return RunConfig.model_validate(
        {
            "method": {"name": "vanilla"},
            "model": {"name": str(home / "model")},
            "dataset": {"name": str(home / "data")},
            "training": {"epochs": 2, "batch_size": 8, "checkpoint_steps": 2, **training},
        }
    )


def test_a_run_that_stopped_resumes_from_before_and_its_metrics_are_valid_json(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(RunConfig, "make_method", lambda self: Method(Faulty((5,), math.nan), name="faulty"))
        patch.setattr(RunConfig, "method_options", lambda self: {"name": "vanilla", **vanilla().options})
        with pytest.raises(InputError, match=r"^step 6 of faulty"):
            runs.train(config(home), tmp_path / "run", quiet=True)
    assert not folder.is_done(tmp_path / "run")
    whole = {path.parent.name for path in (tmp_path / "run").glob(f"checkpoint-*/{manifest.NAME}")}
    assert whole == {"checkpoint-2", "checkpoint-4"}
    result = runs.train(config(home), tmp_path / "run", resume=True, quiet=True)
    assert result is not None
    assert result.training.resumed
    for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines():
        json.loads(line, parse_constant=pytest.fail)


def test_a_learning_rate_that_is_too_large_leaves_no_result(home: Path, tmp_path: Path) -> None:
    wild = config(home, learning_rate=1e37, clip=0, warmup=0, checkpoint_steps=None)
    with pytest.raises(InputError, match="lower the learning rate"):
        runs.train(wild, tmp_path / "run", quiet=True)
    assert not folder.is_done(tmp_path / "run")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_null_in_the_metrics(value: float) -> None:
    line = metrics_line({"step": 1, "epoch": 0.5, "eval_loss": value})
    assert json.loads(line, parse_constant=pytest.fail) == {"step": 1, "epoch": 0.5, "eval_loss": None}
