"""SIGTERM during a training: a checkpoint within five seconds, and a resumed run that is as if nothing had happened."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.faults.ranks import TORCHRUN, ranks
from uegr.errors import Terminated
from uegr.runs import manifest
from uegr.runs.checkpoints import numbered
from uegr.runs.train import train
from uegr.signals import Ending
from uegr.training import termination
from uegr.training.callbacks import MetricsFile
from uegr.training.config import RunConfig

FILES = ("model.safetensors", "metrics.jsonl")


def configured(home: Path, **training: Any) -> RunConfig:
    """Two epochs of eight steps; log entries at 10 and at checkpoints."""
    return RunConfig.model_validate(
        {
            "method": {"name": "rdrop"},
            "model": {"name": str(home / "model")},
            "dataset": {"name": str(home / "data")},
            "training": {"epochs": 2, "batch_size": 8, **training},
        }
    )


@pytest.fixture(autouse=True)
def handled() -> Iterator[None]:
    """The handler of the program: without one, SIGTERM ends a process at once."""
    before = signal.signal(signal.SIGTERM, Ending().ask)
    yield
    signal.signal(signal.SIGTERM, before)


def terminated(config: RunConfig, place: Path, step: int, times: int = 1) -> None:
    """A training that is sent SIGTERM after this step."""

    def send(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        for _ in range(times if state.global_step == step else 0):
            signal.raise_signal(signal.SIGTERM)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MetricsFile, "on_step_end", send)
        with pytest.raises(Terminated):
            train(config, place, quiet=True)


def contents(place: Path) -> list[bytes]:
    return [(place / name).read_bytes() for name in FILES]


@pytest.mark.parametrize(("select", "steps"), [("best", (2, 10, 15)), ("last", (7,))])
def test_a_resumed_run_has_the_weights_and_the_metrics_of_an_undisturbed_one(
    home: Path, tmp_path: Path, select: str, steps: tuple[int, ...]
) -> None:
    config = configured(home, select=select, checkpoint_steps=6)
    train(config, tmp_path / "whole", quiet=True)
    for step in steps:  # between entries, and at the end of each epoch
        place = tmp_path / f"after {step}"
        terminated(config, place, step)
        assert numbered(place)[0].name == f"checkpoint-{step + 1}"
        assert manifest.damage(numbered(place)[0]) is None
        train(config, place, resume=True, quiet=True)
        assert contents(place) == contents(tmp_path / "whole")


def test_a_second_signal_does_not_cost_the_checkpoint(home: Path, tmp_path: Path) -> None:
    """torchrun passes on the SIGTERM that its whole group was sent already."""
    terminated(configured(home), tmp_path / "run", 2, times=2)
    assert numbered(tmp_path / "run")[0].name == "checkpoint-3"


def test_a_checkpoint_that_takes_too_long_is_given_up(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert termination.GRACE == 5
    config, write = configured(home, checkpoint_steps=2), manifest.write
    train(config, tmp_path / "whole", quiet=True)

    def slow(folder: Path, *args: Any, **options: Any) -> None:
        if folder.name == "checkpoint-3":
            time.sleep(60)
        write(folder, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(manifest, "write", slow)
        patch.setattr(termination, "GRACE", 0.5)
        start = time.monotonic()
        terminated(config, tmp_path / "run", 2)
        assert time.monotonic() - start < 30
    assert [manifest.damage(path) is None for path in numbered(tmp_path / "run")] == [False, True]
    train(config, tmp_path / "run", resume=True, quiet=True)
    assert contents(tmp_path / "run") == contents(tmp_path / "whole")
    assert not signal.getitimer(signal.ITIMER_REAL)[0]


def command(home: Path, output: Path, *more: str) -> list[str]:
    train = ["-m", "uegr.cli", "train", "--method", "uegr", "--output", output]
    own = ["--model", home / "model", "--dataset", home / "data"]
    steps = ["--epochs", "60", "--batch-size", "4", "--set", "training.checkpoint_steps=400", "--quiet"]
    return [str(part) for part in (sys.executable, *TORCHRUN, *train, *own, *steps, *more)]


def sent(whom: str, launcher: int) -> None:
    if whom == "group":
        os.killpg(launcher, signal.SIGTERM)
    else:
        os.kill(launcher if whom == "launcher" else ranks(launcher)[1], signal.SIGTERM)


@pytest.fixture(scope="module")
def whole(home: Path) -> list[bytes]:
    """What two processes write whom nobody disturbs."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    subprocess.run(command(home, home / "whole"), check=True, capture_output=True, env=environment)
    return contents(home / "whole")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the ranks are found in /proc")
@pytest.mark.parametrize("whom", ["group", "launcher", "one rank"])
def test_several_processes_save_at_the_same_step_and_resume_to_the_same_bits(
    home: Path, tmp_path: Path, whole: list[bytes], whom: str
) -> None:
    place, environment = tmp_path / "run", os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        command(home, place), stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as run:
        until = time.monotonic() + 300
        while not (place / "metrics.jsonl").is_file() or not (place / "metrics.jsonl").read_text():
            assert run.poll() is None
            assert time.monotonic() < until
            time.sleep(0.005)
        sent(whom, run.pid)
        _, errors = run.communicate(timeout=300)
    assert run.returncode != 0
    assert errors.count("uegr: interrupted; resume with: torchrun --standalone --nproc-per-node=2 -m uegr.cli") == 1
    (saved,) = place.glob(f"checkpoint-*/{manifest.NAME}")
    both = {f"{kind}_{rank}" for kind in ("method", "window", "rng_state") for rank in (0, 1)}
    assert both <= {Path(name).stem for name in manifest.read(saved.parent).files}
    subprocess.run(command(home, place, "--resume"), check=True, capture_output=True, env=environment)
    assert contents(place) == whole
