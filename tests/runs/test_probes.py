"""What a run measures of itself after each epoch, and the epoch that is chosen by it."""

import json
import shutil
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.tiny_run import data_folder, model_folder, write_csv
from uegr.errors import InputError
from uegr.evaluation import layer_similarity, perturbation_curve
from uegr.models.texts import texts_of
from uegr.result import Point
from uegr.runs import folder, probes
from uegr.runs.finished import open_run
from uegr.runs.train import train
from uegr.statistics import Figure
from uegr.training.config import RunConfig

Weights = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    model_folder(home / "model")
    data_folder(home / "data", train=48, other=16)
    return home


def configured(home: Path, **training: Any) -> RunConfig:
    usual = {"epochs": 3, "batch_size": 8, "learning_rate": 0.003, "select": "robust"}
    return RunConfig(
        method={"name": "vanilla"},
        model={"name": str(home / "model")},
        dataset={"name": str(home / "data")},
        training=usual | training,
    )


def logged(place: Path, name: str) -> list[tuple[int, float]]:
    lines = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    return [(line["step"], line[name]) for line in lines if name in line]


@pytest.mark.parametrize("scores", [(0.9, 0.2, 0.5), (0.2, 0.9, 0.5), (0.1, 0.2, 0.9)], ids=str)
def test_the_epoch_of_the_highest_robust_accuracy_is_kept(
    scores: tuple[float, ...], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Weights] = []

    def scripted(model: Any, *args: Any, **kwargs: Any) -> list[Point]:
        seen.append({name: value.clone() for name, value in model.state_dict().items()})
        value = scores[len(seen) - 1]
        return [Point(epsilon=0.1, accuracy=Figure(value, value, value, 16))]

    monkeypatch.setattr(probes, "perturbation_curve", scripted)
    train(configured(home), tmp_path / "run", quiet=True)
    kept = load_file(tmp_path / "run" / "model.safetensors")
    assert [all(torch.equal(kept[name], weights[name]) for name in kept) for weights in seen] == [
        score == max(scores) for score in scores
    ]
    assert logged(tmp_path / "run", "eval_robust") == list(zip((6, 12, 18), scores, strict=True))


def test_patience_counts_epochs_without_more_robust_accuracy(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    point = Point(epsilon=0.1, accuracy=Figure(0.5, 0.5, 0.5, 16))
    monkeypatch.setattr(probes, "perturbation_curve", lambda *args, **kwargs: [point])
    result = train(configured(home, epochs=6, patience=2), tmp_path / "run", quiet=True)
    assert result is not None
    assert result.training.epochs == 3


def test_it_is_the_mean_accuracy_under_fgm_of_the_validation_rows(home: Path, tmp_path: Path) -> None:
    train(configured(home), tmp_path / "run", quiet=True)
    found = [value for _, value in logged(tmp_path / "run", "eval_robust")]
    run = open_run(tmp_path / "run")
    rows = run.task().data().splits["validation"]
    curve = perturbation_curve(run.model, run.tokenizer, rows, epsilons=probes.STRENGTHS)
    assert max(found) == pytest.approx(fmean(point.accuracy.value for point in curve))
    assert len(found) == 3


def test_measuring_does_not_change_the_training(home: Path, tmp_path: Path) -> None:
    for name, select in (("with", "robust"), ("without", "best")):
        train(configured(home, select=select), tmp_path / name, quiet=True)
    losses = [logged(tmp_path / name, "eval_loss") for name in ("with", "without")]
    assert losses[0] == losses[1]


class Cut(Exception):
    """Stands for a power cut."""


@pytest.mark.parametrize("step", [4, 10, 16])
def test_a_resumed_run_has_the_same_bits(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    from uegr.training.engine import RobustTrainer

    config = configured(home, checkpoint_steps=3, log_drift=True)
    train(config, tmp_path / "whole", quiet=True)
    usual = RobustTrainer.training_step

    def cutting(self: Any, *args: Any) -> Any:
        if self.state.global_step == step:
            raise Cut
        return usual(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(RobustTrainer, "training_step", cutting)
        with pytest.raises(Cut):
            train(config, tmp_path / "cut", quiet=True)
    train(config, tmp_path / "cut", resume=True, quiet=True)
    kept = [load_file(tmp_path / name / "model.safetensors") for name in ("whole", "cut")]
    assert all(torch.equal(kept[0][name], kept[1][name]) for name in kept[0])
    assert logged(tmp_path / "whole", "eval_robust") == logged(tmp_path / "cut", "eval_robust")
    assert drifts(tmp_path / "whole") == drifts(tmp_path / "cut") != []


def test_several_tasks_have_one_figure(tmp_path: Path) -> None:
    home = tmp_path
    model_folder(home / "model")
    for name in ("one", "two"):
        data_folder(home / name, train=24, other=8)
    config = RunConfig(
        method={"name": "vanilla"},
        model={"name": "mtdnn", "settings": {"encoder": str(home / "model")}},
        dataset={"name": f"{home / 'one'},{home / 'two'}"},
        training={"epochs": 2, "batch_size": 8, "select": "robust"},
    )
    train(config, home / "run", quiet=True)
    assert [step for step, _ in logged(home / "run", "eval_robust")] == [6, 12]


def test_a_regression_is_refused_before_anything_is_written(home: Path, tmp_path: Path) -> None:
    data = tmp_path / "grades"
    shutil.copytree(home / "data", data)
    for file in data.iterdir():
        rows = [line.rsplit(",", 1) for line in file.read_text().splitlines()[1:]]
        write_csv(file, [(text, str(len(text) / 10)) for text, _ in rows])
    config = configured(home).model_dump() | {"dataset": {"name": str(data), "kind": "regression"}}
    with pytest.raises(InputError, match=r"needs an accuracy, got the regression grades; use training.select=best"):
        train(RunConfig(**config), tmp_path / "run", quiet=True)
    assert not folder.is_done(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def drifts(place: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in (place / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key.startswith("cka_")} for line in lines if "cka_0" in line]


def test_the_drift_of_every_layer_is_logged_after_each_epoch(home: Path, tmp_path: Path) -> None:
    train(configured(home, select="last", log_drift=True), tmp_path / "run", quiet=True)
    found = drifts(tmp_path / "run")
    strengths = ("", "_at_0.01", "_at_0.25", "_at_0.5")
    assert [set(one) for one in found] == [{f"cka_{layer}{at}" for at in strengths for layer in (0, 1)}] * 3
    run = open_run(tmp_path / "run")
    texts = texts_of(run.task().data().splits["validation"])
    layers = layer_similarity(run.model, run.task().pretrained(), run.tokenizer, texts)
    assert [found[-1]["cka_0"], found[-1]["cka_1"]] == pytest.approx([layer.value for layer in layers])
    assert found[-1]["cka_1"] < found[0]["cka_1"] < 1
    kept = run.result.training.drift
    assert list(kept) == [0.0, 0.01, 0.25, 0.5]
    assert kept[0.5] == [[one["cka_0_at_0.5"], one["cka_1_at_0.5"]] for one in found]


def test_logging_the_drift_does_not_change_the_training(home: Path, tmp_path: Path) -> None:
    for name, asked in (("with", True), ("without", False)):
        train(configured(home, select="best", log_drift=asked), tmp_path / name, quiet=True)
    kept = [load_file(tmp_path / name / "model.safetensors") for name in ("with", "without")]
    assert all(torch.equal(kept[0][name], kept[1][name]) for name in kept[0])


def test_a_model_without_pretraining_has_no_drift(home: Path, tmp_path: Path) -> None:
    config = configured(home, select="best", log_drift=True).model_dump() | {"model": {"name": "textcnn"}}
    with pytest.raises(InputError, match="log_drift compares with a pretrained model, got textcnn"):
        train(RunConfig(**config), tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()
