"""`uegr benchmark --ledger`: what is committed counts as done, what finishes is added, and nothing else is trusted."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.benchmark.tiny_grid import grid_file, run
from tests.tiny_run import data_folder, model_folder
from uegr.benchmark.plan import cells_of
from uegr.benchmark.reading import read_grid
from uegr.benchmark.recording import committed, is_same
from uegr.benchmark.work import journal
from uegr.errors import DataWarning
from uegr.ledger.entries import read

REPORTED = [{"method": "vanilla", "model": "tiny", "dataset": "films", "metric": "accuracy", "value": 90.0, "sd": 0.5}]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ledgers")
    model_folder(folder / "model")
    data_folder(folder / "data", train=48, other=12)
    return folder


@pytest.fixture(scope="module")
def finished(home: Path) -> Path:
    """A grid of two cells, run once with a ledger."""
    file = grid_file(home, home, printed=REPORTED, source="a paper", measure={"figures": ["fgm"]})
    code, out, error = run(file, "--output", home / "out", "--ledger", home / "results", "--workers", 0, "--quiet")
    assert code == 0, error
    assert "2 cells: 2 done" in out
    return file


def files(home: Path) -> list[Path]:
    return sorted((home / "results" / "grid").glob("*.json"))


def test_a_finished_cell_is_in_the_ledger_with_what_the_paper_reported(finished: Path, home: Path) -> None:
    vanilla, rdrop = (read(path) for path in sorted(files(home), key=lambda path: "rdrop" in path.name))
    assert [(one.metric, one.value, one.sd) for one in vanilla.reported] == [("accuracy", 90.0, 0.5)]
    assert (vanilla.source, rdrop.source, rdrop.reported) == ("a paper", "", ())
    assert vanilla.study == "grid"
    few = [doubt for doubt in vanilla.unreliable if "chance" not in doubt]  # 12 rows may be at chance, or not
    assert few == ["few rows: 12 for accuracy", "few rows: 12 for fgm"]
    assert vanilla.result.cell is not None
    assert vanilla.result.cell.method == "vanilla"
    text = "".join(path.read_text() for path in (home / "results" / "grid").iterdir())
    assert str(home) not in text


def test_a_committed_cell_is_done_without_its_folder(finished: Path, home: Path, tmp_path: Path) -> None:
    code, out, _ = run(finished, "--output", tmp_path / "out", "--ledger", home / "results", "--json")
    assert code == 0
    rows = json.loads(out)["cells"]
    assert {row["state"] for row in rows} == {"done"}
    assert all(row["score"].startswith("test accuracy") and row["seconds"] > 0 for row in rows)
    assert journal(tmp_path / "out") == []


def test_what_a_ledger_lacks_is_added_from_a_finished_folder(finished: Path, home: Path, tmp_path: Path) -> None:
    code, _, error = run(finished, "--output", home / "out", "--ledger", tmp_path, "--workers", 0, "--quiet")
    assert code == 0, error
    assert [path.name for path in sorted((tmp_path / "grid").glob("*.json"))] == [path.name for path in files(home)]
    assert [entry["event"] for entry in journal(home / "out")].count("train") == 2


def cells(home: Path, folder: Path, **changes: Any) -> Any:
    return cells_of(read_grid(grid_file(folder, home, **changes)))


def test_other_settings_are_another_cell(finished: Path, home: Path, tmp_path: Path) -> None:
    study = home / "results" / "grid"
    assert len(committed(study, cells(home, tmp_path))) == 2
    other = {"training": {"epochs": 1, "batch_size": 8, "learning_rate": 0.02}}
    assert committed(study, cells(home, tmp_path, shared=other)) == {}
    assert committed(study, cells(home, tmp_path, seeds=[1])) == {}
    assert committed(study, cells(home, tmp_path, processes=2)) == {}
    search = {"trials": 1, "space": {"training.learning_rate": [0.01]}}
    assert committed(study, cells(home, tmp_path, search=search)) == {}


def test_an_option_that_is_new_must_have_its_default(finished: Path, home: Path, tmp_path: Path) -> None:
    """The cells' names have another hash then, since every option is part of it."""
    (vanilla,) = [cell for cell in cells(home, tmp_path) if cell.called["method"] == "vanilla"]
    (path,) = [path for path in files(home) if "vanilla" in path.name]
    stored = json.loads(path.read_text())
    for section, key in (("training", "clip"), ("model", "head"), ("method", "dropout")):
        del stored["result"]["config"][section][key]
    stored["cell"] = old = f"{path.stem[:-10]}0000000000"
    (tmp_path / f"{old}.json").write_text(json.dumps(stored))
    entry = read(tmp_path / f"{old}.json")
    assert is_same(vanilla, entry)
    training = {"epochs": 1, "batch_size": 8, "learning_rate": 0.01, "clip": 2.0}
    (other,) = [
        cell for cell in cells(home, tmp_path, shared={"training": training}) if cell.called["method"] == "vanilla"
    ]
    assert not is_same(other, entry)


def test_what_was_not_measured_runs_again(finished: Path, home: Path, tmp_path: Path) -> None:
    more = grid_file(tmp_path, home, methods=["vanilla"], measure={"figures": ["fgm"], "rows": 6})
    shutil.copytree(home / "results" / "grid", tmp_path / "results" / "grid")
    code, out, _ = run(more, "--output", tmp_path / "out", "--ledger", tmp_path / "results", "--dry-run", "--json")
    assert code == 0
    assert [row["state"] for row in json.loads(out)["cells"]] == ["missing"]


def test_a_damaged_file_is_named_and_its_cell_runs_again(finished: Path, home: Path, tmp_path: Path) -> None:
    study = tmp_path / "grid"
    shutil.copytree(home / "results" / "grid", study)
    damaged, whole = sorted(study.glob("*.json"))
    damaged.write_text(damaged.read_text()[:200])
    with pytest.warns(DataWarning, match=rf"not counted: .*{damaged.name} is not valid JSON"):
        found = committed(study, cells(home, tmp_path))
    assert list(found) == [whole.stem]


def test_a_folder_of_a_ledger_belongs_to_one_grid(finished: Path, home: Path, tmp_path: Path) -> None:
    other = grid_file(tmp_path, home, title="another")
    code, _, error = run(other, "--output", tmp_path / "out", "--ledger", home / "results")
    assert code == 2
    assert "choose another --ledger" in error


def test_the_grid_of_a_ledger_names_no_place(finished: Path, home: Path) -> None:
    stored = yaml.safe_load((home / "results" / "grid" / "grid.yaml").read_text())
    assert stored["printed"][0]["value"] == 90.0
    assert stored["models"] == [{"name": "model", "label": "tiny"}]


def test_a_run_of_another_study_is_taken_from_there(finished: Path, home: Path, tmp_path: Path) -> None:
    """With this study's names, and without what it does not measure."""
    shutil.copytree(home / "results" / "grid", tmp_path / "results" / "first")
    methods = [{"name": "vanilla", "label": "plain"}]
    file = grid_file(tmp_path, home, methods=methods)
    out = tmp_path / "out"
    code, _, error = run(file, "--output", out, "--ledger", tmp_path / "results", "--workers", 0, "--quiet")
    assert code == 0, error
    assert journal(out) == []
    (taken,) = [read(path) for path in (tmp_path / "results" / "grid").glob("*.json")]
    (first,) = [read(path) for path in (tmp_path / "results" / "first").glob("*vanilla*.json")]
    assert (taken.study, taken.cell, taken.reported) == ("grid", first.cell, ())
    assert taken.result.cell is not None
    assert (taken.result.cell.method, taken.result.cell.measured) == ("plain", {})
    task, known = (next(iter(one.result.tasks.values())) for one in (taken, first))
    assert known.evaluation is not None
    assert (task.evaluation, task.scores) == (None, known.scores)


def test_a_run_of_another_study_that_lacks_a_measurement_runs_again(finished: Path, home: Path, tmp_path: Path) -> None:
    shutil.copytree(home / "results" / "grid", tmp_path / "results" / "first")
    file = grid_file(tmp_path, home, methods=["vanilla"], measure={"figures": ["fgm"], "rows": 6})
    plan = ["--output", tmp_path / "out", "--ledger", tmp_path / "results", "--dry-run", "--json"]
    code, out, _ = run(file, *plan)
    assert code == 0
    assert [row["state"] for row in json.loads(out)["cells"]] == ["missing"]
    damaged = next((tmp_path / "results" / "first").glob("*vanilla*.json"))
    damaged.write_text(damaged.read_text()[:200])
    grid_file(tmp_path, home, methods=["vanilla"], measure={"figures": ["fgm"]})
    code, out, _ = run(file, *plan)
    assert [row["state"] for row in json.loads(out)["cells"]] == ["missing"]
