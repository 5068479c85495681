"""`uegr compare`: what reaches the terminal (tests/runs/test_compare.py has what is measured)."""

import io
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tiny_run import write_csv
from uegr.cli.compare import sentence, table_of
from uegr.console import Console
from uegr.statistics import Figure
from uegr.statistics.pairs import paired_shares, separate

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def same(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the finished run."""
    return Path(shutil.copytree(finished, tmp_path_factory.mktemp("copy") / "same"))


def test_a_run_and_its_copy_do_not_differ(uegr: Command, finished: Path, same: Path) -> None:
    code, out, error = uegr("compare", finished, same)
    assert code == 0, error
    assert "24 rows, the same for both" in out
    assert out.splitlines()[-1] == "no difference shown. Two runs only: another seed may give another result."
    assert "3 forward and 3 backward passes" in out
    assert re.search(r"\d s of processor time, \d+ s of wall time", out)


def test_one_row_is_one_row(uegr: Command, finished: Path, same: Path) -> None:
    file = write_csv(same.parent / "one.csv", [("a fine film", "good")])
    code, out, error = uegr("compare", finished, same, "--dataset", file)
    assert code == 0, error
    assert "one: 1 row, the same for both" in out


def test_a_difference_without_an_interval_says_why(uegr: Command, finished: Path, same: Path) -> None:
    code, out, error = uegr("compare", finished, same, "--rows", 5)
    assert code == 0, error
    assert "+0.0 (no interval)" in out
    assert "no interval: every draw of these rows gives the same difference; more rows may tell" in out


def test_settings_that_differ_besides_the_method_are_told(uegr: Command, finished: Path, same: Path) -> None:
    assert "differs" not in uegr("compare", finished, same)[1]
    other = same.parent / "longer"
    shutil.copytree(same, other)
    file = other / "result.json"
    content = json.loads(file.read_text())
    content["config"]["training"]["epochs"] = 7.0
    content["config"]["method"]["epsilon"] = 0.7
    file.write_text(json.dumps(content))
    code, out, error = uegr("compare", finished, other)
    assert code == 0, error
    (line,) = [line for line in out.splitlines() if line.startswith("not only the method differs: ")]
    assert line.endswith(" and 7")
    assert "epsilon" not in line


def test_no_name_is_cut_at_80_columns(uegr: Command, finished: Path, same: Path) -> None:
    long = same.parent / "a-name-of-a-run-that-is-longer-than-its-column"
    shutil.copytree(same, long)
    lines = uegr("compare", finished, long)[1].splitlines()
    table = [line for line in lines if not line.startswith((str(finished), str(long), "left out"))]
    assert not any("…" in line for line in table)
    assert any(long.name[:8] in line for line in table)


def test_no_column_is_cut_at_80_columns() -> None:
    some = paired_shares("accuracy, snippets_editorials", [True] * 12_000, [False] * 12_000)
    weights = 17_389_824
    wide = separate("norm of the input gradient", Figure(3.6, 3, 4, weights), Figure(1.7, 1, 2, weights), share=False)
    console = Console(width=80, file=io.StringIO())
    console.print(table_of("title", [some, wide], ("vanilla-of-old", "a-rather-long-name-for-a-run")))
    lines = [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]
    assert [line.rsplit(maxsplit=1)[-1] for line in lines if "(" in line] == ["n", "12,000", "17.4M"]
    assert any("snippets_editorials" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_p_is_said_to_be_adjusted(uegr: Command, finished: Path, same: Path) -> None:
    out = uegr("compare", finished, same)[1]
    assert "p: after Holm's adjustment for " in out


def test_json_has_every_measure(uegr: Command, finished: Path, same: Path) -> None:
    code, out, _ = uegr("compare", finished, same, "--json")
    found = json.loads(out)
    accuracy = next(one for one in found["measures"] if one["measure"] == "accuracy")
    assert code == 0
    assert (accuracy["difference"]["value"], accuracy["p"], accuracy["better"]) == (0.0, 1.0, None)


def test_flags_of_files_need_a_data_set(uegr: Command, finished: Path, same: Path) -> None:
    code, _, error = uegr("compare", finished, same, "--delimiter", ";")
    assert (code, error) == (2, "--delimiter are for the files of --dataset; add it, or leave them out")


def test_the_sentence_names_what_is_shown() -> None:
    better = paired_shares("accuracy", [False] * 20 + [True] * 5, [True] * 25)
    worse = separate("calibration error", Figure(0.1, 0.09, 0.11, 900), Figure(0.3, 0.29, 0.31, 900), better=-1)
    found = sentence([better, worse], "runs/a", "runs/b")
    assert found.startswith("runs/a is better: calibration error; runs/b is better: accuracy.")
