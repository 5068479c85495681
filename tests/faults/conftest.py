"""A trained run that the tests of faults share, and the command line in this process."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from uegr.cli import app
from uegr.errors import InputError
from uegr.runs.train import train
from uegr.training.config import RunConfig


def config_of(home: Path, **training: Any) -> RunConfig:
    """A training of a second."""
    return RunConfig.model_validate(
        {
            "method": {"name": "vanilla"},
            "model": {"name": str(home / "model")},
            "dataset": {"name": str(home / "data")},
            "training": {"epochs": 1, "batch_size": 8, **training},
        }
    )


@pytest.fixture(scope="module")
def finished(home: Path) -> Path:
    train(config_of(home), home / "finished", quiet=True)
    return home / "finished"


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy that a test may damage."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture(scope="session")
def uegr() -> Callable[..., str]:
    """A command that must be refused: its one line."""

    def command(*arguments: Any) -> str:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert isinstance(result.exception, InputError), result
        return str(result.exception)

    return command
