"""A run that starts from the encoder of another run, with a new head."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.tiny_run import data_folder, model_folder
from uegr.errors import InputError
from uegr.runs.finished import open_run
from uegr.runs.train import train
from uegr.training.config import RunConfig


def configured(home: Path, **training: Any) -> RunConfig:
    return RunConfig(
        method={"name": "vanilla"},
        model={"name": str(home / "model")},
        dataset={"name": str(home / "data")},
        training={"max_steps": 3, "batch_size": 8, "learning_rate": 0.01, "select": "last"} | training,
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a data set, and a finished run `first`."""
    home = tmp_path_factory.mktemp("starts")
    model_folder(home / "model")
    data_folder(home / "data", train=48, other=8)
    train(configured(home), home / "first", quiet=True)
    return home


@pytest.fixture(scope="module")
def second(home: Path) -> Path:
    """A run from `first` that moves by next to nothing, so that its weights are those it started from."""
    config = configured(home, max_steps=1, learning_rate=1e-12, weight_decay=0.0, start_from="../first")
    train(config, home / "second", quiet=True)
    return home / "second"


def test_the_encoder_is_that_of_the_start_and_the_head_is_the_models_own(home: Path, second: Path) -> None:
    first, base, found = (load_file(home / name / "model.safetensors") for name in ("first", "model", "second"))
    encoder = [name for name in found if name.startswith("bert.")]
    assert all(torch.allclose(found[name], first[name], atol=1e-6) for name in encoder)
    assert not all(torch.allclose(found[name], base[name], atol=1e-3) for name in encoder)
    assert not torch.allclose(found["classifier.weight"], first["classifier.weight"], atol=1e-4)  # same labels


def test_the_start_is_in_the_configuration_by_a_path_that_can_be_moved(second: Path, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(second.parent, moved)
    run = open_run(moved / "second")
    assert run.config.training.start_from == "../first"
    first = load_file(moved / "first" / "model.safetensors")
    before = run.task().pretrained().state_dict()
    assert all(torch.equal(before[name], value) for name, value in first.items() if name.startswith("bert."))


class Cut(Exception):
    """Stands for a power cut."""


def test_a_run_with_a_start_resumes_to_the_same_bits(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from uegr.training.engine import RobustTrainer

    config, usual = configured(home, checkpoint_steps=1, start_from=str(home / "first")), RobustTrainer.training_step

    def cutting(self: Any, *args: Any) -> Any:
        if self.state.global_step == 2:
            raise Cut
        return usual(self, *args)

    train(config, tmp_path / "whole", quiet=True)
    with monkeypatch.context() as patch:
        patch.setattr(RobustTrainer, "training_step", cutting)
        with pytest.raises(Cut):
            train(config, tmp_path / "cut", quiet=True)
    result = train(config, tmp_path / "cut", resume=True, quiet=True)
    assert result is not None
    assert result.training.resumed
    whole, cut = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "cut"))
    assert all(torch.equal(whole[name], cut[name]) for name in whole)


def test_a_run_without_a_start_does_not_mention_it(home: Path) -> None:
    assert "start_from" not in open_run(home / "first").result.config.training


def test_what_cannot_be_a_start_is_refused_before_anything_is_written(home: Path, tmp_path: Path) -> None:
    place = tmp_path / "run"
    shutil.copytree(home / "first", tmp_path / "damaged")
    with (tmp_path / "damaged" / "model.safetensors").open("ab") as file:
        file.write(b"x")
    shutil.copytree(home / "model", tmp_path / "other")
    cases = {
        "../nowhere": "expected a finished run",
        "../damaged": "the run to start from is damaged: .*model.safetensors has .* bytes",
    }
    for start, message in cases.items():
        with pytest.raises(InputError, match=message):
            train(configured(home, start_from=start), place, quiet=True)
    changed = configured(home, start_from=str(home / "first"))
    for model, message in (
        ({"name": str(tmp_path / "other")}, "expected a start with the model .*other, got .*model in .*first"),
        ({"name": str(home / "model"), "pretrained": False}, "start_from or model.pretrained=false, got both"),
    ):
        with pytest.raises(InputError, match=message):
            train(RunConfig(**changed.model_dump() | {"model": model}), place, quiet=True)
    assert not place.exists()


@pytest.mark.parametrize("model", ["textcnn", "mtdnn"])
def test_a_model_without_an_encoder_of_its_own_is_refused(model: str, home: Path, tmp_path: Path) -> None:
    from uegr.runs.prepare import prepare

    config = configured(home, start_from=str(home / "first")).model_dump() | {"model": {"name": model}}
    with pytest.raises(InputError, match=r"training.start_from .* got (--model mtdnn|textcnn); leave"):
        prepare(RunConfig(**config))
