"""What is one setting, what it is compared with, and where each task of a run appears."""

from pathlib import Path

import pytest

from tests.report.synthetic_runs import groups_of, result, share, with_evaluation
from uegr.report.cost import cost_of
from uegr.report.groups import Group, grouped
from uegr.report.provenance import summary
from uegr.report.reading import Grid, Run
from uegr.report.tables import column_view, explained, leaderboard, view
from uegr.report.verdict import verdict
from uegr.result import Cell, Curve, Point, Search
from uegr.statistics import proportion, relative_improvement


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
    search = Search(chosen={"method.epsilon": 0.1}, score=0.9, split="validation", asked={}, trials=[])
    searched = [run.model_copy(update={"search": search}) for run in runs]
    assert [group.seeds for group in groups_of(*searched)] == [[0, 1]]


def test_the_cells_that_seeds_start_from_do_not_split_them_and_vanilla_stays_the_baseline():
    runs = [result("rte", "vanilla", seed) for seed in (0, 1)]
    for seed in (0, 1):
        run = result("rte", "rat", seed)
        training = run.config.training | {"start_from": f"../mnli-rat-{seed}"}
        cell = Cell(dataset="rte", model="minilm", method="rat", seed=seed, start="mnli")
        config = run.config.model_copy(update={"training": training})
        runs.append(run.model_copy(update={"config": config, "cell": cell}))
    vanilla, rat = groups_of(*runs)
    assert (rat.label, rat.seeds) == ("rat (start from mnli)", [0, 1])
    assert rat.baseline is vanilla


def test_the_baseline_has_the_same_rows_and_if_it_can_the_same_training():
    sizes = [result("imdb", method, 0, train_size=size) for method in ("vanilla", "uegr") for size in (100, 500)]
    for group in groups_of(*sizes):
        if group.method == "uegr":
            assert group.baseline.options == group.options
    other = result("imdb", "uegr", 0, epochs=9.0)
    assert groups_of(result("imdb", "vanilla", 0), other)[1].baseline is not None
    slow, fast = (result("imdb", "vanilla", 0, epochs=epochs) for epochs in (3.0, 1.0))
    assert groups_of(slow, fast, other)[2].baseline is None  # which of the two would be a guess


def ablation(order, baseline=None):
    """Two vanilla rows, as in UEGR's table IV, found in some order."""
    settings = {"w/o": {"dropout": 0.0}, "own": {"dropout": None}}
    grid = Grid(Path("t4"), "table IV", baseline=baseline or {})
    runs = [result("imdb", "vanilla", 0, **settings[name]) for name in order] + [result("imdb", "rat", 0)]
    return grouped([Run(str(place), run, grids=(grid,)) for place, run in enumerate(runs)])


def test_of_two_vanilla_rows_the_baseline_does_not_depend_on_the_order_and_is_shown():
    for order in (("w/o", "own"), ("own", "w/o")):
        groups = ablation(order)
        (rat,) = (group for group in groups if group.method == "rat")
        assert rat.baseline.label == "vanilla (dropout default)"
        assert leaderboard(groups).baselines == ["vanilla (dropout default)"]
        assert "to vanilla (dropout default)" in explained(rat.columns["own"])


def test_another_training_is_compared_with_the_vanilla_row_of_the_same_options():
    """Beside "dropout 0" and its own, vanilla with the passes of uegr had no mark, no gain and no cost."""
    grid = Grid(Path("t4"), "table IV", baseline={"method": "vanilla"})
    cell = Cell(dataset="imdb", model="minilm", method="vanilla, passes of uegr", seed=0)
    longer = result("imdb", "vanilla", 0, epochs=9.0).model_copy(update={"cell": cell})
    longer = longer.model_copy(update={"training": longer.training.model_copy(update={"steps": 3375})})
    runs = [result("imdb", "vanilla", 0, dropout=dropout) for dropout in (0.0, None)]
    found = grouped([Run(str(place), run, grids=(grid,)) for place, run in enumerate([*runs, longer])])
    groups = {group.label: group for group in found}
    own = groups["vanilla, passes of uegr"]
    assert own.baseline is groups["vanilla (dropout default)"]
    assert own.columns["own"].difference is not None
    assert cost_of(own).passes == pytest.approx(3.0)
    assert "to compare with" not in verdict(found).sentence


def test_which_of_several_vanilla_trainings_is_meant_is_not_guessed():
    """The page said that there was no vanilla run on the same rows."""
    slow, fast = (result("imdb", "vanilla", 0, epochs=epochs) for epochs in (3.0, 1.0))
    found = groups_of(slow, fast, result("imdb", "uegr", 0, epochs=9.0), result("yelp", "fgm", 0))
    told = verdict(found).sentence
    assert " 1 setting has several vanilla settings on the same rows, none of them trained alike." in told
    assert " 1 setting has no vanilla run on the same rows to compare with." in told
    (uegr,) = [group for group in found if group.method == "uegr"]
    assert cost_of(uegr).passes == pytest.approx(3.2)  # both took as many steps


def test_a_grid_names_the_baseline_and_the_other_vanilla_row_is_compared_with_it():
    groups = {group.label: group for group in ablation(("w/o", "own"), {"method": "vanilla", "method.dropout": 0.0})}
    assert groups["rat"].baseline is groups["vanilla (dropout 0)"]
    assert groups["vanilla (dropout default)"].baseline is groups["vanilla (dropout 0)"]
    assert groups["vanilla (dropout 0)"].baseline is None


def test_files_are_called_by_their_last_part_unless_two_would_be_the_same():
    near, far, hub = "/home/me/reviews.csv", "/data/reviews.csv", "owner/reviews"
    assert groups_of(result(near, "vanilla", 0))[0].dataset == "reviews.csv"
    both = [result(name, "vanilla", 0) for name in (near, far, hub)]
    assert {group.dataset for group in groups_of(*both)} == {near, far, hub}


def test_every_task_of_a_run_is_a_row_of_its_own_data_set():
    runs = [result("cola,rte", method, seed, model="mtdnn") for method in ("vanilla", "uegr") for seed in (0, 1)]
    found = groups_of(*runs, result("cola", "vanilla", 0))
    assert [(group.block, group.method) for group in found] == [
        (("cola", "minilm"), "vanilla"),
        (("cola", "mtdnn"), "vanilla"),
        (("cola", "mtdnn"), "uegr"),
        (("rte", "mtdnn"), "vanilla"),
        (("rte", "mtdnn"), "uegr"),
    ]
    rte = found[4]
    assert rte.baseline is found[3]
    assert rte.columns["own"].figures[1] == runs[3].tasks["rte"].scores["test"]["accuracy"]
    assert rte.columns["own"].difference is not None
    assert summary(found) == "5 runs, 2 methods, 2 data sets, 2 models; 1 to 2 seeds per setting."


def test_the_same_task_beside_other_tasks_is_another_setting():
    runs = [result(names, "vanilla", 0, model="mtdnn") for names in ("cola,rte", "cola,rte,sst2")]
    labels = [group.label for group in groups_of(*runs) if group.dataset == "cola"]
    assert labels == ["vanilla (trained on cola,rte)", "vanilla (trained on cola,rte,sst2)"]
    alone = groups_of(*runs, result("cola,rte", "uegr", 0, model="mtdnn"))
    (uegr,) = (group for group in alone if group.method == "uegr" and group.dataset == "cola")
    assert uegr.baseline.settings == "trained on cola,rte"


def test_the_improvement_is_that_of_the_statistics_seed_by_seed():
    runs = [result("imdb", method, seed) for method in ("vanilla", "uegr") for seed in (0, 1)]
    cell = groups_of(*runs)[1].columns["improvement"]
    ours, base = (runs[place].tasks["imdb"].evaluation.perspectives for place in (3, 1))
    assert cell.figures[1].value == pytest.approx(relative_improvement(ours, base).value / 100)
    assert set(cell.figures) == {0, 1}
    assert groups_of(*runs[:3])[1].columns["improvement"].figures.keys() == {0}


def improved(*gains: float, marked: bool = True) -> Group:
    """UEGR whose perspectives are this much better than vanilla's, one gain per seed."""
    runs = []
    for seed, gain in enumerate(gains):
        for method, more in (("vanilla", 0.0), ("uegr", gain)):
            shown = more if marked else 0.0
            run = with_evaluation(
                result("imdb", method, seed),
                perspectives={"in_distribution": 0.8 + more, "calibration": 0.03 - more / 10},
                clean={"accuracy": share(0.8 + shown)},
                calibration=None,
                shift={},
                adversarial={},
                anomaly={},
            )
            runs.append(run.with_task("imdb", scores={}, attacks={}))
    return groups_of(*runs)[1]


def test_a_gap_is_closed_only_where_that_is_shown():
    """A page printed "Gap closed -21.3" of one seed, in which no figure differed by more than chance explains."""
    one = column_view(improved(-0.05).columns["improvement"])
    assert (one.text, one.spread, one.mark, one.value) == ("not shown", "", "", None)
    assert "−" in one.title
    assert "1 seed" in one.title
    clear = column_view(improved(0.1, 0.11, 0.09).columns["improvement"])
    assert clear.text == "41.7"
    assert clear.mark == "▲"
    low, high = map(float, clear.spread.split("–"))
    assert 0 < low < 41.7 < high
    assert column_view(improved(0.1, -0.1, 0.05).columns["improvement"]).text == "not shown"
    assert column_view(improved(-0.1, -0.11, -0.09).columns["improvement"]).mark == "▼"


def test_a_gap_of_perspectives_that_are_not_shown_to_differ_is_not_shown():
    """Seeds agree because they share the test rows: a column of its own must say that the rows show it too."""
    cell = improved(0.1, 0.11, 0.09, marked=False).columns["improvement"]
    assert cell.figure.low > 0
    assert column_view(cell).text == "not shown"


def test_beside_what_a_paper_printed_the_gap_is_the_measured_one():
    assert view(improved(-0.05).columns["improvement"]).text == "−20.8"


def test_a_hundred_rows_do_not_make_a_method_worse():
    """A page said "-5.3 points, worse, p < 0.05" of 100 rows, beside scores on 1,000 rows that differ by 0.5."""
    runs = []
    for method, own, small in (("vanilla", (860, 866, 862), (86, 86, 85)), ("uegr", (856, 861, 856), (81, 80, 80))):
        for seed, (hits, few) in enumerate(zip(own, small, strict=True)):
            run = result("imdb", method, seed).with_task("imdb", scores={"test": {"accuracy": proportion(hits, 1000)}})
            curve = Curve(points=[Point(epsilon=0.1, accuracy=proportion(few, 100))], mean_drop=share(0.1, 100))
            clean = {"accuracy": proportion(few, 100)}
            runs.append(with_evaluation(run, clean=clean, perturbation={"fgm": curve}))
    own, fgm = (groups_of(*runs)[1].columns[key] for key in ("own", "fgm"))
    assert (own.rows, own.difference.value) == (1000, pytest.approx(-0.005))
    assert fgm.rows == 100  # all there is
    assert fgm.difference.value == pytest.approx(-0.0533, abs=1e-4)
    assert (own.mark, fgm.mark) == ("", "")
