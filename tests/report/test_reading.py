"""Which folders are runs, what is left out and why."""

import json
import os

import pytest

from tests.report.synthetic_runs import result, with_evaluation, write_run, write_set
from uegr.errors import InputError
from uegr.ledger.entries import entry, write
from uegr.report import export
from uegr.report.groups import grouped
from uegr.report.reading import collect


def test_runs_are_found_at_any_depth_and_once(tmp_path):
    write_run(tmp_path / "a" / "deep" / "run", result("imdb", "vanilla", 0))
    write_run(tmp_path / "b", result("imdb", "vanilla", 1))
    (tmp_path / "b" / "inside" / "other").mkdir(parents=True)
    (tmp_path / "b" / "inside" / "other" / "result.json").write_text("{}")  # a run's own folders are not searched
    (tmp_path / ".search" / "trial").mkdir(parents=True)
    (tmp_path / ".search" / "trial" / "result.json").write_text(result("imdb", "vanilla", 7).to_json())
    found = collect([tmp_path, tmp_path / "a", tmp_path / "b"])
    assert [run.name for run in found.runs] == [os.path.join("a", "deep", "run"), "b"]
    assert found.left == []
    assert collect([tmp_path / "b"]).runs[0].name == "b"


def test_what_is_unfinished_failed_or_broken_is_listed_with_the_reason(tmp_path):
    write_set(tmp_path, seeds=1)
    cell = tmp_path / "table5" / "cells" / "failed-cell"
    cell.mkdir()
    (cell / "failure.json").write_text(json.dumps({"error": "out of\nmemory"}))
    stored = json.loads(result("imdb", "vanilla", 0).to_json())
    wrong = json.loads(json.dumps(stored))
    wrong["tasks"]["imdb"]["rows"] = "many"
    no_schema = {key: value for key, value in stored.items() if key != "schema"}
    for name, content in {"list": [], "null": None, "old": no_schema, "wrong": wrong}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(json.dumps(content))
    write_run(tmp_path / "percent", with_evaluation(result("imdb", "vanilla", 0), perspectives={"shift": 88.0}))
    other = tmp_path / "another tool"
    other.mkdir()
    (other / "config.yaml").write_text("learning_rate: 1\n")
    left = {one.folder: (one.state, one.reason) for one in collect([tmp_path]).left}
    assert left[os.path.join("table5", "cells", "failed-cell")] == ("failed", "out of memory")
    assert left[os.path.join("main", "snippets-minilm-sam-0")][0] == "unfinished"
    broken = {name for name, (state, _) in left.items() if state == "broken"}
    assert broken == {os.path.join("main", "broken"), "list", "null", "old", "wrong", "percent"}
    assert left[os.path.join("main", "broken")][1].startswith("result.json is not valid JSON")
    assert left["old"][1] == "result.json: expected schema 1, got 'none'; train it again with this version"
    assert left["wrong"][1].startswith("result.json: tasks.imdb.rows: ")
    assert "divide percentages by 100" in left["percent"][1]
    assert "another tool" not in left


def test_a_path_that_is_no_folder_is_a_mistake(tmp_path):
    with pytest.raises(InputError, match=r"expected folders of runs or of a ledger, got .*nowhere: no such folder"):
        collect([tmp_path / "nowhere"])


def test_the_same_run_twice_counts_once_and_belongs_to_both_grids(tmp_path):
    for name in ("one", "two"):
        write_run(tmp_path / name / "cells" / "x", result("imdb", "vanilla", 0))
        (tmp_path / name / "grid.yaml").write_text(f"title: {name}\n")
    os.utime(tmp_path / "one" / "cells" / "x" / "result.json", (1, 1))
    found = collect([tmp_path])
    assert [run.name for run in found.runs] == [os.path.join("two", "cells", "x")]
    assert [grid.title for grid in found.runs[0].grids] == ["one", "two"]
    assert [one.state for one in found.left] == ["repeated"]


def test_of_the_same_run_twice_the_one_with_more_figures_counts(tmp_path):
    """A table that measures the clean score alone took attacks away from the study that had trained the same run."""
    full = result("imdb", "vanilla", 0)
    bare = full.model_copy(
        update={"tasks": {name: task.model_copy(update={"attacks": {}}) for name, task in full.tasks.items()}}
    )
    for study, made in {"a_study": full, "b_table": bare}.items():
        write(tmp_path / study, entry(study, "x", made))
        (tmp_path / study / "grid.yaml").write_text(json.dumps({"title": study}))
    found = collect([tmp_path])
    assert [run.name for run in found.runs] == [os.path.join("a_study", "x")]
    assert [grid.title for grid in found.runs[0].grids] == ["a_study", "b_table"]


def test_a_cell_alone_knows_its_grid_and_a_broken_grid_is_listed(tmp_path):
    write_run(tmp_path / "cells" / "x", result("imdb", "vanilla", 0))
    (tmp_path / "grid.yaml").write_text("title: T\n")
    assert collect([tmp_path / "cells" / "x"]).runs[0].grids[0].title == "T"
    (tmp_path / "grid.yaml").write_text("title: [")
    found = collect([tmp_path])
    assert (len(found.runs), found.runs[0].grids, found.left[0].state) == (1, (), "unreadable")


def ledger_of(top, study, names):
    """A study of a ledger with made-up results, and the same as runs."""
    for name, made in names.items():
        write_run(top / "runs" / study / "cells" / name, made)
        write(top / "results" / study, entry(study, name, made))
    for place in ("runs", "results"):
        (top / place / study / "grid.yaml").write_text(json.dumps({"title": "A study"}))


def some_results():
    return {f"{method}-{seed}": result("imdb", method, seed) for method in ("vanilla", "uegr") for seed in range(3)}


def test_a_ledger_gives_the_same_report_as_the_runs(tmp_path):
    ledger_of(tmp_path, "main", some_results())
    from_runs, from_ledger = (collect([tmp_path / place]) for place in ("runs", "results"))
    assert [run.name for run in from_ledger.runs] == [os.path.join("main", name) for name in sorted(some_results())]
    assert from_ledger.left == []
    pages = [export.markdown(found, grouped(found.runs)) for found in (from_runs, from_ledger)]
    assert pages[0] == pages[1]
    assert "A study" in pages[0]


def test_runs_and_a_ledger_together_count_a_run_once(tmp_path):
    ledger_of(tmp_path, "main", some_results())
    write(tmp_path / "results" / "main", entry("main", "uegr-3", result("imdb", "uegr", 3)))
    found = collect([tmp_path])
    assert len(found.runs) == 7
    assert {one.state for one in found.left} == {"repeated"}
    assert len(found.grids) == 1
    assert sum(run.folder is not None for run in found.runs) == 6  # the folder has more than the numbers


def test_what_is_damaged_or_not_of_a_ledger_is_named(tmp_path):
    ledger_of(tmp_path, "main", some_results())
    study = tmp_path / "results" / "main"
    (study / "notes.json").write_text("{}")
    (study / "uegr-0.json").write_text((study / "uegr-0.json").read_text()[:300])
    found = collect([tmp_path / "results"])
    assert len(found.runs) == 5
    reasons = {one.folder: one.reason for one in found.left}
    assert reasons[os.path.join("main", "notes.json")].startswith("notes.json: expected a file of the ledger")
    assert reasons[os.path.join("main", "uegr-0.json")].startswith("uegr-0.json is not valid JSON")
