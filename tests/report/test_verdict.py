"""The verdict says which method, at what cost, and no more than is shown."""

from dataclasses import replace

import pytest

from tests.report.synthetic_runs import groups_of, result, with_evaluation, write_run
from uegr.report.build import Report
from uegr.report.export import markdown
from uegr.report.page import ranking, render
from uegr.report.reading import Collection, Run
from uegr.report.tables import glance
from uegr.report.terminal import show_verdict
from uegr.report.verdict import NO_VERDICT, Verdict, ranked, verdict
from uegr.statistics import proportion


def run(method, seed, own, under_attack, rows=2000, dataset="imdb"):
    """A result with these shares of right rows on the own test and under PWWS."""
    made = with_evaluation(result(dataset, method, seed), clean={"accuracy": proportion(round(own * rows), rows)})
    attack = made.tasks[dataset].attacks[f"pwws on {dataset}"]
    attack = attack.model_copy(update={"accuracy_after": proportion(round(under_attack * rows), rows)})
    return made.with_task(dataset, scores={}, attacks={"a": attack})


def runs(uegr=(0.87, 0.60), fgm=(0.86, 0.45), seeds=(0, 1, 2), rows=2000, dataset="imdb"):
    found = []
    for seed in seeds:
        luck = 0.004 * (seed - 1)
        found += [run("vanilla", seed, 0.86 + luck, 0.40, rows, dataset)]
        for method, (own, hard) in {"uegr": uegr, "fgm": fgm}.items():
            found += [run(method, seed, own + luck / 2, hard + luck, rows, dataset)]
    return found


def test_methods_are_ranked_with_gain_interval_cost_and_words():
    found = verdict(groups_of(*runs()))
    assert found.columns == ["Clean", "pwws"]
    assert [row.method for row in found.rows] == ["uegr", "fgm"]
    own, hard = found.rows[0].gains
    assert (own.words, hard.words) == ("no difference shown", "better")
    assert hard.figure.value == pytest.approx(20)
    assert hard.figure.low > 0 > own.figure.low
    assert found.rows[0].cost == pytest.approx(3.2)
    assert found.rows[0].words == "Clean: no difference shown; pwws: better"
    assert found.sentence.startswith("uegr against vanilla, at 3.2 times its passes: Clean +1.0 (")
    hard_words = "no difference shown; pwws +20.0 (+16.9 to +23.1) points: better"
    assert found.text.endswith(f"{hard_words}. From 3 seeds and 2,000 test rows.")


def test_where_nothing_is_shown_the_words_say_so_with_what_they_rest_on():
    found = verdict(groups_of(*runs(uegr=(0.865, 0.42), rows=200)))
    assert {row.words for row in found.rows} == {"no difference shown"}
    shown = "No method is shown to be better than vanilla in Clean or pwws"
    assert found.sentence == f"{shown}, from 3 seeds and 200 test rows."


def test_columns_that_rest_on_fewer_rows_do_not_hide_the_others():
    """16 rows of the own test and 8 under attack were "from 1 seed and 8 test rows"."""
    few = [run(method, seed, 0.86, 0.40, 200) for seed in (0, 1, 2) for method in ("vanilla", "uegr")]
    many = [with_evaluation(one, clean={"accuracy": proportion(860, 1000)}) for one in few]
    assert verdict(groups_of(*many)).sentence.endswith("from 3 seeds, test rows: 1,000 in Clean and 200 in pwws.")


def test_the_rows_are_the_fewest_and_the_most_of_a_column():
    """ "Clean, points (1,000 to 7,600 rows)" stood above a mean over data sets of which one had 10,000."""
    sets = [one for name, rows in (("imdb", 200), ("yelp", 2000)) for one in runs(rows=rows, dataset=name)]
    found = verdict(groups_of(*sets))
    assert [found.rows_of(title) for title in found.columns] == ["200 to 2,000 rows"] * 2
    assert "From 3 seeds and 200 to 2,000 test rows." in found.sentence


def test_validation_rows_are_not_called_test_rows():
    """A single CSV has no test split; the page said "from 3 seeds and 200 test rows"."""
    plain = runs(uegr=(0.865, 0.42), rows=200)
    held_out = [with_evaluation(one, split="validation") for one in plain]
    assert verdict(groups_of(*held_out)).sentence.endswith("from 3 seeds and 200 validation rows.")
    assert "p < 0.05 over seeds and validation rows, after Holm's" in markdown(Collection(), groups_of(*held_out))
    other = [with_evaluation(one, split="validation") for one in runs(uegr=(0.865, 0.42), rows=200, dataset="yelp")]
    assert verdict(groups_of(*plain, *other)).sentence.endswith("and 200 test or validation rows.")


def test_a_method_that_is_worse_is_called_so():
    found = verdict(groups_of(*runs(uegr=(0.70, 0.40), fgm=(0.86, 0.40))))
    assert found.rows[-1].words == "Clean: worse; pwws: no difference shown"
    assert found.sentence.endswith("Shown to be worse at something: uegr.")


def test_a_single_seed_shows_nothing_about_a_method():
    """ "No difference shown" stood beside "+5.9 (+1.3 to +10.5)" of one seed, which nobody had tested."""
    made = runs(seeds=(0,))
    found = verdict(groups_of(*made))
    own, hard = found.rows[0].gains
    assert own.words == "not tested (one seed)"
    assert hard.figure.low > 0  # over rows alone, which says nothing about the method
    assert hard.words == "not tested (one seed), interval over rows only"
    collection = Collection(runs=[Run(str(place), one) for place, one in enumerate(made)])
    for told in (render(collection), markdown(collection, groups_of(*made)), found.sentence):
        assert "no difference shown" not in told
    assert "from 1 seed and" in found.sentence
    assert found.sentence.endswith("It takes several seeds to show that.")


def test_one_seed_beside_several_is_said():
    """Of one seed, nothing was tested: that is not the same as a test that shows nothing."""
    found = verdict(groups_of(*runs(), *runs(dataset="yelp", seeds=(0,))))
    own, hard = found.rows[0].gains
    assert hard.words == "better on 1 of 2, not tested on 1 of 2 (one seed)"
    assert own.words == "no difference shown on 1 of 2, not tested on 1 of 2 (one seed)"
    assert "not tested on 1 of 2 (one seed)" in found.sentence
    assert found.rows[0].seeds_text == "1 to 3 seeds"


def test_another_vanilla_is_told_from_the_one_that_it_is_compared_with():
    """A row that was called vanilla stood beneath gains over vanilla."""
    options = {"imdb": [0.0, None], "yelp": [0.0, None, 0.3]}
    made = [result(name, "vanilla", 0, dropout=dropout) for name, some in options.items() for dropout in some]
    without = [group for group in groups_of(*made) if group.label == "vanilla (dropout 0)"]
    assert [group.dataset for group in without] == ["imdb", "yelp"]
    assert ranked(without, ["own"]).name == "vanilla (dropout 0)"


def test_a_column_that_vanilla_lacks_is_no_column_of_the_verdict():
    """An attack on one run and PGD of the other ended in a traceback: min() of nothing."""
    vanilla, uegr = run("vanilla", 0, 0.86, 0.40), run("uegr", 0, 0.87, 0.60)
    bare = with_evaluation(vanilla, perturbation={}, adversarial={})
    groups = groups_of(bare, with_evaluation(uegr, adversarial={}).with_task("imdb", attacks={}))
    found = verdict(groups)
    assert (found.columns, [row.method for row in found.rows]) == (["Clean"], ["uegr"])
    assert "| uegr | +1.0" in markdown(Collection(), groups)


def test_a_setting_that_can_be_compared_stands_for_its_method():
    """A run with another seed, other settings and twice the steps took the place of the fair comparison."""
    other = result("imdb", "uegr", 7, epsilon=2.0)
    other = other.model_copy(update={"training": other.training.model_copy(update={"steps": 10_000})})
    found = verdict(groups_of(other, run("vanilla", 0, 0.86, 0.40), run("uegr", 0, 0.87, 0.60)))
    assert [row.method for row in found.rows] == ["uegr"]
    assert found.rows[0].cost == pytest.approx(3.2)
    told = "1 setting has no figure that vanilla has with the same seed too, measured alike."
    assert found.notes == told
    dear = result("yelp", "uegr", 7)
    dear = dear.model_copy(update={"training": dear.training.model_copy(update={"steps": 10_000})})
    (row,) = verdict(groups_of(*runs(), run("vanilla", 0, 0.86, 0.40, dataset="yelp"), dear)).rows[:1]
    assert (row.method, row.where(frozenset()), row.gains[0].of, row.cost) == ("uegr", "", 1, pytest.approx(3.2))


def test_a_data_set_without_the_second_column_does_not_lift_a_method():
    """A table that measured accuracy alone put its methods before those with more robustness."""
    fgm = [run("fgm", seed, 0.99, 0.4, dataset="yelp") for seed in range(3)]
    plain = [run("vanilla", seed, 0.80, 0.4, dataset="yelp") for seed in range(3)]
    bare = [with_evaluation(one, perturbation={}, adversarial={}).with_task("yelp", attacks={}) for one in fgm + plain]
    found = verdict(groups_of(*runs(), *bare))
    assert [row.method for row in found.rows] == ["uegr", "fgm"]


def test_a_mean_over_data_sets_is_told_where_none_of_them_shows_anything():
    """ "No method is shown to be better" stood above a mean of +14 (+9 to +20) over three data sets."""
    small = {"uegr": (0.86, 0.47), "fgm": (0.86, 0.41), "rows": 200}
    sets = [one for name in ("imdb", "yelp", "sst2") for one in runs(**small, dataset=name)]
    found = verdict(groups_of(*sets))
    assert found.rows[0].gains[1].words == "no difference shown on any of them alone"
    start = "No method is shown to be better than vanilla in Clean or pwws on any one data set and model, from 3 seeds"
    assert found.sentence.startswith(start)
    note = "(95% interval, not adjusted for several methods)"
    assert found.sentence.endswith(f"The mean over data sets is above 0 in pwws for uegr {note}.")


def test_figures_show_the_rows_that_they_rest_on():
    groups = groups_of(*runs(rows=200))
    found = verdict(groups)
    assert [found.rows_of(title) for title in found.columns] == ["200 rows", "200 rows"]
    collection = Collection(runs=[Run(str(place), one) for place, one in enumerate(runs(rows=200))])
    page, text = render(collection), markdown(collection, groups)
    assert 'Clean, points<span class="spread">200 rows</span>' in page
    assert '<button type="button">Clean</button><span class="spread">200 rows</span>' in page
    assert "| method | Clean, points (200 rows) | pwws, points (200 rows) | cost | from | in words |" in text
    assert "Rows: Clean 200; Shift 1,600;" in text


def test_the_seeds_of_all_settings_are_told_where_nothing_is_shown():
    """One setting with a single seed made it "from 1 seed. It takes several seeds to show that."."""
    same = {"uegr": (0.86, 0.40), "fgm": (0.86, 0.40)}
    found = verdict(groups_of(*runs(**same), *runs(**same, dataset="yelp", seeds=(0,))))
    assert found.sentence.endswith("from 1 to 3 seeds and 2,000 test rows.")


def test_gains_on_several_data_sets_are_averaged_and_counted():
    found = verdict(groups_of(*runs(), *runs(uegr=(0.86, 0.41), dataset="yelp")))
    hard = found.rows[0].gains[1]
    assert hard.figure.value == pytest.approx((20 + 1) / 2)
    assert hard.words == "better on 1 of 2, no difference shown on 1 of 2"


def test_settings_without_a_baseline_are_counted_beside_a_verdict():
    """A method that was trained on other rows than vanilla was missing in the verdict without a word."""
    others = [run("fgm", seed, 0.9, 0.9, dataset="yelp") for seed in (0, 1, 2)]
    found = verdict(groups_of(*runs(), *others))
    assert found.notes == "1 setting has no vanilla run on the same rows to compare with."
    assert "to compare with" not in verdict(groups_of(*runs())).text


def test_without_a_baseline_the_verdict_says_that_there_is_none(tmp_path, capsys):
    others = [one for one in runs() if one.config.method.name != "vanilla"]
    assert verdict(groups_of(*others)) == Verdict([], [], NO_VERDICT)
    assert verdict([]) is None
    for place, one in enumerate(others):
        write_run(tmp_path / "runs" / str(place), one)
    page, text = tmp_path / "report.html", tmp_path / "report.md"
    assert Report([tmp_path / "runs"], page, text).build().endswith(NO_VERDICT)
    for written in (page.read_text(), text.read_text()):
        assert NO_VERDICT in written
        assert "points" not in written.partition(NO_VERDICT)[2].partition("eaderboard")[0]
    show_verdict({"one": others[0]})
    assert "No verdict" in capsys.readouterr().out


def test_it_comes_first_on_the_page_in_markdown_and_in_the_terminal(capsys):
    made = {str(place): one for place, one in enumerate(runs())}
    collection = Collection(runs=[Run(name, one) for name, one in made.items()])
    page = render(collection)
    assert page.index('id="verdict"') < page.index('id="leaderboard"')
    assert page.index("uegr against vanilla, at 3.2") < page.index("<table")
    text = markdown(collection, groups_of(*made.values()))
    assert text.index("## Verdict") < text.index("## imdb")
    assert "| uegr | +1.0 (" in text
    assert "| 3.2 × | 3 seeds | Clean: no difference shown; pwws: better |" in text
    assert "| 3.2 × | 3.2 + 3.2 | 783 | 392 (8 threads) |" in text
    show_verdict(made)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["method", "Clean,"]
    assert lines[1].startswith("uegr")


def test_the_sentence_tells_what_else_got_worse():
    """A demo's verdict praised a gain under attack, while its leaderboard marked the calibration error as worse."""
    found = groups_of(*runs())
    plain = verdict(found).sentence
    (best,) = [group for group in found if group.method == "uegr"]
    best.columns["ece"] = replace(best.columns["own"], mark="worse")
    assert "worse" not in plain
    assert "It is shown to be worse in ECE." in verdict(found).sentence


def test_a_baseline_that_was_trained_otherwise_is_told():
    """Three epochs were compared with one, and the page blamed the method."""
    own = [result("imdb", "uegr", seed, epochs=3.0) for seed in (0, 1)]
    base = [result("imdb", "vanilla", seed, epochs=1.0) for seed in (0, 1)]
    told = "Not only the method differs from vanilla: uegr has epochs 3 instead of 1."
    assert told in verdict(groups_of(*own, *base)).text
    same = [result("imdb", "vanilla", seed, epochs=3.0) for seed in (0, 1)]
    assert "Not only" not in verdict(groups_of(*own, *same)).text


def test_at_a_glance_counts_what_the_verdict_counts():
    """A method was at +6.8 in the verdict and at +6.1 below it, where a setting with fewer seeds was counted too."""
    more = [result("imdb", "uegr", seed, 0.02 * count, submodels=count) for seed in (0, 1) for count in (2, 4)]
    base = [result("imdb", method, seed) for method in ("vanilla", "fgm") for seed in (0, 1)]
    groups = groups_of(*base, *more, result("imdb", "uegr", 2, 0.04, submodels=2))
    found = verdict(groups)
    table = glance(ranking(found))
    assert [row.method for row in table.rows] == [row.method for row in found.rows]
    own = [key.key for key in table.columns].index("own")
    shown = [row.cells[own].difference.replace("−", "-") for row in table.rows]
    assert [float(text) for text in shown] == [pytest.approx(row.gains[0].figure.value, abs=0.06) for row in found.rows]
    assert {row.cells[own].of for row in table.rows} == {1}
