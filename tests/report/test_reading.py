"""Which folders are runs, what is left out and why, and what is one setting."""

import json
import os

import pytest

from tests.report.synthetic_runs import config, result, write_run, write_set
from uegr.errors import InputError
from uegr.report.groups import grouped
from uegr.report.reading import as_run, collect


def groups_of(*results):
    return grouped([as_run(str(place), one) for place, one in enumerate(results)])


def test_runs_are_found_at_any_depth_and_once(tmp_path):
    write_run(tmp_path / "a" / "deep" / "run", result("imdb", "vanilla", 0))
    write_run(tmp_path / "b", result("imdb", "vanilla", 1))
    (tmp_path / "b" / "inside" / "other").mkdir(parents=True)
    (tmp_path / "b" / "inside" / "other" / "result.json").write_text("{}")  # a run's own folders are not searched
    (tmp_path / ".search" / "trial").mkdir(parents=True)
    (tmp_path / ".search" / "trial" / "result.json").write_text(json.dumps(result("imdb", "vanilla", 7)))
    found = collect([tmp_path, tmp_path / "a", tmp_path / "b"])
    assert [run.name for run in found.runs] == [os.path.join("a", "deep", "run"), "b"]
    assert found.left == []
    assert collect([tmp_path / "b"]).runs[0].name == "b"


def test_what_is_unfinished_failed_or_broken_is_listed_with_the_reason(tmp_path):
    write_set(tmp_path, seeds=1)
    cell = tmp_path / "table5" / "cells" / "failed-cell"
    cell.mkdir()
    (cell / "failure.json").write_text(json.dumps({"error": "out of\nmemory"}))
    for name, text in {
        "list": "[]",
        "null": "null",
        "no": '{"config": {}}',
        "name": '{"config": {"method": 3}}',
    }.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").write_text(text)
    strange = result("imdb", "vanilla", 0) | {"evaluation": {"split": "test", "clean": 7}}
    write_run(tmp_path / "strange", strange)
    other = tmp_path / "another tool"
    other.mkdir()
    (other / "config.yaml").write_text("learning_rate: 1\n")
    left = {one.folder: (one.state, one.reason) for one in collect([tmp_path]).left}
    assert left[os.path.join("table5", "cells", "failed-cell")] == ("failed", "out of memory")
    assert left[os.path.join("main", "snippets-minilm-sam-0")][0] == "unfinished"
    broken = {name for name, (state, _) in left.items() if state == "broken"}
    assert broken == {os.path.join("main", "broken"), "list", "null", "no", "name", "strange"}
    assert "the key 'method' is missing" in left["no"][1]
    assert "another tool" not in left


def test_a_path_that_is_no_folder_is_a_mistake(tmp_path):
    with pytest.raises(InputError, match=r"expected folders of runs, got .*nowhere"):
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


def test_seeds_are_one_setting_and_options_that_differ_are_several():
    runs = [result("imdb", "uegr", seed, submodels=count) for seed in (0, 1, 2) for count in (3, 2)]
    found = groups_of(*runs, result("imdb", "vanilla", 0))
    assert [(group.label, group.seeds) for group in found] == [
        ("vanilla", [0]),
        ("uegr (submodels 2)", [0, 1, 2]),
        ("uegr (submodels 3)", [0, 1, 2]),
    ]


def test_what_a_search_chose_does_not_split_seeds():
    runs = [result("imdb", "uegr", seed, epsilon=0.1 * (seed + 1)) for seed in (0, 1)]
    assert len(groups_of(*runs)) == 2
    searched = [run | {"search": {"chosen": {"method.epsilon": 0.1}}} for run in runs]
    assert [group.seeds for group in groups_of(*searched)] == [[0, 1]]


def test_the_baseline_has_the_same_rows_and_if_it_can_the_same_training():
    sizes = [result("imdb", method, 0, train_size=size) for method in ("vanilla", "uegr") for size in (100, 500)]
    for group in groups_of(*sizes):
        if group.method == "uegr":
            assert group.baseline.options == group.options
    other = result("imdb", "uegr", 0)
    other["config"]["training"]["epochs"] = 9.0
    assert groups_of(result("imdb", "vanilla", 0), other)[1].baseline is not None
    slow, fast = (result("imdb", "vanilla", 0) for _ in range(2))
    fast["config"]["training"]["epochs"] = 1.0
    assert groups_of(slow, fast, other)[2].baseline is None  # which of the two would be a guess


def test_files_are_called_by_their_last_part_unless_two_would_be_the_same():
    near, far, hub = "/home/me/reviews.csv", "/data/reviews.csv", "owner/reviews"
    assert groups_of({**result("x", "vanilla", 0), "config": config(near, "vanilla", 0)})[0].dataset == "reviews.csv"
    both = [{**result("x", "vanilla", 0), "config": config(name, "vanilla", 0)} for name in (near, far, hub)]
    assert {group.dataset for group in groups_of(*both)} == {near, far, hub}
