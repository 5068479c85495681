"""What was measured in another way is not compared, and the reader is told.

Vanilla under an attack without a limit and fgm with three queries per text were "+59.6 points: better".
"""

from pathlib import Path
from typing import Any

import pytest

from tests.report.synthetic_runs import groups_of, result, share, with_evaluation, write_run
from tests.report.test_headline import ROWS, run
from tests.report.test_verdict import runs
from uegr.report.build import Report
from uegr.report.caveats import otherwise, untaught
from uegr.report.columns import titles
from uegr.report.export import markdown
from uegr.report.groups import Group, grouped
from uegr.report.page import ranking, render
from uegr.report.provenance import summary
from uegr.report.reading import Collection, Grid, Run
from uegr.report.verdict import verdict
from uegr.result import Config, Curve, Point, Result
from uegr.statistics.classes import classes

USUAL = {"surface": "default", "side": "second", "budget": None, "calibrated": True}


def pair(**changes: Any) -> tuple[Group, Group]:
    """Vanilla as usual, and fgm, far better, whose attack or evaluation is changed."""
    attacked = changes.pop("settings", USUAL)
    runs = [run("vanilla", seed, 0.3, 0.4, settings=USUAL) for seed in range(3)]
    other = [run("fgm", seed, 0.9, 0.9, settings=attacked) for seed in range(3)]
    other = [with_evaluation(one, **changes) for one in other] if changes else other
    vanilla, fgm = sorted(groups_of(*runs, *other), key=lambda group: not group.is_baseline)
    return vanilla, fgm


def ball(size: float) -> dict[str, Curve]:
    point = Point(epsilon=3 * size, relative=size, accuracy=share(0.9, ROWS))
    return {"pgd_relative": Curve(points=[point], mean_drop=share(0.1, ROWS))}


def test_the_same_measurements_are_compared() -> None:
    vanilla, fgm = pair()
    assert fgm.columns["robust"].mark == fgm.columns["attack pwws"].mark == "better"
    assert otherwise([vanilla, fgm]) == ""


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"budget": 3}, "pwws, budget 3"),
        ({"variant": "greedy"}, "pwws, variant greedy"),
        ({"surface": "counterfitted"}, "pwws, surface counterfitted"),
        ({"calibrated": False}, "pwws, not calibrated"),
    ],
)
def test_an_attack_with_other_settings_is_another_column(settings: dict[str, Any], name: str) -> None:
    vanilla, fgm = pair(settings=USUAL | settings)
    assert f"attack {name}" in fgm.columns
    assert "attack pwws" not in fgm.columns
    assert name in [column.title for column in titles([*vanilla.columns, *fgm.columns])]
    assert not any(fgm.columns[key].mark for key in ("robust", f"attack {name}"))
    assert f"Robust of fgm ({name} on imdb, second text instead of pwws on imdb, second text)" in otherwise([fgm])


def test_another_text_of_a_pair_is_not_compared() -> None:
    _, fgm = pair(settings=USUAL | {"side": "first"})
    assert not fgm.columns["attack pwws"].mark
    assert "pwws of fgm (pwws on imdb, first text instead of pwws on imdb, second text)" in otherwise([fgm])


def test_another_radius_is_not_compared() -> None:
    _, fgm = pair(perturbation=ball(0.01))
    assert fgm.columns["pgd_relative"].otherwise == "relative pgd within 0.01 instead of relative pgd within 0.1"
    assert not any(fgm.columns[key].difference for key in ("robust", "pgd_relative"))
    assert fgm.columns["attack pwws"].mark == "better"


@pytest.mark.parametrize("kind", ["shift", "adversarial", "anomaly"])
def test_a_mean_over_other_sets_is_not_compared(kind: str) -> None:
    scores = {"accuracy": share(0.99), "ece": share(0.01), "auroc": share(0.99)}
    _, fgm = pair(**{kind: {"easy": scores}})
    assert fgm.columns[kind].difference is None
    assert fgm.columns[kind].otherwise.startswith("easy instead of ")


def test_the_share_of_the_gap_counts_what_both_were_measured_on() -> None:
    def gap(**changes: Any) -> float:
        vanilla, *other = [
            result("imdb", "vanilla", 0),
            with_evaluation(result("imdb", "fgm", 0), **changes),
        ]
        (fgm,) = [group for group in groups_of(vanilla, *other) if not group.is_baseline]
        return fgm.columns["improvement"].mean

    measured = result("imdb", "fgm", 0).tasks["imdb"].evaluation
    assert measured is not None
    perfect = measured.perspectives | {"shift": 1.0}
    assert gap(perspectives=perfect) > gap()
    easy = {"easy": {"accuracy": share(1.0), "ece": share(0.01)}}
    assert gap(perspectives=perfect, shift=easy) < gap(perspectives=perfect)


def test_seeds_that_were_measured_in_another_way_than_most_are_left_out() -> None:
    odd = run("fgm", 2, 0.9, 0.9, settings=USUAL | {"side": "first"})
    vanilla = [run("vanilla", seed, 0.3, 0.4, settings=USUAL) for seed in range(3)]
    groups = groups_of(*vanilla, *(run("fgm", seed, 0.3, 0.4, settings=USUAL) for seed in range(2)), odd)
    (fgm,) = [group for group in groups if not group.is_baseline]
    assert sorted(fgm.columns["attack pwws"].figures) == [0, 1]


def test_the_verdict_the_page_and_the_markdown_tell() -> None:
    def told(results: list[Result]) -> tuple[str, str, str]:
        collection = Collection(runs=[Run(str(place), one) for place, one in enumerate(results)])
        groups = grouped(collection.runs)
        found = verdict(groups)
        assert found is not None
        return found.text, markdown(collection, groups), render(collection)

    vanilla = [run("vanilla", seed, 0.3, 0.4, settings=USUAL) for seed in range(3)]
    plain = told([*vanilla, *(run("fgm", seed, 0.9, 0.9, settings=USUAL) for seed in range(3))])
    assert not any("≠" in text or "another way" in text for text in plain)
    limited = [run("fgm", seed, 0.9, 0.4, settings=USUAL | {"budget": 3}) for seed in range(3)]
    sentence, text, page = told([*vanilla, *limited])
    assert "Not compared, for it was measured in another way: Robust of fgm (pwws, budget 3 on imdb" in sentence
    assert "better" not in sentence.partition("Not compared")[0].replace("is shown to be better than", "")
    assert all("≠" in one and "measured in another way than vanilla" in one for one in (text, page))


def one_answer(method: str = "vanilla", seed: int = 0) -> Result:
    """A model that answers every row with the label of 968 rows of 1,000."""
    labels = [0] * 968 + [1] * 32
    scores = {"accuracy": share(0.968), "macro_f1": share(0.492), "balanced_accuracy": share(0.5)}
    made = result("imdb", method, seed)
    found = {"test": classes([0] * 1000, labels, ("no", "yes"))}
    return made.with_task("imdb", scores={"test": scores}, classes=found, evaluation=None)


def test_a_model_that_always_gives_one_answer_is_told_wherever_its_accuracy_is(tmp_path: Path) -> None:
    """ "Clean 96.8" stood in the Markdown, on the page and in the terminal without a word."""
    for place, one in enumerate([one_answer(), one_answer("fgm")]):
        write_run(tmp_path / "runs" / str(place), one)
    page, text = tmp_path / "report.html", tmp_path / "report.md"
    said = Report([tmp_path / "runs"], page, text).build()
    assert "Not shown to be above chance: vanilla on imdb · minilm; fgm on imdb · minilm." in said
    line = "vanilla on imdb · minilm: not shown to be above chance: balanced accuracy 50.0%, chance is 50.0%"
    assert f"<li>{line}</li>" in page.read_text(encoding="utf-8")
    assert f"- {line}\n" in text.read_text(encoding="utf-8")
    row = "| fgm | test | 50.0 (46.9–53.1) | 49.2 (46.1–52.3) | 96.8 (no) |"
    assert row in text.read_text(encoding="utf-8")


def test_the_verdict_tells_of_how_many_seeds_that_is_so() -> None:
    made = [one_answer("vanilla"), *(result("imdb", "vanilla", seed) for seed in (1, 2)), one_answer("fgm")]
    assert "vanilla on imdb · minilm (1 of 3 seeds); fgm on imdb · minilm." in untaught(groups_of(*made))


def test_balanced_classes_and_figures_above_chance_need_no_word() -> None:
    made = [result("imdb", method, 0) for method in ("vanilla", "fgm")]
    collection = Collection(runs=[Run(str(place), one) for place, one in enumerate(made)])
    text = markdown(collection, grouped(collection.runs))
    assert not any(words in text for words in ("above chance", "Imbalanced"))
    assert 'class="doubts"' not in render(collection)


def test_vanilla_runs_alone_are_told_apart() -> None:
    """Of two vanilla runs, the page said that no other method was trained on the same rows."""
    found = verdict(groups_of(result("imdb", "vanilla", 0), result("imdb", "vanilla", 0, epochs=1.0)))
    assert found is not None
    told = "No verdict. All runs are vanilla and differ in epochs; `uegr compare RUN RUN` compares two of them."
    assert found.text == told


def studies(chosen: list[Result], others: list[Result]) -> list[Group]:
    """Groups of a study whose rows chose a method, on a fold, and of another on the same data set."""
    grids = (Grid(Path("candidates"), "Candidates", chooses=True),), (Grid(Path("study"), "Study"),)
    runs = [Run(str(place), fold(one), grids=grids[0]) for place, one in enumerate(chosen)]
    return grouped([*runs, *(Run(f"other {place}", one, grids=grids[1]) for place, one in enumerate(others))])


def fold(run: Result) -> Result:
    config = run.config.model_dump()
    config["dataset"] |= {"folds": 50, "fold": 0}
    return run.model_copy(update={"config": Config.model_validate(config)})


def test_rows_that_chose_a_method_are_not_ranked_and_not_mixed_with_others() -> None:
    """26 of 32 methods of a verdict were candidates, scored on a fold of the training rows, without a word."""
    groups = studies(runs(fgm=(0.99, 0.99)), [one for one in runs() if one.config.method.name != "fgm"])
    assert {group.dataset for group in groups} == {"imdb", "imdb, fold 0 of 50"}
    assert all(group.baseline.block == group.block for group in groups if group.baseline)
    assert " 1 data set, " in summary(groups)
    found = verdict(groups)
    assert found is not None
    assert [(row.method, row.gains[0].of) for row in found.rows] == [("uegr", 1)]
    told = " Not ranked: 2 settings of Candidates, whose rows chose a method; see the leaderboard."
    assert found.text.endswith(told)
    assert [group.label for group in ranking(found)] == ["uegr"]


def test_a_study_that_chooses_is_ranked_alone_with_a_word() -> None:
    found = verdict(studies(runs(), []))
    assert found is not None
    assert [row.method for row in found.rows] == ["uegr", "fgm"]
    assert found.text.endswith("chose a method for other studies: they are no evidence for the choice.")
