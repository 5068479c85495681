"""A run killed without warning, and what `--resume` makes of it."""

import json
import os
import signal
import time
from pathlib import Path

import torch
from safetensors.torch import load_file

from tests.forks import command, end_of

SMALL = ["--set", "training.batch_size=8", "--set", "training.learning_rate=0.01", "--quiet", "--seed", "3"]
STEPS = ["--method", "uegr", "--epochs", "6.5", "--set", "training.checkpoint_steps=7"]


def started(home: Path, run: Path, *more: str) -> int:
    """`uegr train` in a process of its own."""
    tiny = ["--model", home / "model", "--dataset", home / "data", "--output", run]
    return command("train", *tiny, *STEPS, *SMALL, *more, output=run.with_suffix(".out"))


def test_a_killed_run_resumes_to_bitwise_the_same_weights(home: Path, tmp_path: Path) -> None:
    assert end_of(started(home, tmp_path / "whole")) == 0
    process = started(home, tmp_path / "killed")
    deadline = time.time() + 600
    while not whole_checkpoints(tmp_path / "killed") and time.time() < deadline:
        time.sleep(0.005)
    os.kill(process, signal.SIGKILL)
    assert end_of(process) == -signal.SIGKILL
    assert whole_checkpoints(tmp_path / "killed"), "the run was killed before its first checkpoint, or never started"
    assert not (tmp_path / "killed" / "result.json").exists()
    assert end_of(started(home, tmp_path / "killed", "--resume", "--json")) == 0
    assert json.loads((tmp_path / "killed.out").read_text())["training"]["resumed"]
    whole, resumed = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "killed"))
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    steps = [json.loads(line)["step"] for line in (tmp_path / "killed" / "metrics.jsonl").read_text().splitlines()]
    assert steps == sorted(steps)


def whole_checkpoints(folder: Path) -> list[Path]:
    return list(folder.glob("checkpoint-*/manifest.json"))
