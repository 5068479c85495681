"""A run killed without warning, and what `--resume` makes of it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import torch
from safetensors.torch import load_file

SMALL = ["--set", "training.batch_size=8", "--set", "training.learning_rate=0.01", "--quiet", "--seed", "3"]


def command(home, output, *more):
    base = [sys.executable, "-m", "uegr.cli", "train", "--model", home / "model", "--dataset", home / "data"]
    steps = ["--epochs", "6.5", "--set", "training.checkpoint_steps=7"]
    return [str(part) for part in [*base, "--method", "uegr", "--output", output, *steps, *SMALL, *more]]


def test_a_killed_run_resumes_to_bitwise_the_same_weights(home, tmp_path):
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run(command(home, tmp_path / "whole"), check=True, capture_output=True, env=environment)
    process = subprocess.Popen(
        command(home, tmp_path / "killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    )
    deadline = time.time() + 600
    while not whole_checkpoints(tmp_path / "killed") and process.poll() is None and time.time() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert whole_checkpoints(tmp_path / "killed"), "the run was killed before its first checkpoint, or never started"
    assert not (tmp_path / "killed" / "result.json").exists()
    again = command(home, tmp_path / "killed", "--resume", "--json")
    done = subprocess.run(again, check=True, capture_output=True, text=True, env=environment)
    assert json.loads(done.stdout)["training"]["resumed"]
    whole, resumed = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "killed"))
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    steps = [json.loads(line)["step"] for line in (tmp_path / "killed" / "metrics.jsonl").read_text().splitlines()]
    assert steps == sorted(steps)


def whole_checkpoints(folder: Path):
    return list(folder.glob("checkpoint-*/manifest.json"))
