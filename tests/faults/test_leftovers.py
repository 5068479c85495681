"""What a killed command leaves half written is removed by the same command, or by the next one at the same folder."""

import json
import os
import shutil
import signal
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.benchmark.tiny_grid import grid_file
from tests.faults.conftest import config_of
from tests.forks import end_of, forked
from uegr import packages
from uegr.cli import app
from uegr.models import export
from uegr.runs import folder
from uegr.runs.attack import attack_run
from uegr.runs.evaluate import evaluate_run
from uegr.runs.train import train

Body = Callable[[], object]


def killed(body: Body, at: str) -> None:
    """A child process, killed just before a file of this name is put in place."""

    def counted() -> None:
        real = os.replace

        def replace(source: Any, target: Any) -> None:
            if Path(target).name == at:
                os.kill(os.getpid(), signal.SIGKILL)
            real(source, target)

        os.replace = replace  # type: ignore[assignment]
        body()

    assert end_of(forked(counted)) == -signal.SIGKILL


def left(place: Path) -> list[str]:
    """What is hidden, besides locks and seals; and what only an unfinished run needs."""
    hidden = [path for path in place.rglob(".*") if not path.name.endswith((".lock", ".seal"))]
    unfinished = [path for name in ("*checkpoint-*", "best*", "*.part") for path in place.rglob(name)]
    return sorted(str(path.relative_to(place)) for path in (*hidden, *unfinished))


def uegr(*arguments: Any) -> None:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.exception


def training(home: Path, place: Path, augment: bool = False) -> Body:
    config = config_of(home, epochs=2)
    if augment:
        changed = config.augment.model_copy(update={"name": "deepwordbug", "examples": 4})
        config = config.model_copy(update={"augment": changed})
    return lambda: train(config, place / "run", resume=True, quiet=True)


def command(home: Path, place: Path, name: str) -> Body:
    """A command at a copy of a finished run."""
    run = place / "run"
    bodies: dict[str, Body] = {
        "attack": lambda: attack_run(run, attack="deepwordbug", examples=2, resume=True, quiet=True),
        "evaluate": lambda: evaluate_run(run, rows=4, figures=[], quiet=True),
        "export": lambda: uegr("export", run, "--onnx"),
        "predict": lambda: uegr("predict", run, "--text", "a fine film", "--output", place / "answers.csv"),
        "report": lambda: uegr("report", run, "--output", place / "page.html"),
    }
    return bodies[name]


KILLS = [
    ("attack", "result.json"),
    ("evaluate", "README.md"),
    ("export", "model.onnx"),
    ("export", "manifest.json"),
    ("predict", "answers.csv"),
    ("report", "page.html"),
]


@pytest.mark.parametrize(("name", "at"), KILLS)
def test_a_command_at_a_run_leaves_nothing(
    home: Path, run: Path, name: str, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "write", lambda model, batch, file, heat: Path(file).write_bytes(b"a graph"))
    monkeypatch.setattr("uegr.runs.export.largest_difference", lambda *args: 0.0)
    body = command(home, run.parent, name)
    killed(body, at)
    assert left(run.parent)
    body()
    assert left(run.parent) == []
    uegr("predict", run, "--text", "a fine film")  # whatever happened, the run is whole


def test_a_training_leaves_nothing(home: Path, tmp_path: Path) -> None:
    body = training(home, tmp_path)
    for at in ("config.yaml", "metrics.jsonl", "manifest.json", "README.md", "result.json"):
        killed(body, at)
        assert [name for name in left(tmp_path) if name.endswith(".partial")]
    body()
    assert left(tmp_path) == []


def test_a_training_that_had_not_started_is_started_by_the_same_command(home: Path, tmp_path: Path) -> None:
    config = config_of(home)
    killed(lambda: train(config, tmp_path / "run", quiet=True), "config.yaml")
    assert train(config, tmp_path / "run", quiet=True) is not None
    assert left(tmp_path) == []


def test_an_augmented_training_leaves_nothing(home: Path, tmp_path: Path) -> None:
    body = training(home, tmp_path, augment=True)
    for at in ("epoch-1.part", "epoch-1.jsonl"):
        killed(body, at)
        assert [name for name in left(tmp_path) if "augment" in name]
    body()
    assert left(tmp_path) == []


def test_checkpoints_of_a_training_that_was_killed_after_its_result_are_removed(home: Path, tmp_path: Path) -> None:
    body = training(home, tmp_path)

    def dying() -> None:
        folder.clear_checkpoints = lambda place: os.kill(os.getpid(), signal.SIGKILL)
        body()

    killed(dying, "nothing")
    assert folder.is_done(tmp_path / "run")
    for name in ("attack", "evaluate"):
        (tmp_path / name).mkdir()
        shutil.copytree(tmp_path / "run", tmp_path / name / "run")
        assert [path for path in left(tmp_path / name) if "checkpoint" in path]
        command(home, tmp_path / name, name)()
        assert left(tmp_path / name) == []
    assert [path for path in left(tmp_path / "run") if "checkpoint" in path]
    body()
    assert left(tmp_path) == []


def test_a_grid_leaves_nothing(home: Path, tmp_path: Path) -> None:
    file = grid_file(tmp_path, home, methods=["vanilla"])
    grid = ["benchmark", file, "--output", tmp_path / "out", "--quiet", "--workers", "0"]
    for at in ("grid.yaml", "result.json"):
        killed(lambda: uegr(*grid), at)
        assert left(tmp_path)
    uegr(*grid)
    assert left(tmp_path) == []


def test_a_download_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip keeps its own temporary files in the box, too."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    seen: list[dict[str, str]] = []

    def pip(command: list[str], env: dict[str, str], **options: Any) -> Any:
        seen.append(env)
        with zipfile.ZipFile(Path(command[command.index("--dest") + 1]) / "p.whl", "w") as bundle:
            bundle.writestr("file", "content")
        return type("Done", (), {"returncode": 0, "stderr": ""})

    monkeypatch.setattr(packages.subprocess, "run", pip)
    monkeypatch.setattr(packages, "digest", lambda path: "0")
    source = packages.PackageSource(name="p", version="1", file="file", sha256="0")
    for at in (".file.seal", "file"):
        killed(lambda: packages.fetch(source), at)
        assert left(tmp_path)
    assert packages.fetch(source).read_text() == "content"
    assert left(tmp_path) == []
    assert Path(seen[0]["TMPDIR"]).is_relative_to(tmp_path / "cache")


def test_a_kill_between_an_export_and_its_entry_in_the_manifest_leaves_a_run_that_opens(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where an earlier export was listed: its entry goes first."""
    monkeypatch.setattr("uegr.runs.export.largest_difference", lambda *args: 0.0)
    monkeypatch.setattr(export, "write", lambda model, batch, file, heat: Path(file).write_bytes(b"first"))
    uegr("export", run, "--onnx")
    monkeypatch.setattr(export, "write", lambda model, batch, file, heat: Path(file).write_bytes(b"second"))
    for time in (1, 2):  # the entry is taken out, and put in again
        copy = shutil.copytree(run, run.with_name(f"copy {time}"))
        kill_at_manifest(lambda copy=copy: uegr("export", copy, "--onnx"), time)
        uegr("predict", copy, "--text", "a fine film")
        uegr("export", copy, "--onnx")
        assert "model.onnx" in json.loads((copy / "manifest.json").read_text())["files"]
        assert (copy / "model.onnx").read_bytes() == b"second"


def kill_at_manifest(body: Body, time: int) -> None:
    """A child process, killed just before manifest.json is put in place for the n-th time."""
    from uegr.runs import manifest

    store, seen = manifest.store, []

    def counted() -> None:
        def dying(*args: Any) -> None:
            seen.append(1)
            if len(seen) == time:
                os.kill(os.getpid(), signal.SIGKILL)
            store(*args)

        manifest.store = dying
        body()

    killed(counted, "nothing")
