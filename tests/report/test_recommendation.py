"""Which method: made-up ledgers in which the right answer is known by construction."""

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.report.synthetic_runs import result, share, with_evaluation
from tests.report.test_headline import HEAT, ROWS
from uegr.ledger.entries import entry, write
from uegr.report.recommendation import Question, Recommendation, basis, read_studies, recommendation, refused, sentence
from uegr.report.recommendation import settings as settings_of
from uegr.result import Curve, Point, Result
from uegr.statistics import packed

SEEDS = 3
EASY = {"vanilla": (0.9, 0.3), "fgm": (0.9, 0.4), "uegr": (0.9, 0.5)}  # clean, robust
Scores = Mapping[str, tuple[float, float]]


def rows_right(accuracy: float, seed: int, method: str) -> list[bool]:
    """The same easy rows for every method, and one or two by luck."""
    luck = random.Random(f"{method} {seed}").randint(-1, 1)
    return [place < int(ROWS * accuracy) + luck for place in range(ROWS)]


def cell(method: str, seed: int, clean: float, robust: float, dataset: str, **options: Any) -> Result:
    """A result with this clean score, and this accuracy under calibrated PWWS and relative PGD."""
    made = result(dataset, method, seed, **options)
    right = rows_right(robust, seed, method)
    share_right = share(float(np.mean(right)), ROWS)
    point = Point(epsilon=0.3, relative=0.1, accuracy=share_right, right=packed(right))
    curves = {"pgd_relative": Curve(points=[point], mean_drop=share(0.2, ROWS))}
    made = with_evaluation(made, perturbation=curves, clean={"accuracy": share(clean + 0.001 * (seed % 2))})
    (attack,) = made.tasks[dataset].attacks.values()
    fixed = {"accuracy_after": share_right, "right": packed(right), "temperature": HEAT}
    return made.with_task(
        dataset, attacks={f"pwws on {dataset}": attack.model_copy(update=fixed)}, temperature=HEAT, scores={}
    )


def masked(made: Result) -> Result:
    """The same, with texts from another model that break more than the search on this one."""
    ((name, task),) = made.tasks.items()
    (attack,) = task.attacks.values()
    texts = {"attack": "pwws replayed", "temperature": None, "accuracy_after": share(0.1, ROWS), "right": None}
    return made.with_task(name, attacks=task.attacks | {"moved": attack.model_copy(update=texts)})


def fill(ledger: Path, scores: Scores, study: str = "main", seeds: int = SEEDS, **options: Any) -> Path:
    """A study with these scores on each of its data sets."""
    for dataset in options.pop("datasets", ["imdb"]):
        for method, (clean, robust) in scores.items():
            for seed in range(seeds):
                made = cell(method, seed, clean, robust, dataset, **{"train_size": 1000, **options})
                write(ledger / study, entry(study, f"{dataset}-{method}-{seed}", made))
    (ledger / study / "grid.yaml").write_text(f"title: The study {study}\n")
    return ledger


def asked(ledger: Path, rows: int = 1000, limit: float | None = None, model: str = "minilm") -> Recommendation:
    groups = read_studies(sorted(ledger.iterdir()))
    return recommendation(groups, Question(model, rows, limit), lambda name: name == "textcnn")


def test_a_data_set_that_has_only_begun_takes_nothing_from_finished_ones(tmp_path: Path) -> None:
    """With one seed of a second data set, every method was unreliable and the answer was vanilla."""
    found = asked(fill(fill(tmp_path, EASY), EASY, seeds=1, datasets=["yelp"]))
    assert found.method == "uegr"
    assert basis(found) == "main: imdb with minilm, 1,000 rows, 3 seeds"
    fewer = asked(fill(fill(tmp_path / "fewer", EASY), EASY, seeds=2, datasets=["yelp"]))
    assert basis(fewer) == "main: imdb, yelp with minilm, 1,000 rows, 2-3 seeds"
    begun = asked(fill(tmp_path / "begun", EASY, seeds=1))
    assert (begun.method, begun.datasets) == ("vanilla", ["imdb"])


def test_a_data_set_where_vanilla_is_at_chance_is_no_evidence(tmp_path: Path) -> None:
    """There the method that learns least looks the most robust."""
    ledger = fill(tmp_path, EASY)
    for method, (clean, robust) in {**EASY, "fgm": (0.7, 0.69)}.items():
        for seed in range(SEEDS):
            made = cell(method, seed, clean, robust, "cola", train_size=1000)
            guessed = {"test": {"accuracy": share(0.7, ROWS), "balanced_accuracy": share(0.5, ROWS)}}
            made = made.with_task("cola", scores=guessed)
            write(ledger / "main", entry("main", f"cola-{method}-{seed}", made))
    found = asked(ledger)
    assert (found.method, found.datasets) == ("uegr", ["imdb"])


def test_the_most_robust_method_is_recommended_with_its_evidence(tmp_path: Path) -> None:
    found = asked(fill(tmp_path, EASY))
    assert found.chosen is not None
    assert found.method == "uegr"
    assert [one.ranked.name for one in found.candidates] == ["uegr", "fgm"]
    assert found.chosen.robust.words == "better"
    assert found.chosen.clean.words == "no difference shown"
    assert found.chosen.robust.figure.value == pytest.approx(20, abs=1)
    assert sentence(found).startswith("Use uegr: the highest robust score, +")
    assert basis(found) == "main: imdb with minilm, 1,000 rows, 3 seeds"
    assert [(one.name, one.robust.words) for one in found.rivals] == [("fgm", "better")]


def test_a_method_that_costs_too_much_is_passed_over(tmp_path: Path) -> None:
    found = asked(fill(tmp_path, EASY), limit=2)
    assert found.method == "fgm"
    assert refused(found) == {"costs 3.2 ×": ["uegr"]}
    nothing = asked(tmp_path, limit=1.5)
    assert (nothing.method, nothing.chosen) == ("vanilla", None)
    assert sentence(nothing) == (
        "No method within 1.5 times the passes of vanilla is shown to be better than vanilla. Use vanilla."
    )


def test_a_limit_is_compared_with_the_cost_as_it_is_shown(tmp_path: Path) -> None:
    fill(tmp_path, EASY)
    for seed in range(SEEDS):  # one step more than twice those of vanilla
        made = cell("fgm", seed, 0.9, 0.4, "imdb", train_size=1000)
        steps = made.training.model_copy(update={"steps": made.training.steps + 1})
        write(tmp_path / "main", entry("main", f"imdb-fgm-{seed}", made.model_copy(update={"training": steps})))
    assert asked(tmp_path, limit=2).method == "fgm"


def test_a_tie_is_no_gain(tmp_path: Path) -> None:
    found = asked(fill(tmp_path, {"vanilla": (0.9, 0.3), "fgm": (0.9, 0.305), "uegr": (0.9, 0.3)}))
    assert found.chosen is None
    assert refused(found) == {"no difference shown": ["fgm", "uegr"]}
    assert sentence(found) == "No method is shown to be better than vanilla. Use vanilla."


def test_of_two_alike_the_rival_is_named(tmp_path: Path) -> None:
    found = asked(fill(tmp_path, {"vanilla": (0.9, 0.3), "fgm": (0.9, 0.495), "uegr": (0.9, 0.5)}))
    assert found.method == "uegr"
    assert [(one.name, one.cost, one.robust.words) for one in found.rivals] == [("fgm", 2.0, "no difference shown")]


@pytest.mark.parametrize(("clean", "method"), [(0.896, "uegr"), (0.893, "fgm")])
def test_clean_score_is_not_traded_beyond_the_margin(tmp_path: Path, clean: float, method: str) -> None:
    found = asked(fill(tmp_path, EASY | {"uegr": (clean, 0.5)}))
    assert found.method == method
    assert refused(found) == ({} if method == "uegr" else {"clean score lower": ["uegr"]})


def test_what_is_unreliable_is_not_recommended(tmp_path: Path) -> None:
    fill(tmp_path, EASY)
    made = masked(cell("uegr", 0, 0.9, 0.5, "imdb", train_size=1000))
    write(tmp_path / "main", entry("main", "imdb-uegr-0", made))
    found = asked(tmp_path)
    assert found.method == "fgm"
    assert [reason.split(",")[0] for reason in refused(found)] == [
        "unreliable: gradient masking: texts found on another model leave 10.0%"
    ]


def test_one_seed_recommends_nothing(tmp_path: Path) -> None:
    found = asked(fill(tmp_path, EASY, seeds=1))
    assert found.chosen is None
    reasons = (
        "unreliable: one seed: another seed may give another result; not tested (one seed), interval over rows only"
    )
    assert refused(found) == {reasons: ["uegr", "fgm"]}  # all reasons of a method stand in one place


def test_rows_that_chose_a_method_are_no_evidence_for_it(tmp_path: Path) -> None:
    fill(tmp_path, EASY)
    assert asked(tmp_path).chosen is not None
    (tmp_path / "main" / "grid.yaml").write_text("title: Candidates\nchooses: true\n", encoding="utf-8")
    assert asked(tmp_path).candidates == []


def test_without_cells_it_says_so_and_claims_nothing(tmp_path: Path) -> None:
    found = asked(tmp_path)
    assert (found.method, found.candidates, basis(found), found.far) == ("vanilla", [], "nothing", False)
    assert sentence(found).startswith("No evidence yet")
    assert asked(fill(tmp_path, EASY), model="textcnn").candidates == []  # a model of another kind is no evidence


def test_the_nearest_rows_and_the_kind_of_the_model_decide(tmp_path: Path) -> None:
    fill(tmp_path, EASY, "few")
    fill(tmp_path, EASY | {"fgm": (0.9, 0.6)}, "many", train_size=10_000)
    fill(tmp_path, EASY | {"uegr": (0.9, 0.2)}, "scratch", model="textcnn")
    assert asked(tmp_path, rows=2000).method == "uegr"
    assert asked(tmp_path, rows=9000).method == "fgm"
    assert asked(tmp_path, rows=1000, model="textcnn").method == "fgm"
    assert asked(tmp_path, rows=1000, model="owner/other").models == ["minilm"]
    assert asked(tmp_path, rows=30_000).rows == [10_000]
    assert [asked(tmp_path, rows=rows).far for rows in (30_000, 50_000)] == [False, True]


def test_the_model_itself_comes_before_others_of_its_kind(tmp_path: Path) -> None:
    fill(tmp_path, EASY, "own")
    fill(tmp_path, EASY | {"fgm": (0.9, 0.6)}, "other", model="e5-small")
    assert (asked(tmp_path).method, asked(tmp_path).models) == ("uegr", ["minilm"])
    assert asked(tmp_path, model="e5-small").method == "fgm"


def test_a_method_of_fewer_data_sets_does_not_compete(tmp_path: Path) -> None:
    fill(tmp_path, EASY, datasets=["imdb", "agnews"])
    fill(tmp_path, {"vanilla": (0.9, 0.3), "rat": (0.9, 0.9)}, "others")
    found = asked(tmp_path)
    assert found.method == "uegr"
    assert refused(found) == {"measured on 1 of 2 data sets": ["rat"]}
    assert found.datasets == ["agnews", "imdb"]


def test_a_gain_on_less_than_half_of_the_sets_is_not_enough(tmp_path: Path) -> None:
    fill(tmp_path, EASY, datasets=["imdb"])
    fill(tmp_path, dict.fromkeys(EASY, (0.9, 0.3)), "other", datasets=["agnews", "snippets"])
    assert refused(asked(tmp_path)) == {"robust score higher on 1 of 3": ["uegr", "fgm"]}


def test_a_loss_on_one_set_outweighs_a_gain_on_another(tmp_path: Path) -> None:
    fill(tmp_path, EASY, datasets=["imdb"])
    fill(tmp_path, EASY | {"uegr": (0.9, 0.2)}, "other", datasets=["agnews"])
    found = asked(tmp_path)
    assert found.method == "fgm"
    assert refused(found) == {"robust score: better on 1 of 2, worse on 1 of 2": ["uegr"]}


def test_the_settings_are_the_studys(tmp_path: Path) -> None:
    fill(tmp_path, {"vanilla": (0.9, 0.3)}, epochs=2.0)
    fill(tmp_path, {"uegr": (0.9, 0.5)}, epochs=2.0, epsilon=0.1, submodels=2, gone=1)
    found = asked(tmp_path)
    assert found.chosen is not None
    known = settings_of(found.chosen, {"epsilon": 1.0, "submodels": 2})
    assert known == {"method.epsilon": 0.1, "training.epochs": 2.0, "training.batch_size": 16}
