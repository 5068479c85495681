"""What a training leaves behind; a regression whose labels are far from 0."""

import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from datasets import Dataset

from tests.models.families import tiny
from tests.tiny_run import data_folder, model_folder, write_csv
from uegr.evaluation import score
from uegr.models import Loaded, load
from uegr.models.texts import labels_of, texts_of
from uegr.runs.finished import open_run
from uegr.runs.heads import scaled
from uegr.runs.train import train
from uegr.training.config import RunConfig


def test_a_run_in_mixed_precision_is_scored_as_it_is_saved(tmp_path: Path) -> None:
    data = data_folder(tmp_path / "grades", train=64)
    for file in data.iterdir():
        rows = [line.rsplit(",", 1) for line in file.read_text().splitlines()[1:]]
        write_csv(file, [(text, str(len(text) / 10)) for text, _ in rows])
    config = RunConfig(
        method={"name": "vanilla"},
        model={"name": str(model_folder(tmp_path / "model"))},
        dataset={"name": str(data), "kind": "regression"},
        training={"precision": "bf16"},
    )
    train(config, tmp_path / "run", quiet=True)
    task = open_run(tmp_path / "run").task()
    rows = task.data().splits["test"]
    again = score(task.about.metrics, task.probabilities(texts_of(rows)), labels_of(rows))
    assert again == {name: pytest.approx(one.value, abs=1e-6) for name, one in task.about.scores["test"].items()}


def test_labels_far_from_zero_are_learnt(tmp_path: Path) -> None:
    data = data_folder(tmp_path / "prices")
    prices = {"good": 250_000, "bad": 150_000}
    for file in data.iterdir():
        rows = [line.rsplit(",", 1) for line in file.read_text().splitlines()[1:]]
        write_csv(file, [(text, str(prices[label])) for text, label in rows])
    config = RunConfig(
        method={"name": "vanilla"},
        model={"name": "textcnn", "settings": {"embedding_size": 50}},
        dataset={"name": str(data), "kind": "regression"},
        training={"epochs": 20},
    )
    train(config, tmp_path / "run", quiet=True)
    answers = open_run(tmp_path / "run").predict(["the great film was w1 s1", "a dull plot w2 s1"])
    assert [answer.value for answer in answers] == pytest.approx([250_000, 150_000], abs=25_000)
    again = load(str(tmp_path / "run"), num_labels=1, problem_type="regression")
    assert not again.fresh


@pytest.mark.parametrize(("number", "warned"), [(300.0, True), (0.0, False)])
def test_a_head_without_a_bias_warns_of_labels_far_from_zero(number: float, warned: bool) -> None:
    model, _ = tiny("gpt2", num_labels=1)
    labels = Dataset.from_dict({"label": [number - 1, number + 1]})
    data: Any = SimpleNamespace(kind="regression", splits={"train": labels})
    loaded: Any = Loaded(model, None, "gpt2", None, frozenset(model.state_dict()))  # type: ignore[arg-type]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        scaled(loaded, data)
    assert [str(one.message).partition(";")[0] for one in said] == (
        ["the head of gpt2 has no bias and starts around 0, but the labels are around 300"] if warned else []
    )
