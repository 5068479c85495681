"""A run killed without warning, and what `--resume` makes of it."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.forks import command, end_of
from uegr.training.callbacks import MetricsFile

SMALL = ["--set", "training.batch_size=8", "--set", "training.learning_rate=0.01", "--quiet", "--seed", "3"]
STEPS = ["--method", "uegr", "--epochs", "1.5", "--set", "training.checkpoint_steps=7"]
KILLED = 24  # of 30 steps: in the second epoch of 20, three after a checkpoint


def started(home: Path, run: Path, *more: str) -> int:
    """`uegr train` in a process of its own; how it ended."""
    tiny = ["--model", home / "model", "--dataset", home / "data", "--output", run]
    return end_of(command("train", *tiny, *STEPS, *SMALL, *more, output=run.with_suffix(".out")))


def kill(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
    if state.global_step == KILLED:
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_run_resumes_to_bitwise_the_same_weights(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert started(home, tmp_path / "whole") == 0
    with monkeypatch.context() as patch:
        patch.setattr(MetricsFile, "on_step_end", kill)
        assert started(home, tmp_path / "killed") == -signal.SIGKILL
    assert (tmp_path / "killed" / "checkpoint-21" / "manifest.json").exists()
    assert not (tmp_path / "killed" / "result.json").exists()
    assert started(home, tmp_path / "killed", "--resume", "--json") == 0
    assert json.loads((tmp_path / "killed.out").read_text())["training"]["resumed"]
    whole, resumed = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "killed"))
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    steps = [json.loads(line)["step"] for line in (tmp_path / "killed" / "metrics.jsonl").read_text().splitlines()]
    assert steps == sorted(steps)
