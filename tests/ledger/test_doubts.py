"""Reasons to doubt a result, each derived from figures that show it."""

from typing import Any

import pytest

from tests.report.synthetic_runs import result, share, with_evaluation
from uegr.ledger.doubts import doubts
from uegr.result import Curve, Point, Result, Search, Temperature

HEAT = Temperature(value=1.5, split="validation", rows=200)


def honest(**changes: Any) -> Result:
    """A result without any reason for doubt."""
    run = result("snippets", "uegr", 0)
    attacks = {
        name: one.model_copy(update={"temperature": HEAT}) for name, one in run.tasks["snippets"].attacks.items()
    }
    return run.with_task("snippets", attacks=attacks, temperature=HEAT, **changes)


def curves(**accuracies: dict[float, float]) -> dict[str, Curve]:
    """Curves of accuracies by radius, on 200 rows."""
    return {
        name: Curve(points=[Point(epsilon=e, accuracy=share(a, 200)) for e, a in some.items()], mean_drop=share(0.1))
        for name, some in accuracies.items()
    }


def under(pgd: dict[float, float], fgm: dict[float, float]) -> list[str]:
    return doubts(with_evaluation(honest(), perturbation=curves(pgd=pgd, fgm=fgm)))


def test_an_honest_result_has_none() -> None:
    assert doubts(with_evaluation(honest(), perturbation=curves(pgd={0.0: 0.9, 0.1: 0.5}, fgm={0.1: 0.6}))) == []


@pytest.mark.parametrize(("balanced", "doubted"), [(0.51, True), (0.49, True), (0.6, False)])
def test_a_classifier_at_chance_is_named(balanced: float, doubted: bool) -> None:
    scores = {"test": {"accuracy": share(0.7, 400), "balanced_accuracy": share(balanced, 400)}}
    told = f"not shown to be above chance: balanced accuracy {100 * balanced:.1f}%, chance is 50.0%"
    assert doubts(honest(scores=scores, evaluation=None)) == [told] * doubted


def test_pgd_that_finds_less_than_one_step_is_masking() -> None:
    assert under({0.1: 0.6}, {0.1: 0.5}) == ["gradient masking: PGD leaves 60.0% within 0.1, FGM less"]
    assert under({0.1: 0.5}, {0.1: 0.5}) == []


def test_on_other_rows_chance_alone_is_no_masking() -> None:
    small = curves(pgd={0.1: 0.52}) | {
        "fgm": Curve(points=[Point(epsilon=0.1, accuracy=share(0.5))], mean_drop=share(0.1))
    }
    assert doubts(with_evaluation(honest(), perturbation=small)) == []
    large = curves(pgd={0.1: 0.72}) | {"fgm": small["fgm"]}
    assert doubts(with_evaluation(honest(), perturbation=large))


def test_pgd_that_finds_less_in_a_larger_ball_is_masking() -> None:
    assert under({0.1: 0.4, 0.25: 0.45}, {}) == ["gradient masking: PGD leaves more within 0.25 than within 0.1"]
    assert under({0.1: 0.4, 0.25: 0.4}, {}) == []


def test_texts_of_another_model_that_break_more_than_a_search_are_masking() -> None:
    run = honest()
    ((name, direct),) = run.tasks["snippets"].attacks.items()
    moved = direct.model_copy(
        update={"attack": "pwws replayed", "temperature": None, "accuracy_after": share(0.2, 200)}
    )
    found = doubts(run.with_task("snippets", attacks={name: direct, "other": moved}))
    assert [one for one in found if "texts found on another model leave 20.0%" in one]
    milder = moved.model_copy(update={"accuracy_after": share(0.8, 200)})
    assert not doubts(run.with_task("snippets", attacks={name: direct, "other": milder}))


def test_an_attack_on_raw_probabilities_and_few_rows_are_named() -> None:
    run = honest()
    ((name, direct),) = run.tasks["snippets"].attacks.items()
    raw = direct.model_copy(update={"temperature": None, "accuracy_after": share(0.3, 80)})
    found = doubts(run.with_task("snippets", attacks={name: raw}))
    assert found == [f"attack not calibrated: {name}", f"few rows: 80 for {name}"]


@pytest.mark.parametrize("select", ["best", "robust", "last"])
def test_test_rows_that_chose_the_epoch_are_named(select: str) -> None:
    run = with_evaluation(honest(), split="validation")
    config = run.config.model_copy(update={"training": run.config.training | {"select": select}})
    found = doubts(run.model_copy(update={"config": config}))
    assert found == ([] if select == "last" else ["the measured rows also chose the epoch: both are validation"])


def test_test_rows_that_chose_the_settings_are_named() -> None:
    search = Search(chosen={}, score=0.5, split="validation", asked={}, trials=[])
    run = honest().model_copy(update={"search": search})
    assert doubts(run) == []
    found = doubts(with_evaluation(run, split="validation"))
    assert "the measured rows also chose the settings: both are validation" in found


def test_several_tasks_are_told_apart() -> None:
    found = doubts(result("snippets,imdb", "uegr", 0))
    assert {one.partition(":")[0] for one in found} == {"snippets", "imdb"}


def test_the_clean_score_of_more_rows_counts() -> None:
    few = with_evaluation(honest(), clean={"accuracy": share(0.8, 20)})
    assert doubts(few) == []
    assert doubts(few.with_task("snippets", scores={})) == ["few rows: 20 for accuracy"]
