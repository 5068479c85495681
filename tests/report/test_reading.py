"""Which folders are runs, what is left out and why."""

import json
import os

import pytest

from tests.report.synthetic_runs import result, with_evaluation, write_run, write_set
from uegr.errors import InputError
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
    with pytest.raises(InputError, match=r"expected folders of runs, got .*nowhere: no such folder"):
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


def test_a_cell_alone_knows_its_grid_and_a_broken_grid_is_listed(tmp_path):
    write_run(tmp_path / "cells" / "x", result("imdb", "vanilla", 0))
    (tmp_path / "grid.yaml").write_text("title: T\n")
    assert collect([tmp_path / "cells" / "x"]).runs[0].grids[0].title == "T"
    (tmp_path / "grid.yaml").write_text("title: [")
    found = collect([tmp_path])
    assert (len(found.runs), found.runs[0].grids, found.left[0].state) == (1, (), "unreadable")
