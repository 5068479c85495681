"""Kills: at every rename of a small training, and at random moments; a resumed run equals an undisturbed one."""

import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.faults.conftest import config_of
from uegr import methods
from uegr.runs.train import train
from uegr.training.config import RunConfig

TRAINING: dict[str, Any] = {"epochs": 2, "checkpoint_steps": 5, "select": "best"}
KILLS = int(os.environ.get("UEGR_KILLS", "100"))  # of the long part; the campaign takes 1,000


def forked(body: Callable[[], object]) -> int:
    """A process that has everything imported, so that kills hit the work and not the start."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            body()
            code = 0
        finally:
            os._exit(code)
    return process


def end_of(process: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def killed_at(rename: int, body: Callable[[], object]) -> int:
    """How a process ends that is killed just before its rename of this number; 0 if it has fewer."""

    def counted() -> None:
        seen = 0
        for name in ("replace", "rename"):
            real = getattr(os, name)

            def move(*args: Any, real: Callable[..., None] = real, **options: Any) -> None:
                nonlocal seen
                seen += 1
                if seen == rename:
                    os.kill(os.getpid(), signal.SIGKILL)
                real(*args, **options)

            setattr(os, name, move)
        body()

    return end_of(forked(counted))


def files(run: Path) -> dict[str, bytes]:
    """What must be the same whatever happened on the way."""
    return {name: (run / name).read_bytes() for name in ("model.safetensors", "metrics.jsonl", "config.yaml")}


@pytest.fixture(scope="module")
def whole(home: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert end_of(forked(lambda: train(config_of(home, **TRAINING), folder, quiet=True))) == 0
    return files(folder)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, so that its renames are among those that are hit."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.usefixtures("own_cache")
def test_killed_before_every_rename_in_turn_a_training_ends_as_if_undisturbed(
    home: Path, tmp_path: Path, whole: dict[str, bytes]
) -> None:
    """One folder is killed before its first rename, resumed and killed before its second, and so on to the end."""
    config, place = config_of(home, **TRAINING), tmp_path / "run"
    kills = 0
    while killed_at(kills + 1, lambda: train(config, place, resume=True, quiet=True)) == -signal.SIGKILL:
        kills += 1
        assert kills < 200
        if (place / "result.json").exists():
            break
    assert end_of(forked(lambda: train(config, place, resume=True, quiet=True))) == 0
    assert kills >= 8
    assert files(place) == whole
    left = [path.name for path in place.rglob("*") if path.name.endswith((".partial", ".box"))]
    assert left == []


def survive(config: RunConfig, place: Path, kills: int, draw: random.Random) -> None:
    """Kill a training at random moments, then let it end."""
    for _ in range(kills):
        process = forked(lambda: train(config, place, resume=True, quiet=True))
        time.sleep(draw.uniform(0, 1.5))
        os.kill(process, signal.SIGKILL)
        assert end_of(process) in (0, -signal.SIGKILL)
    assert end_of(forked(lambda: train(config, place, resume=True, quiet=True))) == 0


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(methods.METHODS))
def test_random_kills_change_no_weight_of_any_method(method: str, home: Path, tmp_path: Path) -> None:
    config = config_of(home, **TRAINING).model_copy(update={"method": {"name": method}})
    assert end_of(forked(lambda: train(config, tmp_path / "whole", quiet=True))) == 0
    survive(config, tmp_path / "run", -(-KILLS // len(methods.METHODS)), random.Random(method))
    assert files(tmp_path / "run") == files(tmp_path / "whole")
