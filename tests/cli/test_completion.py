"""What the shell completes, and that it imports no library for it."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from uegr import data, models
from uegr.attacks.catalogue import ATTACKS
from uegr.cli import app, completion, listings
from uegr.methods import METHODS


def test_the_names_are_those_of_the_tables_and_cards() -> None:
    assert completion.methods() == list(METHODS)
    assert completion.attacks() == list(ATTACKS)
    assert completion.models() == sorted(models.cards())
    assert completion.datasets() == sorted(data.cards())
    assert completion.listed() == list(listings.COLUMNS)
    assert "quick" in completion.grids()


def test_runs_are_folders_with_a_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("runs/first", "runs/grid/cells/a", "other", "runs/.hidden", "runs/first/attacks"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "result.json").touch()
    (tmp_path / "runs" / "unfinished").mkdir()
    (tmp_path / "runs" / "unfinished" / "config.yaml").touch()
    (tmp_path / "runs" / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    assert completion.runs("") == ["other", "runs/first"]
    assert completion.runs("runs/") == completion.runs("runs/f") == ["runs/first", "runs/grid/cells/a"]
    assert completion.runs("nowhere/x") == []
    assert completion.unfinished_runs("runs/u") == ["runs/unfinished"]


def test_a_table_that_is_gone_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.py").touch()
    with pytest.raises(LookupError):
        completion.keys(tmp_path / "empty.py", "METHODS")


WORDS = {
    "uegr train --method ueg": "uegr",
    "uegr train --resume runs/st": "runs/stopped",
    "uegr train --model minilm-": "minilm-l3",
    "uegr train --dataset snippets_r": "snippets_rating",
    "uegr attack runs/fi": "runs/first",
    "uegr attack runs/first --attack pw": "pwws",
    "uegr compare runs/fi": "runs/first",
    "uegr playground runs/fi": "runs/first",
    "uegr playground runs/other runs/fi": "runs/first",
    "uegr benchmark qui": "quick",
    "uegr list gr": "grids",
    "uegr data show snippets_ed": "snippets_editorials",
    "uegr models fetch minilm-": "minilm-l3",
}
ASK = """
import os, sys
from uegr.cli import app
for words in sys.argv[1:]:
    os.environ |= {"_UEGR_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    try:
        app(prog_name="uegr")
    except SystemExit:
        print("--")
heavy = ("torch", "transformers", "datasets", "numpy")
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""


def test_the_shell_gets_names_and_nothing_heavy_is_imported(tmp_path: Path) -> None:
    (tmp_path / "runs" / "first").mkdir(parents=True)
    (tmp_path / "runs" / "first" / "result.json").touch()
    (tmp_path / "runs" / "stopped").mkdir()
    (tmp_path / "runs" / "stopped" / "config.yaml").touch()
    done = subprocess.run(
        [sys.executable, "-c", ASK, *WORDS], capture_output=True, text=True, cwd=tmp_path, env=os.environ.copy()
    )
    answers = [part.split() for part in done.stdout.split("--")[:-1]]
    wrong = {words: found for words, found in zip(WORDS, answers, strict=True) if WORDS[words] not in found}
    assert not wrong
    assert done.stderr == "[]\n"


COMPLETED = ("method", "model", "dataset", "attack", "augment")


def commands(group: Any = None, path: str = "uegr") -> Iterator[tuple[str, Any]]:
    """Every command of the program, with the words that start it."""
    group = group or typer.main.get_command(app)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def test_every_option_that_takes_a_name_is_completed() -> None:
    silent, answered = [], []
    for path, command in commands():
        for one in command.params:
            if one.name in COMPLETED:
                found = one.shell_complete(typer.Context(command), "")
                (answered if found else silent).append(f"{path} {one.opts[0]}")
    assert not silent
    assert len(answered) > 8
