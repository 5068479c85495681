"""The headline of a data set and model: what the robust score is made of, what is beside it, the doubts below it."""

import random
from typing import Any

import numpy as np
import pytest

from tests.report.synthetic_runs import groups_of, result, share, with_evaluation
from uegr.ledger.doubts import ONE_SEED
from uegr.report.contest import HEADS, contests, rows, sentence
from uegr.report.export import markdown
from uegr.report.groups import Group, grouped
from uegr.report.headline import doubted, headlines
from uegr.report.page import render
from uegr.report.reading import Collection, Run
from uegr.report.verdict import verdict
from uegr.result import Cell, Curve, Point, Result, Temperature
from uegr.statistics import packed

HEAT = Temperature(value=1.5, split="validation", rows=200)
ROWS = 200


def right(share_right: float, seed: int, method: str) -> list[bool]:
    """Rows that are right: the same easy ones for every method, and some more by luck."""
    draw = random.Random(f"{method} {seed}")
    easy = int(ROWS * share_right)
    return [place < easy + draw.randint(-2, 2) for place in range(ROWS)]


def run(method: str, seed: int, words: float, pgd: float, **changes: Any) -> Result:
    """A result with these accuracies under PWWS and relative PGD."""
    made = result("imdb", method, seed)
    after, moved = right(words, seed, method), right(pgd, seed, f"{method} pgd")
    point = Point(epsilon=0.3, relative=0.1, accuracy=share(float(np.mean(moved)), ROWS), right=packed(moved))
    made = with_evaluation(made, perturbation={"pgd_relative": Curve(points=[point], mean_drop=share(0.2, ROWS))})
    (attack,) = made.tasks["imdb"].attacks.values()
    fixed = {"accuracy_after": share(float(np.mean(after)), ROWS), "right": packed(after), "temperature": HEAT}
    known = {"pwws on imdb": attack.model_copy(update=fixed | changes)}
    if method != "vanilla":
        texts = {"attack": "pwws replayed", "temperature": None, "accuracy_after": share(0.7, ROWS)}
        known["pwws on imdb, from vanilla"] = attack.model_copy(update=texts)
    return made.with_task("imdb", attacks=known, temperature=HEAT)


def some(seeds: int = 3) -> list[Result]:
    found = []
    for seed in range(seeds):
        found += [run("vanilla", seed, 0.2, 0.4), run("uegr", seed, 0.27, 0.47)]
    return found


def column(group: Group, key: str) -> float:
    return group.columns[key].mean


def test_the_robust_score_is_the_mean_of_words_and_relative_pgd() -> None:
    vanilla, uegr = groups_of(*some())
    for group in (vanilla, uegr):
        assert column(group, "robust") == pytest.approx(
            (column(group, "attack pwws") + column(group, "pgd_relative")) / 2
        )
    assert uegr.columns["robust"].difference is not None
    assert uegr.columns["robust"].difference.value == pytest.approx(0.07, abs=0.02)


def test_without_a_calibrated_attack_there_is_no_robust_score_and_no_headline() -> None:
    groups = groups_of(*(run(method, 0, 0.2, 0.3, temperature=None) for method in ("vanilla", "uegr")))
    assert all("robust" not in group.columns for group in groups)
    assert headlines(groups) == []


def test_rows_are_paired_where_it_is_known_which_are_right() -> None:
    """Seven of a hundred rows more are right with every seed: the rows alone, unpaired, could not show it."""
    paired = groups_of(*some())[1].columns["robust"]
    blind = [
        one.with_task(
            "imdb", attacks={k: a.model_copy(update={"right": None}) for k, a in one.tasks["imdb"].attacks.items()}
        )
        for one in some()
    ]
    unpaired = groups_of(*blind)[1].columns["robust"]
    assert paired.difference is not None
    assert unpaired.difference is not None
    assert paired.difference.value == pytest.approx(unpaired.difference.value)
    assert paired.p is not None
    assert unpaired.p is not None
    assert paired.p < 0.05 < unpaired.p
    assert paired.mark == "better"


def test_a_headline_has_everything_and_the_verdict_is_about_it() -> None:
    groups = groups_of(*some())
    (found,) = headlines(groups)
    titles = [one.title for one in found.columns]
    assert titles == ["Clean", "Robust", "Shift", "ECE before", "Anomaly", "Gap closed", "Transfer"]
    assert found.gains == ["Clean gain", "Robust gain"]
    vanilla, uegr = found.lines
    assert vanilla.cells[titles.index("Transfer")] is None
    assert uegr.cells[titles.index("Transfer")] is not None
    assert uegr.gains[1].startswith("+6.")
    judged = verdict(groups)
    assert judged is not None
    assert judged.columns == ["Clean", "Robust"]


def test_the_page_and_the_markdown_have_it_with_the_doubts() -> None:
    results = [run("vanilla", 0, 0.2, 0.4), run("uegr", 0, 0.3, 0.5)]
    runs = [Run(str(place), one) for place, one in enumerate(results)]
    groups = grouped(runs)
    (found,) = headlines(groups)
    assert doubted(found) == {ONE_SEED: ["vanilla", "uegr"]}
    for text in (markdown(Collection(runs), groups), render(Collection(runs), groups=groups)):
        assert "imdb · minilm" in text
        assert ONE_SEED in text
        assert "Transfer" in text


def labelled(seed: int) -> Result:
    """Vanilla with three times the epochs, as a grid calls it."""
    made = run("vanilla", seed, 0.15, 0.35)
    config = made.config.model_copy(update={"training": made.config.training | {"epochs": 9.0}})
    cell = Cell(dataset="imdb", model="minilm", method="vanilla, passes of uegr", seed=seed)
    steps = made.training.model_copy(update={"steps": 3 * made.training.steps})
    return made.model_copy(update={"config": config, "cell": cell, "training": steps})


def test_a_baseline_of_the_same_cost_is_a_row_of_its_own_compared_with_vanilla() -> None:
    groups = groups_of(*some(), *(labelled(seed) for seed in range(3)))
    assert [group.label for group in groups] == ["vanilla", "uegr", "vanilla, passes of uegr"]
    vanilla, uegr, matched = groups
    assert matched.baseline is uegr.baseline is vanilla
    (found,) = headlines(groups)
    assert [line.cost.passes for line in found.lines] == pytest.approx([1.0, 3.2, 3.0])
    judged = verdict(groups)
    assert judged is not None
    assert {row.name for row in judged.rows} == {"uegr", "vanilla, passes of uegr"}


def test_a_contest_has_each_other_method_and_knows_the_margin() -> None:
    groups = groups_of(*some(), *(labelled(seed) for seed in range(3)))
    (found,) = contests(groups, "uegr")
    assert [match.against for match in found.matches] == ["vanilla", "vanilla, passes of uegr"]
    assert (found.won, found.shown) == (True, True)
    assert sentence("uegr", [found]) == (
        "uegr wins on 1 of 1 data sets and models (imdb · minilm); p < 0.05 against every baseline on 1."
    )
    (lost,) = contests(groups, "vanilla")
    assert [(match.higher, match.shown) for match in lost.matches] == [(False, False), (True, True)]
    assert not lost.won
    assert len(rows(lost)[0]) == len(HEADS)
    assert contests(groups, "fgm") == []


def test_the_variants_of_uegr_are_no_baselines_of_each_other() -> None:
    """The rule of docs/study.md names the baselines; uegr lost to uegr_plus, and the other way round."""
    groups = groups_of(*some(), *(run("uegr_plus", seed, 0.3, 0.5) for seed in range(3)))
    for method in ("uegr", "uegr_plus"):
        (found,) = contests(groups, method)
        assert [match.against for match in found.matches] == ["vanilla"]
        assert found.won


@pytest.mark.parametrize(("loss", "fine"), [(0.004, True), (0.006, False)])
def test_more_than_half_a_point_of_clean_score_is_a_loss(loss: float, fine: bool) -> None:
    def clean(one: Result) -> Result:
        value = 0.9 - (loss if one.config.method.name == "uegr" else 0.0) + 0.001 * one.config.seed
        changed = with_evaluation(one, clean={"accuracy": share(value)})
        return changed.with_task("imdb", scores={})

    (found,) = contests(groups_of(*map(clean, some())), "uegr")
    assert found.matches[0].not_inferior is fine
