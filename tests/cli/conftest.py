"""The command line in this process, and one trained run that the tests of commands share."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.tiny_run import data_folder, model_folder, sentences
from uegr.cli import app
from uegr.errors import InputError

SMALL = ["--batch-size", "8", "--learning-rate", "0.01", "--quiet", "--seed", "3"]
# embeddings of a new BERT are so small that the default epsilon drowns them
SETTINGS = ["--epochs", "5", "--set", "method.epsilon=0.01", "--set", "method.alpha=0.3"]
Answer = tuple[int, str, str]


def invoked(*arguments: Any) -> Answer:
    """Exit code, standard output, and the error as the entry point shows it."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, InputError):
        return 2, result.stdout, " ".join(str(result.exception).split())
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="session")
def uegr() -> Callable[..., Answer]:
    return invoked


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny model and a data set of 160 rows to train on."""
    folder = tmp_path_factory.mktemp("home")
    model_folder(folder / "model")
    data_folder(folder / "data")
    return folder


@pytest.fixture(scope="session")
def train(home: Path) -> Callable[..., Answer]:
    """`uegr train` on the tiny model and data."""

    def command(output: Path, *more: Any, method: str = "uegr") -> Answer:
        tiny = ["--model", home / "model", "--dataset", home / "data", "--output", output, "--method", method]
        return invoked("train", *tiny, *SMALL, *more)

    return command


@pytest.fixture(scope="session")
def settings() -> list[str]:
    """How `finished` was trained."""
    return SETTINGS


@pytest.fixture(scope="session")
def finished(home: Path, train: Callable[..., Answer]) -> Path:
    code, _, error = train(home / "finished", *SETTINGS, "--json")
    assert code == 0, error
    return home / "finished"


ODD = ["--text-column", "satz", "--encoding", "cp1252", "--delimiter", "^", "--quoting", "none"]


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A file that needs every flag of `ODD`, and --label-column stars."""
    lines = ["satz^stars^autor", *(f'"{text} für^{label}^x' for text, label in sentences(40, seed=9))]
    (tmp_path / "odd.csv").write_bytes("\n".join(lines).encode("cp1252"))
    return tmp_path / "odd.csv"


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A copy of the finished run that a test may write into."""
    return Path(shutil.copytree(finished, tmp_path / "finished"))
