"""A search chooses on validation rows, is kept in the result, goes on after a kill, and never sees a test row."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.benchmark.tiny_grid import grid_file, run
from tests.tiny_run import data_folder, model_folder
from uegr.benchmark.search import task_score
from uegr.errors import InputError
from uegr.result import Task
from uegr.runs import train as run_module
from uegr.statistics import Figure
from uegr.training.config import RunConfig

pytest.importorskip("optuna", reason="a search needs Optuna")
SEARCH = {"trials": 3, "space": {"training.learning_rate": [1.0e-8, 0.02], "training.clip": {"low": 0.5, "high": 2.0}}}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search")
    model_folder(folder / "model")
    data_folder(folder / "data", train=64, other=12)
    return folder


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The splits of every data set that was trained on, in order."""
    found: list[set[str]] = []
    real = run_module.prepare

    def prepare(config: RunConfig, **options: Any) -> Any:
        prepared = real(config, **options)
        found.extend(set(data.splits) for data in prepared.sets.values())
        return prepared

    monkeypatch.setattr(run_module, "prepare", prepare)
    return found


def test_the_best_on_validation_is_trained_for_every_seed_and_trials_have_no_test_rows(
    home: Path, tmp_path: Path, seen: list[set[str]]
) -> None:
    file = grid_file(tmp_path, home, methods=["vanilla"], seeds=2, search=SEARCH)
    code, _, error = run(file, "--output", tmp_path / "out", "--workers", "0")
    assert code == 0, error
    assert seen == [{"train", "validation"}] * 3 + [{"train", "validation", "test"}] * 2
    results = [json.loads(path.read_text()) for path in sorted((tmp_path / "out" / "cells").glob("*/result.json"))]
    assert len(results) == 2
    for result in results:
        search = result["search"]
        best = max(search["trials"], key=lambda trial: trial["score"])
        assert len(search["trials"]) == 3
        assert search["chosen"] == best["settings"]
        assert result["config"]["training"]["learning_rate"] == search["chosen"]["training.learning_rate"]
        assert 0.5 <= result["config"]["training"]["clip"] <= 2
    trials = sorted((tmp_path / "out" / ".search").glob("*/trial-*/result.json"))
    assert [set(json.loads(path.read_text())["tasks"]["data"]["scores"]) for path in trials] == [{"validation"}] * 3
    assert not list((tmp_path / "out" / ".search").rglob("model.safetensors"))


def test_an_interrupted_search_goes_on_with_the_same_trials(
    home: Path, tmp_path: Path, seen: list[set[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = grid_file(tmp_path, home, methods=["vanilla"], search=SEARCH | {"trial": {"training": {"max_steps": 1}}})
    real, root = run_module.train, tmp_path / "out"

    def interrupted(config: RunConfig, folder: Path, **options: Any) -> Any:
        if folder.name == "trial-2":
            raise KeyboardInterrupt
        return real(config, folder, **options)

    monkeypatch.setattr(run_module, "train", interrupted)
    assert run(file, "--output", root, "--workers", "0")[0] == 130
    first = {path: path.read_bytes() for path in root.glob(".search/*/trial-*/result.json")}
    monkeypatch.setattr(run_module, "train", real)
    assert (len(first), run(file, "--output", root, "--workers", "0")[0]) == (2, 0)
    assert all(path.read_bytes() == content for path, content in first.items())
    assert len(seen) == 4  # three trials and the cell, each once
    trial = yaml.safe_load(next(root.glob(".search/*/trial-0/config.yaml")).read_text())
    assert trial["training"]["max_steps"] == 1


def test_a_trial_with_other_splits_or_metrics_is_refused() -> None:
    with pytest.raises(InputError, match="validation rows only"):
        task_score(trial(validation={"f1": 1.0}, test={"f1": 1.0}), None)
    with pytest.raises(InputError, match="did you mean f1"):
        task_score(trial(validation={"f1": 1.0}), "f11")
    assert task_score(trial(validation={"f1": 0.5, "accuracy": 1.0}), "accuracy") == 1.0
    assert task_score(trial(validation={"f1": 0.5, "accuracy": 1.0}), None) == 0.5


def trial(**splits: dict[str, float]) -> Task:
    scores = {
        split: {name: Figure(value, 0, 1, 3) for name, value in values.items()} for split, values in splits.items()
    }
    return Task(dataset="films", head="single", labels=("a", "b"), metrics=("f1",), rows=9, scores=scores)
