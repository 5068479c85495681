"""Markdown, CSV, printed figures, watching, and the command."""

import csv
import io
import os

import pytest
import typer
from typer.testing import CliRunner

from tests.report.synthetic_runs import result, write_run, write_set
from uegr.cli import report as commands
from uegr.errors import InputError
from uegr.report import build
from uegr.report.export import markdown, tidy_csv
from uegr.report.groups import grouped
from uegr.report.printed import comparisons
from uegr.report.reading import Grid, Run, collect, tasks_of
from uegr.report.watch import stamp, watch
from uegr.result import Cell

app = typer.Typer()
app.command()(commands.report)


@pytest.fixture(scope="module")
def top(tmp_path_factory):
    return write_set(tmp_path_factory.mktemp("set"), seeds=2)


def test_csv_has_a_row_per_figure_and_reads_back(top):
    found = collect([top / "main"])
    rows = list(csv.DictReader(io.StringIO(tidy_csv(grouped(found.runs)))))
    assert len(rows) == sum(len(run.figures) for run in tasks_of(found.runs))
    one = next(row for row in rows if row["run"] == "imdb-minilm-uegr-1" and row["figure"] == "clean/test/accuracy")
    stored = result("imdb", "uegr", 1).tasks["imdb"].scores["test"]["accuracy"]
    assert [float(one[key]) for key in ("value", "low", "high")] == [stored.value, stored.low, stored.high]
    assert {row["low"] for row in rows if row["figure"] == "drift/weight_distance"} == {""}  # not "nan"
    assert (one["n"], one["seed"], one["method"]) == ("1000", "1", "uegr")


def test_markdown_has_the_tables_and_escapes_names(top):
    found = collect([top])
    text = markdown(found, grouped(found.runs))
    assert "| method | Clean | Shift |" in text
    assert "Measured beside printed: Table V" in text
    runs = [Run("x", result("a|b<script>\n# c", "vanilla", 0))]
    line = next(line for line in markdown(collect([top / "sizes"]), grouped(runs)).splitlines() if "a\\|b" in line)
    assert line == "# vanilla on a\\|b&lt;script&gt; # c"


def test_printed_figures_find_their_setting_by_path_by_word_or_by_what_it_stands_for(tmp_path):
    entry = {"method": "uegr", "model": "bert", "dataset": "imdb", "metric": "accuracy", "value": 91.0}
    printed = (
        entry | {"method.submodels": 3},
        entry | {"submodels": 2, "sd": 0.4},
        entry | {"submodels": 7},
        entry | {"submodels": 2, "model": "bert-large"},
        entry | {"submodels": 2, "metric": "shift/imdb_tweets/accuracy"},
        entry | {"submodels": 2, "metric": "relative_improvement"},
        entry | {"value": "no number"},
    )
    grid = Grid(tmp_path, "T", "", printed)
    two, three = (result("imdb", "uegr", 0, model="bert", submodels=count) for count in (2, 3))
    cell = Cell(dataset="imdb", model="bert", method="uegr", seed=0, stands_for={"model": "bert-large"})
    two = two.model_copy(update={"cell": cell})
    results = {"2": two, "3": three, "base": result("imdb", "vanilla", 0, model="bert")}
    runs = [Run(name, one, None, (grid,)) for name, one in results.items()]
    rows = comparisons([grid], grouped(runs))[0].rows
    assert [row.cell is not None for row in rows] == [True, True, False, True, True, True]
    assert rows[1].printed.text(rows[1].cell) == "91.0 ± 0.4"
    assert rows[2].answer == "not measured"
    assert rows[3].remark == "measured with bert in place of bert-large"
    own = three.tasks["imdb"].scores["test"]["accuracy"].value
    assert rows[0].gap == pytest.approx(own - 0.91)
    assert [row.cell.quantity.key for row in rows[4:]] == ["shift/imdb_tweets/accuracy", "improvement"]


def test_seeds_that_agree_to_the_last_digit_decide_nothing_about_a_printed_figure(tmp_path):
    entry = {"method": "uegr", "model": "minilm", "dataset": "imdb", "metric": "accuracy", "value": 91.0}
    grid = Grid(tmp_path, "T", "", (entry,))
    same = result("imdb", "uegr", 0).tasks
    runs = [result("imdb", "uegr", seed).model_copy(update={"tasks": same}) for seed in (0, 1)]
    table = comparisons([grid], grouped([Run(str(seed), run, None, (grid,)) for seed, run in enumerate(runs)]))[0]
    assert (table.rows[0].kind, table.rows[0].answer) == ("unknown", "no 95% interval over 2 seeds: cannot decide")
    assert "undecided: 1" in table.verdict


def test_a_stamp_changes_with_a_result_and_only_then(tmp_path):
    run = write_run(tmp_path / "a" / "b", result("imdb", "vanilla", 0), attacked=True)
    before = stamp([tmp_path])
    (run / "model.safetensors").write_text("x")
    assert stamp([tmp_path]) == before
    os.utime(run / "result.json", (1, 1))
    assert stamp([tmp_path]) != before


def test_watching_builds_once_and_after_each_change(tmp_path):
    write_run(tmp_path / "a", result("imdb", "vanilla", 0))
    assert watch(lambda: None, [tmp_path], 0.0, rounds=3) == 1
    built = []

    def build_again():
        built.append(len(collect([tmp_path]).runs))
        if len(built) < 3:
            write_run(tmp_path / f"later{len(built)}", result("imdb", "vanilla", len(built)))

    assert watch(build_again, [tmp_path], 0.0, rounds=5) == 3
    assert built == [1, 2, 3]


def test_the_command_writes_what_is_asked_for(top, tmp_path):
    files = {flag: tmp_path / f"out.{flag}" for flag in ("markdown", "csv")}
    flags = [text for flag, path in files.items() for text in (f"--{flag}", str(path))]
    page = tmp_path / "new" / "report.html"
    ended = CliRunner().invoke(app, [str(top / "main"), "-o", str(page), "--title", "My & title", *flags])
    assert ended.exit_code == 0, ended.output
    assert "36 runs, 2 not counted" in ended.output
    assert "<h1>My &amp; title</h1>" in page.read_text(encoding="utf-8")
    assert 'http-equiv="refresh"' not in page.read_text(encoding="utf-8")
    assert files["markdown"].read_text(encoding="utf-8").startswith("# My &amp; title\n")
    assert files["csv"].read_text(encoding="utf-8").startswith("run,dataset,")


def test_the_command_names_files_that_it_cannot_read(tmp_path):
    write_run(tmp_path / "good", result("imdb", "vanilla", 0))
    for number in range(7):
        (tmp_path / f"old{number}").mkdir()
        (tmp_path / f"old{number}" / "result.json").write_text("{}")
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "config.yaml").write_text("{}")
    output = CliRunner().invoke(app, [str(tmp_path), "-o", str(tmp_path / "report.html")]).output
    assert "old0: result.json: expected schema 1, got 'none'; train it again with this version" in output
    assert "old5" not in output
    assert "and 2 more that are not readable; the page names all" in output
    assert "begun" not in output


def test_nothing_but_files_that_cannot_be_read_is_an_error(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "result.json").write_text("{}")
    ended = CliRunner().invoke(app, [str(tmp_path), "-o", str(tmp_path / "report.html")])
    assert isinstance(ended.exception, InputError)
    assert "got 'none'; train it again" in str(ended.exception)


def test_watching_ends_with_a_page_that_does_not_reload(top, tmp_path, monkeypatch):
    page, seen = tmp_path / "report.html", []

    def interrupted(make, paths, seconds):
        seen.append('http-equiv="refresh"' in page.read_text(encoding="utf-8"))
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "watch", interrupted)
    assert CliRunner().invoke(app, [str(top / "sizes"), "-o", str(page), "--watch"]).exit_code == 0
    assert seen == [True]
    assert 'http-equiv="refresh"' not in page.read_text(encoding="utf-8")


def test_open_shows_the_page(top, tmp_path, monkeypatch):
    shown = []
    monkeypatch.setattr("webbrowser.open", shown.append)
    CliRunner().invoke(app, [str(top / "sizes"), "-o", str(tmp_path / "a b.html"), "--open"])
    assert shown == [(tmp_path / "a b.html").as_uri()]


def test_mistakes_are_said(tmp_path):
    ended = CliRunner().invoke(app, [str(tmp_path)])
    assert isinstance(ended.exception, InputError)
    assert "got none; train one with `uegr train`" in str(ended.exception)
    ended = CliRunner().invoke(app, [str(tmp_path), "-o", str(tmp_path)])
    assert "expected a file to write to" in str(ended.exception)
