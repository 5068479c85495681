"""Two processes train one run; one of them is killed, and the resumed run has bitwise the same weights."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


def command(home: Path, output: Path, *more: str) -> list[str]:
    train = ["-m", "uegr.cli", "train", "--model", home / "model", "--dataset", home / "data", "--method", "uegr"]
    steps = ["--epochs", "12", "--set", "training.batch_size=4", "--set", "training.checkpoint_steps=7", "--quiet"]
    return [str(part) for part in (sys.executable, *TORCHRUN, *train, "--output", output, *steps, *more)]


def ranks(launcher: int) -> list[int]:
    """The processes that torchrun has started."""
    listed = Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()
    return [int(number) for number in listed if b"uegr.cli" in Path(f"/proc/{number}/cmdline").read_bytes()]


@pytest.mark.skipif(sys.platform != "linux", reason="the ranks are found in /proc")
@pytest.mark.parametrize("victim", [0, 1])
def test_a_killed_rank_costs_nothing(home: Path, tmp_path: Path, victim: int) -> None:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run(command(home, tmp_path / "whole"), check=True, capture_output=True, env=environment)
    with subprocess.Popen(
        command(home, tmp_path / "killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment
    ) as run:
        deadline = time.time() + 300
        while not list((tmp_path / "killed").glob("checkpoint-*/manifest.json")) and time.time() < deadline:
            assert run.poll() is None, "the run ended before its first checkpoint"
            time.sleep(0.005)
        os.kill(sorted(ranks(run.pid))[victim], signal.SIGKILL)
        assert run.wait() != 0
    assert not (tmp_path / "killed" / "result.json").exists()
    subprocess.run(command(home, tmp_path / "killed", "--resume"), check=True, capture_output=True, env=environment)
    for name in ("model.safetensors", "metrics.jsonl"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_a_process_that_starts_late_does_not_take_the_run_of_the_first_for_another_one(
    home: Path, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os, time\nos.environ.get('RANK') == '1' and time.sleep(15)\n")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": path}
    done = subprocess.run(command(home, tmp_path / "run"), capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
