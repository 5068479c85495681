"""Answers, attacks and perturbations: what the page shows is what the rest of the package computes."""

from pathlib import Path

import numpy as np
import pytest

from uegr.attacks.lexicons import is_at_hand
from uegr.errors import InputError
from uegr.evaluation import perturbation_curve
from uegr.playground.attacked import choices, default_choice, marked
from uegr.playground.opened import open_models
from uegr.playground.play import RADII, STEP, Playground
from uegr.runs.finished import Prediction

TEXT = "the plot was awful and the scene dull"


@pytest.fixture(scope="module")
def play(runs: list[Path], substitutes: str) -> Playground:
    return Playground(open_models(runs), surface=substitutes)


@pytest.fixture(scope="module")
def substitutes(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of substitutes that contradict, so that every word attack succeeds."""
    path = tmp_path_factory.mktemp("words") / "words.tsv"
    path.write_text("awful\tgreat\nfine\tawful\ndull\tlovely\nplot\tfilm\n", encoding="utf-8")
    return str(path)


def test_each_model_answers_as_predict_does(play: Playground) -> None:
    found = play.predictions(TEXT)
    for model, answer in zip(play.models, found, strict=True):
        assert answer == model.task.run.predict([TEXT], calibrate=True)[0]
    assert found[1].label == "bad"
    assert found[0].probabilities != found[1].probabilities


def test_an_attack_changes_words_and_the_answer(play: Playground) -> None:
    found = list(play.attacked(TEXT, "pwws"))
    assert len(found) == 2
    last = found[1]
    assert (last.flipped, last.first.label, last.last and last.last.label) == (True, "bad", "good")
    changed = [piece for piece, mark in last.after if mark]
    assert set(changed) <= {"great", "lovely", "film"}
    assert changed
    assert "".join(piece for piece, _ in last.before) == TEXT
    assert "".join(piece for piece, _ in last.after) == last.outcome.found
    assert last.last is not None
    told = f"{play.models[1].moved(last.first, last.last)}: label changed ({len(changed)} of 8 words, "
    assert last.told(play.models[1]).startswith(told)


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        (0.501, 0.504, "bad 50.1% → good 50.4%"),
        (0.501, 0.62, "bad 50% → good 62%"),
        (0.93, 0.93, "bad 93.0% → good 93.0%"),
    ],
)
def test_shares_that_round_to_the_same_have_a_decimal(play: Playground, first: float, last: float, told: str) -> None:
    one, other = (
        Prediction("bad", {"bad": first, "good": 1 - first}),
        Prediction("good", {"bad": 1 - last, "good": last}),
    )
    assert play.models[0].moved(one, other) == told


def test_an_attack_on_letters_needs_no_lexicon(play: Playground) -> None:
    first = next(play.attacked(TEXT, "deepwordbug"))
    assert first.outcome.queries > 1


def test_where_nothing_may_change_the_page_says_so(play: Playground) -> None:
    found = next(play.attacked("w1 w2", "pwws"))
    assert (found.after, found.last, found.told(play.models[0])) == (
        [],
        None,
        "not attacked: nothing to change (words.tsv)",
    )
    found = next(play.attacked("!!! ???", "deepwordbug"))
    assert found.told(play.models[0]) == "not attacked: no words"


def test_an_attack_that_the_page_does_not_offer_is_refused(play: Playground) -> None:
    with pytest.raises(InputError, match="no attack 'pgd'"):
        next(play.attacked(TEXT, "pgd"))
    with pytest.raises(InputError, match="expected the side first or second"):
        next(play.attacked(TEXT, "pwws", "third"))  # type: ignore[arg-type]


def test_the_radius_agrees_with_the_curve_of_the_evaluation(play: Playground) -> None:
    """A label that FGM changes at a radius is wrong there in the curve too, and the other way round."""
    for number, model in enumerate(play.models):
        task, label = model.task, int(play.line(number, TEXT).labels[0])
        curve = perturbation_curve(
            task.model,
            task.tokenizer,
            [{"text": TEXT, "label": label}],
            epsilons=RADII,
            max_length=task.max_length,
            temperature=model.temperature,
            relative=True,
        )
        kept = [point.accuracy.value == 1 for point in curve]
        assert kept == [not play.at(number, TEXT, place).changed for place in range(len(RADII))]


def test_the_smallest_radius_that_changes_the_label_is_found(play: Playground) -> None:
    line = play.line(1, TEXT)
    assert line.flips is not None
    place = int(np.flatnonzero(line.labels != line.labels[0])[0])
    assert RADII[place - 1] < line.flips <= RADII[place]
    at = play.moved(TEXT, RADII[place])[1]
    assert (at.changed, at.answer.label) == (True, "good")
    assert at.told == f"label changed; it first changes at radius {line.flips:.3g}"
    assert not play.moved(TEXT, 0)[1].changed


def test_no_radius_leaves_the_answer_as_it_is(play: Playground) -> None:
    for answer, moved in zip(play.predictions(TEXT), play.moved(TEXT, 0), strict=True):
        assert moved.answer.label == answer.label
        assert moved.answer.probabilities == pytest.approx(answer.probabilities, abs=1e-6)


def test_a_line_is_computed_once(play: Playground) -> None:
    assert play.line(0, TEXT) is play.line(0, TEXT)


@pytest.mark.parametrize("radius", [-STEP, RADII[-1] + STEP, float("inf"), float("nan")])
def test_a_radius_beyond_the_slider_is_refused(play: Playground, radius: float) -> None:
    with pytest.raises(InputError, match="expected a radius from 0 to 2"):
        play.moved(TEXT, radius)


def test_nothing_of_the_models_is_changed_by_playing(play: Playground) -> None:
    before = play.predictions(TEXT)
    play.moved(TEXT, 1)
    list(play.attacked(TEXT, "pwws"))
    assert play.predictions(TEXT) == before
    for model in play.models:
        assert all(weight.grad is None for weight in model.task.model.parameters())


def test_pairs_are_attacked_on_the_side_that_was_chosen(pair_run: Path, substitutes: str) -> None:
    play = Playground(open_models([pair_run]), surface=substitutes)
    assert play.paired
    for side, other in (("first", 1), ("second", 0)):
        pair = ("the fine plot", "an awful film")
        (found,) = play.attacked(pair, "pwws", side)  # type: ignore[arg-type]
        assert found.outcome.found is not None
        assert found.outcome.found[other] == pair[other]
        assert found.outcome.found[1 - other] != pair[1 - other]
        assert "".join(piece for piece, _ in found.before) == pair[1 - other]
    assert play.moved(pair, 0.5)


def test_the_end_of_a_long_text_is_not_read_in_silence(play: Playground) -> None:
    assert play.cut(TEXT) == []
    assert play.cut("film " * 50) == ["short reads the first 32 tokens", "long reads the first 32 tokens"]


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_without_a_lexicon_only_attacks_on_letters_are_offered(empty_cache: None) -> None:
    """Nothing is downloaded because of a click."""
    assert not is_at_hand("wordnet")
    assert choices() == ["deepwordbug", "checklist"]
    assert default_choice(choices()) == "deepwordbug"


def test_a_file_of_substitutes_is_at_hand(empty_cache: None, substitutes: str) -> None:
    assert choices(substitutes) == ["pwws", "genetic", "deepwordbug", "checklist"]  # textfooler needs an encoder
    assert default_choice(choices(substitutes)) == "pwws"


def test_marks_are_on_what_differs() -> None:
    assert marked("a film .", "a film") == ([("a film", False), (" .", True)], [("a film", False)])
    assert marked("it is bad", "it's bad")[1] == [("it", False), ("'s ", True), ("bad", False)]
    before, after = marked("good", "good film")
    assert before == [("good", False)]
    assert after == [("good", False), (" film", True)]
