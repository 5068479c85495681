"""WiSE-FT: the literal mixture of two sets of weights, a new run with its own scores, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from uegr import open_run
from uegr.errors import InputError
from uegr.runs import outcome
from uegr.runs.interpolate import check, interpolate_run
from uegr.runs.train import train
from uegr.training.config import RunConfig


def configured(home: Path, **training: Any) -> RunConfig:
    return RunConfig(
        method={"name": "vanilla"},
        model={"name": str(home / "model")},
        dataset={"name": str(home / "data")},
        training={"epochs": 1, "learning_rate": 0.01, **training},
    )


@pytest.fixture(scope="module")
def finished(home: Path) -> Path:
    train(configured(home), home / "finished", quiet=True)
    return home / "finished"


def test_the_encoder_is_the_mixture_and_the_head_stays(home: Path, finished: Path) -> None:
    result = interpolate_run(finished, home / "half", 0.25)
    folders = (home / "model", finished, home / "half")
    start, end, mixed = (load_file(folder / "model.safetensors") for folder in folders)
    for name, value in mixed.items():
        expected = 0.75 * start[name] + 0.25 * end[name] if name.startswith("bert.") else end[name]
        torch.testing.assert_close(value, expected, rtol=1e-6, atol=1e-7)
    assert not torch.equal(mixed["bert.pooler.dense.weight"], end["bert.pooler.dense.weight"])
    assert result.config.training["interpolation"] == 0.25
    opened = open_run(home / "half")
    assert opened.result.to_json() == result.to_json()
    scores = opened.task().about.scores["test"]["accuracy"]
    rows = opened.task().data().splits["test"]
    found = [one.label for one in opened.predict(rows["text"])]
    right = [opened.task().labels[number] == label for number, label in zip(rows["label"], found, strict=True)]
    assert scores.value == pytest.approx(sum(right) / len(right))


def test_all_of_the_finished_weights_is_the_run_itself(home: Path, finished: Path) -> None:
    result = interpolate_run(finished, home / "same", 1.0)
    assert result.tasks["data"].scores == open_run(finished).result.tasks["data"].scores


def test_one_that_was_interrupted_is_made_again_by_the_same_command(
    home: Path, finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(outcome, "task", interrupt)
        with pytest.raises(KeyboardInterrupt):
            interpolate_run(finished, home / "cut", 0.5)
    with pytest.raises(InputError, match="started with another training"):
        interpolate_run(finished, home / "cut", 0.25)
    assert interpolate_run(finished, home / "cut", 0.5).tasks["data"].scores
    with pytest.raises(InputError, match="holds a finished run"):
        interpolate_run(finished, home / "cut", 0.5)


def test_a_training_can_end_with_it(home: Path, finished: Path) -> None:
    train(configured(home, interpolation=0.5), home / "ended", quiet=True)
    interpolate_run(finished, home / "later", 0.5)
    one, other = (load_file(home / name / "model.safetensors") for name in ("ended", "later"))
    assert all(torch.equal(value, other[name]) for name, value in one.items())


def test_what_cannot_be_interpolated_is_refused(home: Path, finished: Path) -> None:
    with pytest.raises(InputError, match=r"expected 0 <= weight <= 1, got 1\.5; use --weight 0\.5"):
        interpolate_run(finished, home / "new", 1.5)
    with pytest.raises(InputError, match="choose another --output"):
        interpolate_run(finished, finished, 0.5)
    with pytest.raises(InputError, match="got textcnn, which has no pretrained weights to interpolate with"):
        check(RunConfig(model={"name": "textcnn"}, dataset={"name": "x"}))
    interpolate_run(finished, home / "once", 0.5)
    with pytest.raises(InputError, match="expected a run that is not interpolated"):
        interpolate_run(home / "once", home / "twice", 0.5)
