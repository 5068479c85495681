"""What the terminal shows of one run and of several."""

import io
import math

from rich.console import Console

from tests.report.synthetic_runs import evaluation, result, share
from uegr.report.terminal import comparison, main_figures, percent, show_classes, show_figures, show_scores
from uegr.statistics import Figure
from uegr.statistics.classes import classes


def shown(table):
    console = Console(width=120, file=io.StringIO())
    console.print(table)
    return [" ".join(line.split()) for line in console.file.getvalue().splitlines()]


def test_figures_are_named_for_people_and_are_a_choice():
    names = [entry.quantity.label for entry in main_figures(evaluation("imdb", "vanilla", 0))]
    assert names[:2] == ["accuracy, test", "accuracy, fgm within 0.01"]
    assert {"accuracy, imdb_tweets", "calibration error (ECE)", "AUROC, 20newsgroups"} <= set(names)
    assert not {"mean drop in accuracy, fgm", "Brier score", "FPR95, 20newsgroups"} & set(names)


def test_a_share_has_its_interval_where_it_is_known():
    assert percent(Figure(math.nan, 0.0, 1.0, 0)) == "-"
    assert percent(Figure(0.8, math.nan, math.nan, 10)) == "80.0"


def test_a_figure_that_one_run_lacks_has_a_dash():
    small = evaluation("imdb", "vanilla", 0).model_copy(update={"calibration": None, "clean": {"accuracy": share(0.5)}})
    lines = shown(comparison({"small": small, "whole": evaluation("imdb", "uegr", 0)}))
    assert lines[0] == "percent (95% interval) small whole rows"
    assert lines[1].startswith("accuracy, test 50.0 (46.9-53.1) ")
    assert any(line.startswith("calibration error (ECE) - ") for line in lines)


def test_every_task_has_its_table_and_its_scores(capsys, tmp_path):
    run = result("cola,rte", "vanilla", 0)
    show_figures({name: task.evaluation for name, task in run.tasks.items()})
    output = capsys.readouterr().out
    assert output.count("percent (95% interval)") == 2
    assert output.index("cola") < output.index("rte")
    show_scores(run, tmp_path)
    lines = capsys.readouterr().out.splitlines()
    value = run.tasks["rte"].scores["test"]["accuracy"].value
    assert lines[3].split() == ["rte", "test", "accuracy", f"{value:.4f}", "(1,000", "rows)"]
    assert lines[-1].split()[:3] == ["run", "in", str(tmp_path)]


def test_labels_that_differ_by_a_space_look_different(capsys):
    show_classes(("test", classes([0, 1, 0, 1], [0, 1, 1, 0], ("happy", "happy "))))
    lines = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()]
    assert lines[1:3] == ["happy", "'happy '"]
