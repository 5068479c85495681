"""What a training, an attack or an evaluation has used is freed when it ends, without the garbage collector."""

import gc
import weakref
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.faults.conftest import config_of
from uegr import methods
from uegr.runs import evaluate, finished, train
from uegr.runs.attack import attack_run

CHECKED = ["vanilla", "uegr", "smart", "mixout", "child_d", "awp", "roast"]  # a cycle could hide in hooks or anchors


@pytest.fixture
def uncollected() -> Iterator[None]:
    """No garbage collection: what is in a reference cycle stays."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[weakref.ref[Any]]:
    """References to every trainer and model that is made meanwhile."""
    found: list[weakref.ref[Any]] = []
    make, load = train.make_trainer, finished.models.load

    def make_trainer(*args: Any, **options: Any) -> Any:
        trainer, bar = make(*args, **options)
        found.extend(map(weakref.ref, (trainer, trainer.model)))
        return trainer, bar

    def loaded(*args: Any, **options: Any) -> Any:
        one = load(*args, **options)
        found.append(weakref.ref(one.model))
        return one

    monkeypatch.setattr(train, "make_trainer", make_trainer)
    monkeypatch.setattr(finished.models, "load", loaded)
    return found


def test_the_checked_methods_exist() -> None:
    assert set(CHECKED) <= set(methods.METHODS)


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize(
    "method",
    [*CHECKED, *(pytest.param(name, marks=pytest.mark.slow) for name in sorted(set(methods.METHODS) - set(CHECKED)))],
)
def test_a_finished_training_frees_its_model(
    method: str, home: Path, tmp_path: Path, made: list[weakref.ref[Any]]
) -> None:
    config = config_of(home, max_steps=2, select="best").model_copy(update={"method": {"name": method}})
    train.train(config, tmp_path / "run", quiet=True)
    assert len(made) >= 2
    assert [one() for one in made] == [None] * len(made)


@pytest.mark.usefixtures("uncollected")
def test_attacks_evaluations_and_predictions_free_their_model(run: Path, made: list[weakref.ref[Any]]) -> None:
    attack_run(run, attack="deepwordbug", examples=2, quiet=True)
    evaluate.evaluate_run(run, rows=4, quiet=True)
    finished.open_run(run).predict(["a fine film"])
    assert len(made) >= 3
    assert [one() for one in made] == [None] * len(made)


@pytest.mark.usefixtures("uncollected")
def test_a_training_that_fails_frees_its_model(
    home: Path, tmp_path: Path, made: list[weakref.ref[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any, **options: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(torch.optim.AdamW, "step", fail)
    with suppress(MemoryError):
        train.train(config_of(home), tmp_path / "run", quiet=True)
    assert len(made) >= 2
    assert [one() for one in made] == [None] * len(made)
