"""Every figure of a task, with its rows and interval."""

import math
from collections import defaultdict

from tests.report.synthetic_runs import groups_of, result, share, task, with_evaluation
from uegr.report.columns import columns_of
from uegr.report.figures import figures_of
from uegr.report.reading import Run, tasks_of
from uegr.report.tables import explained
from uegr.statistics import Figure


def test_every_figure_of_a_task_is_found_with_rows_and_interval():
    found = figures_of(task("imdb", "vanilla", 0))
    kinds = defaultdict(list)
    for key, entry in found.items():
        kinds[key.split("/")[0]].append(entry)
    measured = {"clean", "perturbation", "shift", "adversarial", "anomaly", "calibration", "landscape", "drift"}
    assert set(kinds) == {*measured, "attack"}
    assert len(kinds["perturbation"]) == 2 * 7  # six radii and the mean drop, of two attacks
    assert [entry.quantity.label for entry in kinds["clean"]] == ["accuracy, test", "accuracy, validation"]
    assert all(entry.figure.n for entry in found.values())
    assert found["attack/pwws on imdb/accuracy_after"].figure.bounded


def test_a_figure_rests_on_the_largest_set_of_rows_that_there_is():
    small = with_evaluation(result("imdb", "vanilla", 0), clean={"accuracy": share(0.5, 100)})
    found = figures_of(small.tasks["imdb"])["clean/test/accuracy"]
    assert (found.figure.n, found.figure) == (1000, small.tasks["imdb"].scores["test"]["accuracy"])
    large = with_evaluation(result("imdb", "vanilla", 0), clean={"accuracy": share(0.5, 5000)})
    assert figures_of(large.tasks["imdb"])["clean/test/accuracy"].figure.n == 5000


def test_a_run_without_evaluation_has_the_scores_of_its_training():
    bare = result("imdb", "vanilla", 0).with_task("imdb", evaluation=None, attacks={})
    (run,) = tasks_of([Run("a", bare)])
    own = columns_of(run)["own"]
    assert own.quantity.label == "accuracy, test"
    assert own.figure.bounded


def test_numbers_that_are_not_finite_are_left_out():
    unknown = Figure(math.nan, math.nan, math.nan, 0)
    run = with_evaluation(result("imdb", "vanilla", 0), clean={"accuracy": share(0.9), "f1": unknown})
    run = run.with_task("imdb", scores={"validation": {"accuracy": unknown}})
    assert not {"clean/test/f1", "clean/validation/accuracy"} & set(figures_of(run.tasks["imdb"]))


def test_of_the_same_attack_on_the_same_data_the_larger_one_is_in_the_column():
    run = result("imdb", "vanilla", 0)
    first = run.tasks["imdb"].attacks["pwws on imdb"]
    more = first.model_copy(update={"examples": 400, "accuracy_after": share(0.1, 400)})
    elsewhere = first.model_copy(update={"data": "yelp", "accuracy_after": share(0.5, 200)})
    run = run.with_task("imdb", attacks={"a": first, "b": more, "c": elsewhere})
    (part,) = tasks_of([Run("a", run)])
    assert columns_of(part)["attack pwws"].figure.value == (0.1 + 0.5) / 2


def chosen(run, metric):
    """The run with a score of macro F1, and this metric as the one that it was told to use."""
    scores = {"test": {"accuracy": share(0.97), "macro_f1": share(0.5)}}
    config = run.config.model_copy(update={"training": run.config.training | ({"metric": metric} if metric else {})})
    return run.with_task("imdb", scores=scores, evaluation=None).model_copy(update={"config": config})


def test_the_metric_that_all_runs_were_told_to_use_is_their_own_figure_and_never_one_beside_another():
    runs = [result("imdb", method, 0) for method in ("vanilla", "fgm")]
    same = groups_of(*(chosen(run, "macro_f1") for run in runs))
    assert [group.columns["own"].quantity.metric for group in same] == ["macro_f1"] * 2
    mixed = groups_of(chosen(runs[0], None), chosen(runs[1], "macro_f1"))
    assert [group.columns["own"].quantity.metric for group in mixed] == ["accuracy"] * 2
    assert [group.columns["own"].mean for group in mixed] == [0.97] * 2


def test_a_distance_of_weights_rests_on_no_rows():
    """A page said that it rests on 17,389,824 rows."""
    (group,) = groups_of(result("imdb", "uegr", 0))
    cell = group.cells["drift/weight_distance"]
    assert (cell.figure.n, cell.rows) == (100, 0)
    assert "rows" not in explained(cell)
