"""Where a training is logged: every integration of transformers, and one line where its package is missing."""

import sys
from types import ModuleType

import pytest
import transformers.integrations as integrations

from uegr.errors import InputError
from uegr.runs.reporting import check_reporting
from uegr.runs.train import train
from uegr.runs.trainer import arguments
from uegr.training.config import RunConfig, read_config


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "mlflow", "trackio", "comet_ml"])
def test_a_missing_package_is_one_line(name, monkeypatch):
    monkeypatch.setattr(integrations, "get_available_reporting_integrations", list)
    package = {"comet_ml": "comet-ml"}.get(name, name)
    with pytest.raises(InputError) as caught:
        check_reporting(name)
    assert str(caught.value) == f"training.report_to={name} needs the package {package}; pip install {package}"


def test_a_name_that_transformers_does_not_know_is_one_line(tmp_path):
    config = RunConfig(dataset={"name": "snippets"}, training={"report_to": ["wandbb"]})
    with pytest.raises(InputError, match=r"training\.report_to: wandbb is not supported, only .*wandb") as caught:
        train(config, tmp_path / "run", quiet=True)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (("a", "b, c"), "expected one name for each --report-to, got 'b, c'; use --report-to b --report-to c"),
        ("b,", "expected one name for each --report-to, got 'b,'; use --report-to b"),
        ("", "expected a name such as tensorboard, got ''; use --report-to tensorboard"),
        (("wandb", ","), "expected a name such as tensorboard, got ','; use --report-to tensorboard"),
    ],
)
def test_several_names_in_one_and_an_empty_one_are_one_line(given, line):
    with pytest.raises(InputError) as caught:
        check_reporting(given)
    assert str(caught.value) == line


def test_what_is_installed_is_passed_on(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "wandb", ModuleType("wandb"))
    monkeypatch.setattr(integrations, "get_available_reporting_integrations", lambda: ["wandb", "mlflow"])
    given = {"dataset.name": "snippets", "training.report_to": ("wandb", "mlflow")}
    config = read_config(None, given, ["training.epochs=1", "training.learning_rate=0.1"])
    check_reporting(config.training.report_to)
    assert arguments(config, tmp_path).report_to == ["wandb", "mlflow"]
    assert arguments(read_config(None, {"dataset.name": "x"}, ["training.epochs=1"]), tmp_path).report_to == []
