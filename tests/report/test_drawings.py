"""What is drawn: the right numbers in the right places."""

import pytest

from tests.report.synthetic_runs import METHODS, groups_of, result, share, with_evaluation
from uegr.report import curves, drift, plots, sweeps
from uegr.report.page import leave_off
from uegr.result import Bin, Calibration, Config
from uegr.statistics import Figure


def looks(groups):
    return plots.styles([group.method for group in groups])


def test_vanilla_is_grey_and_uegr_has_the_accent():
    found = plots.styles(["fgm", "vanilla", "uegr", *(f"m{i}" for i in range(20))])
    assert (found["vanilla"].colour, found["uegr"].colour) == (plots.NEUTRAL, plots.ACCENT)
    assert len({(style.colour, style.dash, style.symbol) for style in found.values()}) == len(found)


def test_curves_are_means_over_seeds_with_their_deviation():
    runs = [result("imdb", "vanilla", seed) for seed in (0, 1, 2)]
    groups = groups_of(*runs)
    panel = curves.curves(groups, looks(groups), "pgd").panels[0]
    (trace,) = panel.traces
    values = [run.tasks["imdb"].evaluation.perturbation["pgd"].points[3].accuracy.value for run in runs]
    assert trace["y"][3] == pytest.approx(100 * sum(values) / 3)
    mean = sum(values) / 3
    deviation = (sum((value - mean) ** 2 for value in values) / 2) ** 0.5
    assert trace["error_y"]["array"][3] == pytest.approx(100 * deviation)
    assert panel.layout["xaxis"]["ticktext"] == ["0", "0.01", "0.05", "0.1", "0.25", "0.5", "1"]
    assert "one standard deviation" in curves.curves(groups, looks(groups), "pgd").caption
    single = groups_of(runs[0])
    assert "95% intervals over the rows" in curves.curves(single, looks(single), "pgd").caption


def test_cost_is_drawn_by_counted_passes_with_the_gain_and_its_interval():
    runs = [result("imdb", method, seed) for method in ("vanilla", "uegr") for seed in (0, 1)]
    groups = groups_of(*runs)
    section = drift.cost(groups, looks(groups))
    assert section.panels[0].traces[0]["x"] == [METHODS["uegr"][2]]
    assert (
        "3.20 times vanilla's passes, 3.20 times its processor time, +" in section.panels[0].traces[0]["hovertext"][0]
    )
    assert " to " in section.panels[0].traces[0]["hovertext"][0]
    assert (section.panels[0].traces[0]["text"], section.panels[0].traces[0]["mode"]) == (["uegr"], "markers+text")
    alone = groups_of(*runs[2:])
    assert drift.cost(alone, looks(alone)) is None


def test_one_number_that_varies_is_a_line_and_two_are_a_map():
    line = groups_of(*(result("imdb", "uegr", 0, 0.001 * count, submodels=count) for count in (5, 2, 3)))
    (section,) = sweeps.sweeps(line, looks(line))
    assert section.key == "options"
    assert section.panels[0].traces[0]["x"] == [2.0, 3.0, 5.0]
    grid = [result("imdb", "uegr", 0, rate / 100, rates=rate, epsilon=size) for rate in (0.1, 0.3) for size in (1, 2)]
    (section,) = sweeps.sweeps(groups_of(*grid), looks(groups_of(*grid)))
    drawn = section.panels[0].traces[0]
    assert (drawn["x"], drawn["y"]) == (["0.1", "0.3"], ["1", "2"])
    assert drawn["z"][0][0] < drawn["z"][0][1]


def test_two_runs_that_differ_in_two_numbers_are_no_map():
    """A map of two cells on its diagonal showed the effect of neither number."""
    groups = groups_of(*(result("imdb", "uegr", 0, epsilon=size, submodels=size) for size in (2, 3)))
    assert sweeps.sweeps(groups, looks(groups)) == []


def test_points_of_a_line_have_the_same_seeds():
    """A line went from epochs 1 with seed 0 to epochs 2 with seed 1, and said "all else equal"."""
    apart = groups_of(*(result("imdb", "uegr", seed, submodels=seed + 2) for seed in (0, 1)))
    assert sweeps.sweeps(apart, looks(apart)) == []
    assert sweeps.training_size(*sized((0, 1))) is None
    assert len(sweeps.training_size(*sized((0, 0))).panels[0].traces[0]["x"]) == 2
    seeds = [(2, 0), (2, 1), (3, 1), (3, 2), (4, 7)]
    runs = groups_of(*(result("imdb", "uegr", seed, 0.01 * seed, submodels=count) for count, seed in seeds))
    drawn = sweeps.sweeps(runs, looks(runs))[0].panels[0].traces[0]
    assert drawn["x"] == [2.0, 3.0]  # over seed 1, which two settings have
    own = [group.columns["own"].figures[1].value for group in runs if 1 in group.seeds]
    assert drawn["y"] == [100 * value for value in own]


def sized(seeds):
    """Two settings with other numbers of rows, with these seeds."""
    found = groups_of(
        *(result("imdb", "uegr", seed, train_size=rows) for rows, seed in zip((100, 400), seeds, strict=True))
    )
    return found, looks(found)


def test_pairs_of_rates_are_a_map_also_where_both_are_the_same():
    pairs = [[0.1, 0.1], [0.1, 0.3], [0.3, 0.1], [0.3, 0.3]]
    groups = groups_of(*(result("imdb", "uegr", 0, rates=pair) for pair in pairs))
    drawn = sweeps.sweeps(groups, looks(groups))[0].panels[0].traces[0]
    assert (drawn["x"], drawn["y"]) == (["0.1", "0.3"], ["0.1", "0.3"])
    assert all(value is not None for row in drawn["z"] for value in row)


def test_training_size_is_drawn_by_the_rows_that_were_trained_on():
    runs = [result("imdb", method, 0, train_size=size) for method in ("vanilla", "uegr") for size in (500, 100)]
    groups = groups_of(*runs)
    section = sweeps.training_size(groups, looks(groups))
    assert [trace["x"] for trace in section.panels[0].traces] == [[100.0, 500.0]] * 2
    assert section.methods == ["vanilla", "uegr"]


def test_reliability_pools_the_rows_of_all_seeds():
    found = []
    for seed, confidence, right, rows in ((0, 0.9, 1.0, 30), (1, 0.96, 0.5, 10)):
        bins = [Bin(start=0.9, end=1.0, confidence=confidence, accuracy=Figure(right, 0.0, 1.0, rows))]
        empty = Bin(start=0.5, end=0.6, confidence=0.55, accuracy=Figure(float("nan"), 0.0, 1.0, 0))
        broken = Bin(start=0.7, end=0.8, confidence=0.75, accuracy=Figure(float("nan"), 0.0, 1.0, 20))
        one = Calibration(ece=share(0.1), brier=share(0.1), reliability=[empty, broken, *bins], bins=10)
        found.append(with_evaluation(result("imdb", "vanilla", seed), calibration=one))
    assert curves.bins(groups_of(*found)[0]) == [(pytest.approx(0.915), pytest.approx(0.875), 40)]


def test_a_layer_without_a_similarity_is_skipped():
    run = result("imdb", "vanilla", 0)
    measured = run.tasks["imdb"].evaluation.drift
    unknown = Figure(float("nan"), float("nan"), float("nan"), 10)
    run = with_evaluation(run, drift=measured.model_copy(update={"cka": [unknown, *measured.cka[1:]]}))
    assert list(drift.layers(groups_of(run)[0])) == [1, 2, 3, 4, 5, 6]


def test_drift_is_drawn_as_its_mean_over_epochs_at_each_strength():
    runs = []
    for seed, late in ((0, 0.2), (1, 0.4)):
        run = result("imdb", "vanilla", seed)
        logged = {0.0: [[1.0, 0.9], [1.0, 0.7]], 0.5: [[None, 0.6], [0.8, late]]}
        runs.append(run.model_copy(update={"training": run.training.model_copy(update={"drift": logged})}))
    groups = groups_of(*runs, result("imdb", "uegr", 0))  # which has logged nothing
    section = drift.over_epochs(groups, looks(groups))
    assert [panel.title for panel in section.panels] == ["imdb · minilm: clean", "imdb · minilm: delta 0.5"]
    clean, strong = (panel.traces for panel in section.panels)
    assert [trace["y"] for trace in clean] == [pytest.approx([1.0, 0.8])]
    assert [trace["y"] for trace in strong] == [pytest.approx([0.8, 0.45])]  # 0.4 and 0.5
    assert "mean over the epochs" in section.caption
    assert drift.over_epochs(groups[1:], looks(groups)) is None


def test_two_runs_that_differ_in_several_settings_are_no_study():
    """A "training size" line was drawn through two ad-hoc runs with other epochs, too."""
    runs = [result("imdb", "uegr", 0, train_size=size, epochs=epochs) for size, epochs in ((100, 1.0), (500, 3.0))]
    groups = groups_of(*runs)
    assert sweeps.training_size(groups, looks(groups)) is None
    assert sweeps.sweeps(groups, looks(groups)) == []
    assert [group.label for group in groups] == ["uegr (train size 100, epochs 1)", "uegr (train size 500, epochs 3)"]


def test_more_data_sets_than_symbols_have_one_symbol() -> None:
    """Twelve shared eight symbols, without a key."""
    made = [result(f"set{place}", method, 0) for place in range(9) for method in ("vanilla", "uegr")]
    groups = groups_of(*made)
    found = drift.cost(groups, looks(groups))
    assert {symbol for one in found.panels[0].traces for symbol in one["marker"]["symbol"]} == {"circle"}
    assert "on hover" in found.caption
    few = groups_of(*made[:4])
    assert (
        len({symbol for one in drift.cost(few, looks(few)).panels[0].traces for symbol in one["marker"]["symbol"]}) == 2
    )


def test_a_line_joins_only_what_differs_by_its_own_number():
    sizes = [result("imdb", "uegr", 0, train_size=size, epochs=epochs) for size in (100, 500) for epochs in (1.0, 3.0)]
    groups = groups_of(*sizes)
    drawn = sweeps.training_size(groups, looks(groups)).panels[0].traces
    assert [(one["name"], one["x"]) for one in drawn] == [
        ("uegr (epochs 1)", [100.0, 500.0]),
        ("uegr (epochs 3)", [100.0, 500.0]),
    ]
    kinds = [
        result("imdb", "uegr", 0, kind=kind, submodels=count)
        for kind, count in (("a", 2), ("a", 3), ("b", 4), ("b", 5))
    ]
    panels = sweeps.sweeps(groups_of(*kinds), looks(groups_of(*kinds)))[0].panels
    assert [panel.traces[0]["x"] for panel in panels if "Clean" in panel.title] == [[2.0, 3.0], [4.0, 5.0]]
    assert panels[0].title == "imdb · minilm · uegr (kind a): Clean"


def test_settings_that_differ_between_methods_are_named():
    groups = groups_of(result("imdb", "vanilla", 0, epochs=3.0), result("imdb", "uegr", 0, epochs=1.0))
    assert [group.label for group in groups] == ["vanilla (epochs 3)", "uegr (epochs 1)"]


def test_points_have_their_names_while_they_are_few():
    runs = [result("imdb", method, 0) for method in METHODS]
    groups = groups_of(*runs)
    assert {trace["text"][0] for trace in curves.tradeoff(groups, looks(groups)).panels[0].traces} == set(METHODS)
    many = groups_of(*runs, *(result("imdb", "uegr", 0, submodels=count) for count in range(2, 12)))
    traces = curves.tradeoff(many, looks(many)).panels[0].traces
    (own,) = [trace for trace in traces if trace["name"] == "uegr"]
    assert own["text"][0]
    assert not any(own["text"][1:-1])  # the last one may be where the first one is


def test_labels_point_inwards_and_many_points_name_their_ends_only():
    style = plots.Style("#000000", "solid", "circle")
    some = plots.labels(["a", "b", "c"], [0.0, 5.0, 9.0], [0.0, 5.0, 9.0], style)
    assert some["textposition"] == ["top right", "top left", "top left"]
    two = plots.labels(["a", "b"], [1.0, 2.0], [1.0, 2.0], style)
    assert two["textposition"] == ["top left", "top right"]  # away from each other
    many = [float(place) for place in range(plots.MOST_LABELS + 1)]
    assert plots.labels(["a", "b", "c"], many[:3], many, style)["text"] == ["a", "", "c"]


def test_the_settings_of_one_method_are_told_apart_without_its_name():
    groups = groups_of(*(result("imdb", "uegr", 0, varied={"method.submodels": k}) for k in (2, 3)))
    assert plots.spelt_apart(groups) == ["submodels 2", "submodels 3"]
    assert plots.spelt_apart(groups[:1]) == ["uegr (submodels 2)"]


def test_points_that_differ_in_several_settings_are_not_joined():
    """A dotted line joined two ad-hoc runs with other rows and other epochs, as if one option had been varied."""
    several = [result("imdb", "uegr", 0, train_size=size, epochs=epochs) for size, epochs in ((100, 1.0), (500, 3.0))]
    single = [result("imdb", "uegr", 0, train_size=size) for size in (100, 500)]
    modes = []
    for runs in (several, single):
        groups = groups_of(*runs)
        modes += [trace["mode"] for trace in curves.tradeoff(groups, looks(groups)).panels[0].traces]
    assert modes == ["markers+text", "lines+markers+text"]


def test_many_curves_stay_at_their_size():
    """Eight curves over two sizes were spread over a quarter of the drawing."""
    runs = []
    for method in METHODS:
        made = result("imdb", method, 0)
        whole = made.tasks["imdb"].evaluation.perturbation["pgd"]
        two = whole.model_copy(update={"points": [whole.points[0], whole.points[3]]})
        runs.append(with_evaluation(made, perturbation={"pgd": two}))
    groups = groups_of(*runs)
    panel = curves.curves(groups, looks(groups), "pgd").panels[0]
    assert panel.layout["xaxis"]["tickvals"] == [0, 1]
    starts = [trace["x"][0] for trace in panel.traces]
    assert len(set(starts)) == len(METHODS)
    assert max(starts) - min(starts) <= 0.04


def test_bins_of_a_few_rows_are_not_drawn():
    """A bin of one row drew a line down to 0."""
    bins = [
        Bin(start=start, end=start + 0.1, confidence=start + 0.05, accuracy=Figure(right, 0.0, 1.0, rows))
        for start, right, rows in ((0.6, 0.0, 1), (0.9, 0.9, 40))
    ]
    measured = Calibration(ece=share(0.1), brier=share(0.1), reliability=bins, bins=10)
    groups = groups_of(with_evaluation(result("imdb", "vanilla", 0), calibration=measured))
    assert [rows for *_, rows in curves.bins(groups[0])] == [40]
    assert "fewer than 10 rows" in curves.reliability(groups, looks(groups)).caption


def test_perturbations_are_called_as_people_call_them():
    """A heading said "FGM_RELATIVE"."""
    run = result("imdb", "vanilla", 0)
    moved = {"pgd_relative": run.tasks["imdb"].evaluation.perturbation["pgd"]}
    groups = groups_of(with_evaluation(run, perturbation=moved))
    section = curves.curves(groups, looks(groups), "pgd_relative")
    assert section.title == "Under perturbation: relative PGD"
    assert "PGD with restarts" in section.caption
    assert "_" not in section.caption


def test_drawings_of_many_methods_start_with_the_best():
    """Forty curves in one drawing could not be read."""
    names = ["vanilla", *(f"m{place}" for place in range(12))]
    section = plots.Section("curves", "", "", [], names)
    leave_off([section], ["vanilla", "m9", "m3", "elsewhere"])
    assert section.off == ["m5", "m6", "m7", "m8", "m10", "m11"][-5:]
    few = plots.Section("curves", "", "", [], names[:8])
    leave_off([few], [])
    assert few.off == []


def on_fold(run, fold):
    """The run, tested on a part of the training rows where a fold is given."""
    config = run.config.model_dump()
    config["dataset"] |= {"folds": 5, "fold": fold} if fold is not None else {}
    return run.model_copy(update={"config": Config.model_validate(config)})


def test_figures_on_other_rows_are_not_drawn_together_and_points_are_named_by_their_method():
    """One drawing had two vanillas, no crossing, and points called `folds 50, fold 0`."""
    runs = [on_fold(result("imdb", m, s), f) for m in ("vanilla", "uegr") for s in (0, 1) for f in (None, 0)]
    groups = groups_of(*runs)
    found = curves.tradeoff(groups, looks(groups))
    assert [panel.title for panel in found.panels] == ["imdb · minilm", "imdb, fold 0 of 5 · minilm"]
    for panel in found.panels:
        assert [trace["text"] for trace in panel.traces] == [["vanilla"], ["uegr"]]
        assert len(panel.layout["shapes"]) == 2


def test_the_only_point_of_a_method_is_named_by_the_method():
    """A name with all settings was too long to be drawn, and the point had none."""
    runs = [result("imdb", "uegr", 0, train_size=500, epochs=3.0), result("imdb", "vanilla", 0, train_size=500)]
    groups = groups_of(*runs, result("imdb", "vanilla", 0, train_size=900, epochs=1.0))
    assert groups[-1].settings
    assert drift.cost(groups, looks(groups)).panels[0].traces[0]["text"] == ["uegr"]
