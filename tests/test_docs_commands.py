"""The commands on the pages: each parses and names what there is; those of the README and of an own method run."""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import transcript
import typer
from typer.testing import CliRunner

from tests.doc_pages import ROOT, every_page, read, words
from tests.tiny_run import data_folder, model_folder
from uegr import cli, data, models
from uegr.attacks.catalogue import make
from uegr.cli import listings
from uegr.errors import InputError
from uegr.training.config import read_config
from uegr.training.overrides import parsed


@cache
def program() -> Any:
    return typer.main.get_command(cli.app)


def check(arguments: list[str], mention: bool) -> None:
    """Parse as the program would, without running; a mention in prose may leave out what is required."""
    command, rest = program(), list(arguments)
    if rest[:1] and rest[0].startswith("--"):
        assert any(rest[0] in one.opts for one in command.params), f"the program has no option {rest[0]}"
        return
    while rest and hasattr(command, "commands"):
        name = rest.pop(0)
        assert name in command.commands, f"no command {name}"
        command = command.commands[name]
    if hasattr(command, "commands"):
        assert mention
        return
    bare = mention and bool(rest) and rest[-1].startswith("--") and takes_value(command, rest[-1])
    try:
        context = command.make_context(command.name, [*rest, "1"] if bare else rest)
    except Exception as error:
        if not mention or type(error).__name__ != "MissingParameter":
            raise AssertionError(f"uegr {' '.join(arguments)}: {error}") from error
        return
    check_names(command.name, context.params)


def takes_value(command: Any, flag: str) -> bool:
    return any(flag in one.opts and not one.is_flag for one in command.params if hasattr(one, "is_flag"))


def check_names(command: str, given: dict[str, Any]) -> None:
    """What is named is there: methods with their options, attacks with theirs, models, data sets."""
    settings = given.get("settings") or []
    if command == "train" and ":" not in (given["method"] or ""):
        read_config(None, {"method.name": given["method"], "dataset.name": "any"}, settings)
    if command == "attack":
        make(given["attack"], {key: parsed(value) for key, _, value in (one.partition("=") for one in settings)})
    if "what" in given:
        assert given["what"] in listings.COLUMNS
    assert given.get("model") in (None, *models.cards())
    sets = given.get("dataset") or []
    for name in [sets] if isinstance(sets, str) else sets:
        assert name in data.cards() or not name.isidentifier() or name.isupper(), f"no data set {name}"


@every_page
def test_commands_parse(page: Path) -> None:
    parts = read(page)
    for line in parts.lines:
        if (found := words(line)) is not None:
            check(found, mention=False)
    for span in parts.spans:
        if (found := words(span)) is not None:
            check(found, mention=True)


@pytest.mark.parametrize(
    "line",
    [
        "uegr trian",
        "uegr --instal-completion",
        "uegr train --methods uegr",
        "uegr train --method uger --dataset snippets",
        "uegr train --method uegr --dataset snippets --set method.epsilom=1",
        "uegr train --dataset snipets",
        "uegr train --model minilm6",
        "uegr attack runs/first --attack pwsw",
        "uegr evaluate",
        "uegr list method",
        "uegr data chek snippets",
    ],
)
def test_a_wrong_command_is_found(line: str) -> None:
    found = words(line)
    assert found is not None
    with pytest.raises((AssertionError, InputError)):
        check(found, mention=False)


@every_page
def test_make_targets_and_scripts_exist(page: Path) -> None:
    parts = read(page)
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for code in [*parts.lines, *parts.spans]:
        if match := re.match(r"make ([a-z][\w-]*)", code):
            assert match[1] in targets, code
        if match := re.match(r"python (\w+/[\w/]+\.py)(.*)", code):
            script = (ROOT / match[1]).read_text(encoding="utf-8")
            assert all(f'"{flag}"' in script for flag in re.findall(r"--[\w-]+", match[2])), code


@pytest.fixture
def outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of someone who has a tiny model, a little data, and the module of docs/own_method.md."""
    model_folder(tmp_path / "model")
    data_folder(tmp_path / "data", train=32, other=8)
    (tmp_path / "my_module.py").write_text(read(ROOT / "docs" / "own_method.md").python[0])
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    sys.modules.pop("my_module", None)


def tiny(code: str) -> str:
    """The same with the tiny model and data in place of minilm and snippets."""
    for real, small in {"minilm": "model", "snippets": "data"}.items():
        code, changes = re.subn(rf'(?<=[ "]){real}(?=[ "])(?! =)', small, code)
        assert changes == 1, real
    return code


def test_an_own_method_has_twenty_lines_and_trains_in_python(outside: Path) -> None:
    module, script, *_ = read(ROOT / "docs" / "own_method.md").python
    assert len([line for line in module.splitlines() if line.strip()]) <= 20
    names: dict[str, Any] = {}
    exec(compile(tiny(script), "own_method.md", "exec"), names)
    trainer = names["trainer"]
    assert repr(trainer.method) == "my_method(share=0.7, epsilon=1.0)"
    assert trainer.state.global_step == 12  # 3 epochs of 4 batches


def test_an_own_method_trains_on_the_command_line(outside: Path) -> None:
    (line,) = [line for line in read(ROOT / "docs" / "own_method.md").lines if line.startswith("uegr train")]
    result = CliRunner().invoke(cli.app, [*(words(tiny(line)) or []), "--quiet", "--json"])
    assert result.exception is None
    method = json.loads(result.stdout)["config"]["method"]
    assert method == {"name": "my_module:my_method", "share": 0.7, "epsilon": 1.0}
    assert (outside / "runs" / "mine" / "result.json").exists()


def test_the_script_of_the_readme_trains_and_measures(outside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same lines with a tiny model and a few rows."""
    (script,) = read(ROOT / "README.md").python
    for real, small in {'"minilm-l3"': '"model"', '"snippets"': '"data"', "500": "16"}.items():
        assert script.count(real) == 1
        script = script.replace(real, small)
    exec(compile(script, "README.md", "exec"), {})
    assert capsys.readouterr().out.count("Figure(") == 7


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with reviews.csv, and new.csv without the labels."""
    transcript.prepare(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_commands_of_the_readme_run_one_after_another(shop: Path) -> None:
    """Nothing made smaller."""
    commands = [found for line in read(ROOT / "README.md").lines if (found := words(line)) is not None]
    assert len(commands) >= 6
    for arguments in commands:
        ran(shop, arguments)
    robust = json.loads((shop / "runs" / "robust" / "result.json").read_text())
    task = robust["tasks"]["reviews"]
    assert task["scores"]["validation"]["accuracy"]["value"] > 0.7
    assert task["evaluation"]
    (attack,) = task["attacks"].values()
    assert attack["temperature"] is not None, "all held-out rows are attacked, and none is left to calibrate with"


def ran(folder: Path, arguments: list[str]) -> str:
    """What a command printed; it must succeed."""
    done = subprocess.run([sys.executable, "-m", "uegr.cli", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"uegr {shlex.join(arguments)}: {done.stderr[-2000:]}"
    return done.stdout


def shown(page: Path) -> list[tuple[str, list[str] | None]]:
    """The commands of a page with the lines that they print; None where the page does not show them."""
    found: list[tuple[str, list[str] | None]] = []
    for language, block in read(page).blocks:
        for line in block.splitlines() if language != "python" else ():
            if words(line) is not None:
                found.append((line, [] if line.startswith("$ ") else None))
            elif line.startswith("$ "):  # another program
                found.append(("", None))
            elif found and line.strip() and found[-1][1] is not None:
                found[-1][1].append(line)
    return found


def masked(line: str) -> str:
    """A line without its numbers, which depend on the machine, and without its layout."""
    return " ".join(re.sub(r"[<−+-]?\d[\d.,]*", "#", line).split())


def test_a_transcript_is_written_below_its_commands(tmp_path: Path) -> None:
    page = "# Title\n\n    $ echo new 'and more'\n    old\n    older\n\nAfter.\n\n    plain\n\n    $ true\n\nEnd.\n"
    filled = transcript.filled(page, tmp_path)
    assert filled == page.replace("    old\n    older\n", "    new and more\n")
    assert transcript.filled(filled, tmp_path) == filled


@pytest.mark.slow
def test_the_tutorial_shows_what_its_commands_print(shop: Path) -> None:
    steps = shown(ROOT / "docs" / "tutorial.md")
    assert len(steps) >= 5
    for command, lines in steps:
        out = ran(shop, words(command) or []) if command else ""
        if lines is not None:
            told = [masked(line) for line in out.splitlines() if line.strip()]
            assert told == [masked(line) for line in lines], command
