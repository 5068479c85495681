"""On what the verdict ranks: data sets and models that methods share, settings that differ by the method alone."""

import pytest

from tests.report.synthetic_runs import groups_of, result
from tests.report.test_verdict import run, runs
from uegr.report.export import markdown
from uegr.report.page import ranking, render
from uegr.report.reading import Collection, Run
from uegr.report.terminal import show_verdict
from uegr.report.verdict import verdict
from uegr.result import Named
from uegr.statistics import packed


def without(made, *places):
    """Without the runs of a method on a data set."""
    return [one for one in made if (one.config.method.name, next(iter(one.tasks))) not in places]


def test_methods_on_fewer_data_sets_come_later_and_say_so(capsys):
    """Means over one data set stood between means over two, as if they were of the same data."""
    more = [run("rat", seed, 0.87, 0.50, dataset=name) for seed in (0, 1, 2) for name in ("imdb", "yelp")]
    made = without([*runs(), *runs(dataset="yelp", uegr=(0.87, 0.41)), *more], ("fgm", "yelp"))
    made = [one if one.config.method.name != "fgm" else run("fgm", one.config.seed, 0.88, 0.80) for one in made]
    found = verdict(groups_of(*made))
    assert [row.method for row in found.rows] == ["uegr", "rat", "fgm"]
    assert found.rows[2].total > found.rows[0].total
    assert [row.where(found.shared) for row in found.rows] == ["", "", "only on imdb · minilm"]
    collection = Collection(runs=[Run(str(place), one) for place, one in enumerate(made)])
    assert "3 seeds, only on imdb · minilm" in render(collection)
    assert "not compared on all of the same data sets and models after the others" in render(collection)
    assert "only on imdb · minilm |" in markdown(collection, groups_of(*made))
    show_verdict({run.name: run.result for run in collection.runs})
    assert "only on imdb" in " ".join(capsys.readouterr().out.split())


def test_a_data_set_that_only_one_method_has_does_not_lift_it():
    """fgm had one more data set than the others, with one seed and a large gain, and stood first with its mean."""
    made = without([*runs(fgm=(0.86, 0.50)), *runs(fgm=(0.86, 0.95), dataset="yelp", seeds=(0,))], ("uegr", "yelp"))
    found = verdict(groups_of(*made))
    assert [row.method for row in found.rows] == ["uegr", "fgm"]
    assert found.rows[1].gain("pwws").figure.value == pytest.approx(10)
    assert found.notes == "Ranked on imdb · minilm that 2 methods share; the leaderboard has 1 more."
    assert {group.dataset for group in ranking(found)} == {"imdb"}


def test_models_on_the_same_rows_are_not_independent():
    """Two models of one data set had an interval as narrow as that of two data sets."""
    one = verdict(groups_of(*runs(rows=200))).rows[0].gain("pwws").figure
    other = [made.model_copy(update={"config": made.config.model_copy(update={"model": Named(name="textcnn")})})
             for made in runs(rows=200)]  # fmt: skip
    both = verdict(groups_of(*runs(rows=200), *other)).rows[0].gain("pwws").figure
    assert both.high - both.low == pytest.approx(one.high - one.low)
    apart = verdict(groups_of(*runs(rows=200), *runs(rows=200, dataset="yelp"))).rows[0].gain("pwws").figure
    assert apart.high - apart.low == pytest.approx((one.high - one.low) / 2**0.5)


def test_a_setting_that_was_trained_otherwise_is_not_counted_where_others_are_fair():
    """One pair with twice the epochs was in the mean of three, and its cost too."""
    unfair = [result("yelp", "uegr", seed, epochs=3.0) for seed in (0, 1, 2)]
    unfair += [result("yelp", "vanilla", seed, epochs=1.0) for seed in (0, 1, 2)]
    found = verdict(groups_of(*runs(), *unfair))
    assert {row.method: row.places for row in found.rows}["uegr"] == {("imdb", "minilm")}
    assert "Not counted, for not only the method differs: uegr on yelp · minilm (epochs 3 instead of 1)." in found.notes
    assert "Not only the method differs from" not in found.notes


def test_equal_answers_do_not_take_the_interval_from_a_mean():
    """Two runs with the same answers had no interval, and neither had the mean over data sets with them."""
    bits, same = packed([place < 80 for place in range(200)]), []
    for one in runs(rows=200, dataset="yelp", uegr=(0.86, 0.40), fgm=(0.86, 0.40), seeds=(1,)):
        attack = one.tasks["yelp"].attacks["a"].model_copy(update={"right": bits})
        same.append(one.with_task("yelp", attacks={"a": attack}))
    hard = verdict(groups_of(*runs(rows=200), *same)).rows[0].gain("pwws")
    assert hard.of == 2
    assert hard.figure.bounded
    assert " to " in hard.text


def test_a_method_that_is_shown_to_be_worse_stands_after_one_that_is_better():
    """On the page of the committed results, a method that was worse somewhere had more data sets and stood higher."""
    made = [*runs(fgm=(0.86, 0.10)), *runs(fgm=(0.86, 0.10), dataset="yelp")]
    found = verdict(groups_of(*without(made, ("uegr", "yelp"))))
    assert [row.method for row in found.rows] == ["uegr", "fgm"]
