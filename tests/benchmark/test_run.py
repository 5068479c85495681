"""Grids of tiny cells from the first command to the last: nothing is done twice, and a failure stops nothing."""

import io
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.benchmark.tiny_grid import grid_file, run
from tests.tiny_run import data_folder, model_folder
from uegr.benchmark.plan import cells_of
from uegr.benchmark.reading import read_grid
from uegr.benchmark.work import journal


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grids")
    model_folder(folder / "model")
    data_folder(folder / "data", train=48, other=12)
    return folder


@pytest.fixture(scope="module")
def finished(home: Path) -> tuple[Path, Path]:
    """A grid file and the folder of its finished cells."""
    printed = [{"method": "vanilla", "model": "tiny", "dataset": "films", "metric": "accuracy", "value": 90.0}]
    file = grid_file(home, home, printed=printed, source="nowhere")
    code, out, error = run(file, "--output", home / "out", "--quiet")
    assert code == 0, error
    assert "2 cells: 2 done" in out
    return file, home / "out"


def events(root: Path, start: str = "") -> list[str]:
    return [entry["event"] for entry in journal(root) if entry["event"].startswith(start)]


def results(root: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in (root / "cells").glob("*/result.json")}


def test_a_second_run_trains_nothing(finished: tuple[Path, Path]) -> None:
    file, root = finished
    before, told = results(root), events(root)
    assert run(file, "--output", root, "--workers", "2")[0] == 0
    assert results(root) == before
    assert events(root) == told
    assert told.count("train") == told.count("done") == 2


def test_the_folder_has_what_the_report_reads(finished: tuple[Path, Path], home: Path) -> None:
    _, root = finished
    grid = yaml.safe_load((root / "grid.yaml").read_text())
    assert (grid["title"], grid["source"]) == ("tiny", "nowhere")
    assert grid["printed"][0]["model"] == str(home / "model")
    assert sorted(cell["folder"] for cell in grid["cells"]) == sorted(f"cells/{name}" for name in results(root))
    for content in results(root).values():
        cell = json.loads(content)["cell"]
        assert (cell["model"], cell["dataset"], cell["seed"]) == ("tiny", "films", 0)
        assert cell["seconds"] > 0


def test_a_cell_is_an_ordinary_run(finished: tuple[Path, Path]) -> None:
    from uegr import open_run

    _, root = finished
    folder = next((root / "cells").iterdir())
    assert open_run(folder).task().labels == ("bad", "good")
    assert {"config.yaml", "model.safetensors", "metrics.jsonl"} <= {path.name for path in folder.iterdir()}


def test_what_is_measured_is_added_without_training_and_only_what_changed_is_measured_again(
    home: Path, tmp_path: Path
) -> None:
    root, attack = tmp_path / "out", {"attack": "deepwordbug", "examples": 3}
    settings: dict[str, Any] = {"methods": ["vanilla"]}
    assert run(grid_file(tmp_path, home, **settings), "--output", root)[0] == 0
    both = {"rows": 6, "figures": [], "attacks": [attack]}
    assert run(grid_file(tmp_path, home, **settings, measure=both), "--output", root)[0] == 0
    assert events(root, "measure") == ["measure evaluation", "measure deepwordbug"]
    more = both | {"attacks": [attack | {"examples": 5}]}
    assert run(grid_file(tmp_path, home, **settings, measure=more), "--output", root)[0] == 0
    assert events(root, "measure") == ["measure evaluation", "measure deepwordbug", "measure deepwordbug"]
    assert events(root).count("train") == 1
    result = json.loads(next(iter(results(root).values())))
    assert result["tasks"]["data"]["evaluation"]["clean"]["accuracy"]["n"] == 6
    assert next(iter(result["tasks"]["data"]["attacks"].values()))["examples"] == 5


BROKEN = """
from uegr.methods import Method, Objective, configured

class Broken(Objective):
    def losses(self, model, batch):
        {body}

@configured
def method() -> Method:
    return Method(Broken(), name="broken")
"""


def test_a_failing_cell_is_listed_with_its_error_others_go_on_and_it_is_tried_again(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken_method.py").write_text(BROKEN.format(body="raise RuntimeError('no\\n luck'); yield"))
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    data = [{"name": "empty"}, {"name": str(home / "data"), "label": "films"}]
    file = grid_file(tmp_path, home, methods=["broken_method:method", "vanilla"], datasets=data)
    code, out, error = run(file, "--output", "out", "--allow-code")
    assert code == 1
    assert "1 done, 3 failed" in " ".join(out.split())
    lines = [line for line in error.splitlines() if line.startswith("uegr: failed:")]
    assert len(lines) == 3
    assert any("RuntimeError: no luck" in line for line in lines)
    assert sum("empty has no data" in line for line in lines) == 2
    failures = {path.parent.name: json.loads(path.read_text()) for path in Path("out/cells").glob("*/failure.json")}
    assert any("broken_method.py" in failure["traceback"] for failure in failures.values())
    (tmp_path / "empty").rmdir()
    data_folder(tmp_path / "empty", train=48, other=12)
    code, _, error = run(file, "--output", "out", "--only", "*vanilla*", "--allow-code")
    assert (code, error.count("uegr: failed")) == (0, 0)
    trained = Counter(entry["cell"] for entry in journal(Path("out")) if entry["event"] == "train")
    assert sorted(trained.values()) == [1, 1, 1, 2]  # only what had failed was tried again


def test_dry_run_writes_nothing_and_estimates_from_finished_cells(finished: tuple[Path, Path], home: Path) -> None:
    file, root = finished
    more = grid_file(home / "data", home, seeds=3)
    before = sorted(root.rglob("*"))
    code, out, _ = run(more, "--output", root, "--dry-run", "--json")
    content = json.loads(out)
    assert code == 0
    assert sorted(root.rglob("*")) == before
    states = [row["state"] for row in content["cells"]]
    assert (states.count("done"), states.count("missing")) == (2, 4)
    done = {row["method"]: row["seconds"] for row in content["cells"] if row["state"] == "done"}
    missing = [row for row in content["cells"] if row["state"] == "missing"]
    assert all(content["expected_seconds"][row["cell"]] == done[row["method"]] for row in missing)
    assert "about" in run(more, "--output", root, "--dry-run")[1]
    unknown = run(file, "--output", home / "new", "--dry-run")[1]
    assert "time unknown" in unknown
    assert re.search(r"as much to train as \d+\.\d cells with vanilla", unknown)


def test_a_folder_belongs_to_one_grid_at_one_scale(finished: tuple[Path, Path], tmp_path: Path, home: Path) -> None:
    _, root = finished
    assert "choose another --output" in run(grid_file(tmp_path, home, title="another"), "--output", root)[2]
    scaled = grid_file(tmp_path, home, scales={"smoke": {"seeds": 1}})
    assert "holds the scale None, not 'smoke'" in run(scaled, "--scale", "smoke", "--output", root)[2]


def test_an_unfinished_begin_is_taken_away_and_the_cell_done(home: Path, tmp_path: Path) -> None:
    """A process that was killed before config.yaml was whole."""
    file = grid_file(tmp_path, home, methods=["vanilla"])
    name = json.loads(run(file, "--output", tmp_path / "out", "--dry-run", "--json")[1])["cells"][0]["cell"]
    folder = tmp_path / "out" / "cells" / name
    folder.mkdir(parents=True)
    (folder / ".config.yaml.abc").write_text("method: {na")
    assert run(file, "--output", tmp_path / "out")[0] == 0
    assert not list(folder.glob(".config.yaml.*"))


def test_ray_and_optuna_are_asked_for_by_name_when_they_are_absent(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ray", None)
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    file = grid_file(tmp_path, home, methods=["vanilla"])
    assert "pip install 'uegr[ray]'" in run(file, "--output", tmp_path / "a", "--backend", "ray")[2]
    assert "--address is for --backend ray" in run(file, "--output", tmp_path / "b", "--address", "auto")[2]
    search = {"trials": 1, "space": {"training.epochs": [1]}}
    file = grid_file(tmp_path, home, methods=["vanilla"], search=search)
    code, _, error = run(file, "--output", tmp_path / "c", "--workers", "0")
    assert code == 1
    assert "pip install 'uegr[search]'" in error


def test_the_live_table_shows_who_works_and_not_who_was_killed(home: Path, tmp_path: Path) -> None:
    from rich.console import Console

    from uegr.benchmark.cells import record_failure
    from uegr.benchmark.live import Board, picture
    from uegr.benchmark.plan import cells_of
    from uegr.benchmark.reading import read_grid
    from uegr.benchmark.work import Work

    cells = cells_of(read_grid(grid_file(tmp_path, home, methods=["vanilla", "rdrop", "fgm"])))
    work = Work(tmp_path / "out", 0.0)
    board = Board(work, cells)
    for cell in cells[:2]:
        work.note(cell, "train")
    record_failure(work, cells[2], "no [red]luck")
    with work.lock(cells[0].name, wait=False):
        assert [row["state"] for row in board.refresh()] == ["running", "missing", "failed"]
        console = Console(width=140, record=True, file=io.StringIO())
        console.print(picture(board, 1))
    text = console.export_text()
    assert "3 cells: 1 failed, 1 running, 1 missing; as much to train as" in text
    assert "no [red]luck" in text
    assert [row["state"] for row in board.refresh()] == ["missing", "missing", "failed"]


def test_texts_found_on_one_method_are_scored_on_the_others(home: Path, tmp_path: Path) -> None:
    """The other cell comes first, and finishes the one that it needs."""
    attack = {"attack": "deepwordbug", "examples": 6}
    measure = {"evaluate": False, "attacks": [attack], "transfer": "vanilla"}
    file, root = grid_file(tmp_path, home, measure=measure, methods=["rdrop", "vanilla"]), tmp_path / "out"
    code, _, error = run(file, "--output", root, "--workers", 0, "--quiet")
    assert code == 0, error
    attacks = {json.loads(text)["cell"]["method"]: json.loads(text)["tasks"]["data"]["attacks"]
               for text in results(root).values()}  # fmt: skip
    assert list(attacks["vanilla"]) == ["deepwordbug on data, 6 examples"]
    assert list(attacks["rdrop"]) == [
        "deepwordbug on data, 6 examples",
        "deepwordbug on data, 6 examples, from vanilla",
    ]
    replayed = attacks["rdrop"]["deepwordbug on data, 6 examples, from vanilla"]
    assert (replayed["attack"], replayed["settings"]["replayed_from"]) == ("deepwordbug replayed", "vanilla")
    assert events(root).count("train") == 2
    before = results(root)
    assert run(file, "--output", root, "--workers", 0, "--quiet")[0] == 0
    assert results(root) == before


def test_a_data_set_may_be_measured_otherwise(home: Path, tmp_path: Path) -> None:
    other = {
        "name": str(home / "data"),
        "label": "films",
        "measure": {"attacks": [{"attack": "pwws", "surface": "cilin"}]},
    }
    file = grid_file(tmp_path, home, datasets=[other], measure={"rows": 7, "attacks": ["deepwordbug"]})
    (cell, _) = cells_of(read_grid(file))
    assert (cell.measure["rows"], cell.measure["attacks"][0]["surface"]) == (7, "cilin")
    wrong = other | {"measure": {"atacks": []}}
    code, _, error = run(grid_file(tmp_path, home, datasets=[wrong]), "--dry-run")
    assert code == 2
    assert "unknown key datasets.0.measure.atacks; did you mean attacks" in error
