"""Averaged weights: the literal mean in float64; evaluations see it, the training does not; it is in checkpoints."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import TrainerCallback, TrainingArguments

from uegr import RobustTrainer
from uegr.errors import InputError
from uegr.methods import METHODS
from uegr.runs.train import train
from uegr.testing.models import classifier
from uegr.testing.trainings import SETTINGS, rows, weights
from uegr.training.averaging import MeanWeights
from uegr.training.config import RunConfig

TAIL, EMA = {"kind": "tail", "start": 0.5}, {"kind": "ema", "decay": 0.6}


class Diary(TrainerCallback):
    """The weights after every step, and those that evaluations see."""

    def __init__(self) -> None:
        self.after: list[dict[str, Tensor]] = []
        self.evaluated: list[dict[str, Tensor]] = []

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.after.append(weights(kwargs["model"]))

    def on_evaluate(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.evaluated.append(weights(kwargs["model"]))


def made(folder: Path, means: MeanWeights | None, callbacks: Any = None, **changes: Any) -> RobustTrainer:
    model = classifier(dtype=torch.float64)
    return RobustTrainer(
        model=model,
        args=TrainingArguments(str(folder), **SETTINGS | {"max_steps": 6} | changes),
        train_dataset=rows(model),
        eval_dataset=rows(model),
        callbacks=callbacks,
        method=METHODS["vanilla"](),
        averaging=means,
    )


def run(folder: Path, means: MeanWeights | None, **changes: Any) -> tuple[RobustTrainer, Diary]:
    diary = Diary()
    trainer = made(folder, means, [diary], **changes)
    trainer.train()
    return trainer, diary


def mean_of(found: list[dict[str, Tensor]], kind: str) -> dict[str, Tensor]:
    """Written down: the plain mean, or d mean + (1 - d) w with d = min(0.6, (1 + t) / (10 + t))."""
    mean = {name: value.clone() for name, value in found[0].items()}
    for t, later in enumerate(found[1:], start=2):
        for name, value in later.items():
            if kind == "tail":
                mean[name] = (mean[name] * (t - 1) + value) / t
            else:
                d = min(0.6, (1 + t) / (10 + t))
                mean[name] = d * mean[name] + (1 - d) * value
    return mean


def same(one: dict[str, Tensor], other: dict[str, Tensor], tolerance: float = 0.0) -> bool:
    return all(torch.allclose(one[name], other[name], rtol=0, atol=tolerance) for name in other)


@pytest.mark.parametrize(("options", "first"), [(TAIL, 3), (EMA, 0)], ids=["tail", "ema"])
def test_the_mean_is_the_literal_one_and_the_training_does_not_notice(options: Any, first: int, tmp_path: Path) -> None:
    means = MeanWeights(**options)
    evaluating = {"eval_strategy": "steps", "eval_steps": 2}
    averaged, diary = run(tmp_path / "mean", means, **evaluating)
    _, plain = run(tmp_path / "plain", None, **evaluating)
    assert all(same(one, other) for one, other in zip(diary.after, plain.after, strict=True))
    assert same(weights(averaged.model), mean_of(diary.after[first:], options["kind"]), 1e-12)
    assert not same(weights(averaged.model), diary.after[-1], 1e-5)
    for step, seen in zip((2, 4, 6), diary.evaluated, strict=True):
        expected = mean_of(diary.after[first:step], options["kind"]) if step > first else diary.after[step - 1]
        assert same(seen, expected, 1e-12)
    assert means.steps == 6 - first


def test_a_training_resumes_to_the_same_bits(tmp_path: Path) -> None:
    whole, _ = run(tmp_path, MeanWeights("tail", 0.3), save_strategy="steps", save_steps=4)
    means = MeanWeights("tail", 0.3)
    resumed = made(tmp_path / "again", means)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert means.steps == 5
    assert same(weights(resumed.model), weights(whole.model))


def test_a_run_keeps_the_mean_and_counts_its_steps(home: Path) -> None:
    """The last epoch's weights, of the mean and without: not the same, and the result says why."""
    saved = []
    for kind in ("none", "tail"):
        training = {"epochs": 2, "learning_rate": 0.01, "select": "last", "averaging": kind}
        place = home / f"averaging-{kind}"
        config = RunConfig(
            method={"name": "vanilla"},
            model={"name": str(home / "model")},
            dataset={"name": str(home / "data")},
            training=training,
        )
        result = train(config, place, quiet=True)
        assert result is not None
        assert result.training.averaged_steps == (4 if kind == "tail" else 0)
        assert result.config.training.get("averaging", "none") == kind
        saved.append(load_file(place / "model.safetensors"))
    assert any(not torch.equal(value, saved[1][name]) for name, value in saved[0].items())


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"kind": "swa"}, "expected averaging to be one of none, tail, ema, got 'swa'"),
        ({"start": 1.0}, "expected 0 <= averaging_start < 1 and 0 < averaging_decay < 1, got 1.0 and 0.99"),
        ({"decay": 1.0}, "expected 0 <= averaging_start < 1 and 0 < averaging_decay < 1, got 0.5 and 1.0"),
    ],
)
def test_what_cannot_be_is_refused(options: Any, line: str) -> None:
    with pytest.raises(InputError, match=line):
        MeanWeights(**options)


def test_the_best_checkpoint_of_transformers_is_refused(tmp_path: Path) -> None:
    """It would load the weights of a step in place of the mean."""
    best = {"load_best_model_at_end": True, "eval_strategy": "steps", "save_strategy": "steps"}
    with pytest.raises(InputError, match="expected load_best_model_at_end=False with averaging"):
        made(tmp_path, MeanWeights("ema"), **best)
