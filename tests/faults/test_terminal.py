"""A data set whose texts, labels and file names hold control characters is shown without them by every command."""

import csv
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.tiny_run import sentences
from uegr.cli import app
from uegr.terminal import CONTROL

EVIL = "\x1b]52;c;ZXZpbA==\x07\x9b2J\u202e"


@pytest.fixture(scope="module")
def data(home: Path) -> Path:
    """Rows, labels and a folder's name that try to steer the terminal."""
    folder = home / f"data{EVIL}"
    folder.mkdir()
    for seed, (split, count) in enumerate({"train": 48, "validation": 16, "test": 16}.items()):
        with (folder / f"{split}.csv").open("w", newline="", encoding="utf-8") as file:
            rows = [(f"{text} {EVIL} s{seed}", f"{label}{EVIL}") for text, label in sentences(count, seed)]
            csv.writer(file).writerows([("text", "label"), *rows])
    return folder


def shown(*arguments: Any) -> str:
    """Everything that a command prints; its error as the entry point would show it."""
    from uegr.errors import InputError
    from uegr.terminal import one_line

    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    error = one_line(result.exception) if isinstance(result.exception, InputError) else ""
    assert result.exception is None or error, result.exception
    return result.stdout + result.stderr + error


@pytest.fixture(scope="module")
def trained(home: Path, data: Path) -> tuple[Path, str]:
    output = home / f"run{EVIL}"
    options = ["--method", "vanilla", "--epochs", "1", "--model", home / "model", "--output", output]
    return output, shown("train", "--dataset", data, *options)


def test_training_is_shown_without_control_characters(trained: tuple[Path, str]) -> None:
    assert "accuracy" in trained[1]
    assert not CONTROL.search(trained[1])


@pytest.mark.parametrize("command", ["show", "check", "stats", "show --json"])
def test_data_is_shown_without_control_characters(data: Path, command: str) -> None:
    words = command.split()
    found = shown("data", words[0], data, *words[1:])
    assert "ZXZpbA" in found
    assert not CONTROL.search(found)


@pytest.mark.parametrize(
    "command",
    ["predict --text x", "attack --attack deepwordbug --examples 8", "evaluate --rows 8", "evaluate --json --rows 8"],
)
def test_a_run_is_shown_without_control_characters(trained: tuple[Path, str], command: str) -> None:
    words = command.split()
    found = shown(words[0], trained[0], *words[1:])
    assert found
    assert not CONTROL.search(found)


@pytest.mark.parametrize("name", [f"no such\n{EVIL}.csv", f"gone{EVIL}", "bad\udcff"])
def test_an_error_about_a_name_is_one_harmless_line(name: str) -> None:
    found = shown("data", "show", name)
    assert not CONTROL.search(found)
    assert "\n" not in found
    found.encode()
