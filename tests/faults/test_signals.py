"""SIGTERM ends a command like Ctrl-C; a training writes a checkpoint first and resumes to the same weights."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from uegr.runs import manifest

LONG = ["--method", "vanilla", "--epochs", "20", "--batch-size", "8", "--quiet"]
PATIENCE = 120  # seconds, on a busy machine


def command(home: Path, output: Path) -> list[str]:
    own = ["--model", str(home / "model"), "--dataset", str(home / "data"), "--output", str(output)]
    return [sys.executable, "-m", "uegr.cli", "train", *own, *LONG]


def test_a_terminated_training_leaves_a_checkpoint_and_resumes_to_the_same_weights(home: Path, tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    subprocess.run(command(home, whole), check=True, capture_output=True)
    with subprocess.Popen(command(home, cut), stderr=subprocess.PIPE, text=True) as running:
        until = time.monotonic() + PATIENCE
        while not (cut / "metrics.jsonl").is_file() or not (cut / "metrics.jsonl").read_text().count("\n"):
            assert time.monotonic() < until
            assert running.poll() is None
            time.sleep(0.01)
        running.send_signal(signal.SIGTERM)
        _, error = running.communicate(timeout=PATIENCE)
    assert running.returncode == 143
    assert error.endswith(" --resume\n")
    assert "uegr: interrupted; resume with: uegr train" in error
    assert not (cut / "result.json").exists()
    assert list(cut.glob(f"checkpoint-*/{manifest.NAME}"))
    subprocess.run([*command(home, cut), "--resume"], check=True, capture_output=True)
    assert (whole / "model.safetensors").read_bytes() == (cut / "model.safetensors").read_bytes()


def test_a_command_without_checkpoints_ends_at_once(tmp_path: Path) -> None:
    code = (
        "import signal, sys, types\nfrom uegr.cli import main\n"
        "sys.stdin = types.SimpleNamespace(read=lambda: signal.raise_signal(signal.SIGTERM))\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code, "predict", tmp_path, "-"], capture_output=True, text=True)
    assert done.stderr == f"\nuegr: interrupted; run it again with: uegr predict {tmp_path} -\n"
    assert (done.returncode, done.stdout) == (143, "")
