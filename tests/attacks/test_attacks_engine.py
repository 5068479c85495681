"""The engine: the same results however searches are interleaved, cut short, or interrupted; and nothing asked twice."""

import json
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from attack_models import bag, own_labels, sentences, surface
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from uegr.attacks import AttackStopped, Example, attack
from uegr.attacks.outcome import Outcome
from uegr.attacks.pwws import PWWS
from uegr.attacks.search import Attempt, Queries
from uegr.errors import InputError

SMALL = {"population": 6, "iterations": 3}


def examples(count=12):
    return own_labels(bag, [text for text, _ in sentences()[:count]])


class Recorder:
    """A predict function that remembers its calls."""

    def __init__(self, function=bag):
        self.function, self.calls = function, []

    def __call__(self, texts):
        self.calls.append(list(texts))
        return self.function(texts)


class Dying(Recorder):
    """Works for some calls, then fails in the given way."""

    def __init__(self, good, failure):
        super().__init__()
        self.good, self.failure = good, failure

    def __call__(self, texts):
        rows = super().__call__(texts)
        return rows if len(self.calls) <= self.good else self.failure(rows)


def boom(rows):
    raise ConnectionError("the server\nwent away")


@pytest.mark.parametrize("name", ["pwws", "genetic"])
@pytest.mark.parametrize(("width", "batch"), [(1, 1), (3, 7), (256, 1000)])
def test_results_do_not_depend_on_width_or_batch(name, width, batch):
    settings = SMALL if name == "genetic" else {}
    expected = attack(bag, examples(), name, surface=surface(), **settings).outcomes
    assert (
        attack(bag, examples(), name, surface=surface(), width=width, batch_size=batch, **settings).outcomes == expected
    )


def test_no_text_is_scored_twice_and_batches_are_sorted():
    predict = Recorder()
    twice = examples() + examples()
    summary = attack(predict, twice, "genetic", surface=surface(), batch_size=16, **SMALL).summary
    asked = [text for call in predict.calls for text in call]
    assert len(asked) == len(set(asked)) == summary.scored
    assert len(predict.calls) == summary.calls
    assert max(map(len, predict.calls)) == 16
    assert all(list(map(len, call)) == sorted(map(len, call), reverse=True) for call in predict.calls)
    assert 0 < summary.seconds_predicting <= summary.seconds


def test_seed_matters_only_where_chance_does():
    def found(name, seed):
        settings = {"population": 2, "iterations": 1} if name == "genetic" else {}
        return [one.found for one in attack(bag, examples(), name, surface=surface(), seed=seed, **settings).outcomes]

    assert found("genetic", 1) == found("genetic", 1) != found("genetic", 2)
    assert found("pwws", 1) == found("pwws", 2)


def test_figures_by_hand():
    right = np.array([0.1, 0.9])
    table = {"a good film": right, "bad": right, "good": right, "a fine film": right[::-1]}

    def predict(texts):
        return np.array([table.get(text, [0.2, 0.8]) for text in texts])

    lexicon = {"good": ["fine", "nice"]}
    given = [("a good film", 1), ("bad", 0), Example("good", 1), ("", 1), ("the film", 1)]
    results = attack(predict, given, "pwws", surface=tiny(lexicon))
    first, second, third, fourth, fifth = results.outcomes
    assert (first.status, first.found) == ("success", "a fine film")
    assert (first.found_predicted, first.found_probability) == (0, 0.1)
    assert [(c.position, c.old, c.new) for c in first.changes] == [(1, "good", "fine")]
    assert first.queries == 1 + 1 + 2 + 1  # itself, unknown, two substitutes, the replaced text
    assert (second.status, second.reason, second.right_after) == ("skipped", "misclassified", False)
    assert (third.status, third.found, third.right_after) == ("failure", "fine", True)  # the first of equals
    assert (fourth.status, fourth.reason, fourth.right_after) == ("skipped", "no words", True)
    assert (fifth.status, fifth.reason) == ("skipped", "nothing to change (tiny)")
    summary = results.summary
    assert (summary.accuracy_before, summary.accuracy_after, summary.success_rate) == (4 / 5, 3 / 5, 1 / 4)
    assert (summary.words_changed, summary.words_changed_share, summary.queries) == (1, 1 / 3, 5)
    assert summary.skipped == {"misclassified": 1, "no words": 1, "nothing to change (tiny)": 1}
    assert results.adversarial() == [Example("a fine film", 1)]


def tiny(entries):
    from uegr.attacks import Surface
    from uegr.data.synonyms import Lexicon, Reading

    return Surface(Lexicon("tiny", "en", {word: (Reading("", 0, tuple(o)),) for word, o in entries.items()}))


@pytest.mark.parametrize("side", ["first", "second"])
def test_only_one_side_of_a_pair_changes(side):
    pairs = [(one, two) for (one, _), (two, _) in zip(sentences()[:12], sentences()[12:24], strict=True)]
    given = own_labels(bag, pairs)
    results = attack(bag, given, "pwws", surface=surface(), side=side)
    stays = 1 if side == "first" else 0
    assert results.summary.success_rate
    for outcome in results.outcomes:
        assert isinstance(outcome.found, tuple)
        assert outcome.found[stays] == outcome.text[stays]
        assert outcome.found[1 - stays] != outcome.text[1 - stays]


def test_budget_is_never_exceeded_and_a_spent_one_is_a_failure():
    generous = attack(bag, examples(), "pwws", surface=surface())
    need = sorted(outcome.queries for outcome in generous.outcomes)
    limit = need[len(need) // 2]
    results = attack(bag, examples(), "pwws", surface=surface(), budget=limit)
    for free, tight in zip(generous.outcomes, results.outcomes, strict=True):
        assert tight.queries <= limit
        assert (tight == free) if free.queries <= limit else (tight.reason == "budget spent" and tight.right_after)
    assert {outcome.status for outcome in results.outcomes} >= {"success", "failure"}


@pytest.mark.parametrize(
    ("failure", "says"),
    [
        (boom, r"predict failed on \d+ texts: ConnectionError: the server"),
        (lambda rows: rows[:-1], r"must give an array of shape \(\d+, 2\)"),
        (lambda rows: rows[:, 0], r"must give an array of shape"),
        (lambda rows: np.concatenate([rows, rows], axis=1) / 2, r"shape \(\d+, 2\), got \(\d+, 4\)"),
        (lambda rows: rows * np.nan, r"NaN or infinity for \d+ of \d+ texts"),
        (lambda rows: np.log(rows), "sum to 1, got .*softmax"),
        (lambda rows: [["a", "b"]] * len(rows), "rows of numbers, got list"),
        (lambda rows: None, "predict must give"),
    ],
)
def test_a_dying_predict_keeps_what_is_done_and_resume_completes_it(tmp_path, failure, says):
    path = tmp_path / "deep" / "attack.jsonl"
    whole = attack(bag, examples(), "pwws", surface=surface())
    with pytest.raises(AttackStopped, match=says) as caught:
        attack(Dying(10, failure), examples(), "pwws", surface=surface(), output=path, width=2, batch_size=16)
    assert "\n" not in str(caught.value)
    assert f"kept in {path}" in str(caught.value)
    done = [json.loads(line) for line in path.read_text().splitlines()]
    kept = sum(line["kind"] == "outcome" for line in done)
    assert 0 < kept == len(caught.value.outcomes) < len(examples())
    predict = Recorder()
    results = attack(predict, examples(), "pwws", surface=surface(), output=path, resume=True)
    assert results.outcomes == whole.outcomes
    assert results.summary.accuracy_after == whole.summary.accuracy_after
    assert results.summary.scored > sum(map(len, predict.calls))  # the first session's texts are counted too
    finished = {line["text"] for line in done if line["kind"] == "outcome"}
    assert not finished & {text for call in predict.calls for text in call}


def test_an_interrupt_keeps_what_is_done(tmp_path):
    def interrupt(rows):
        raise KeyboardInterrupt

    path = tmp_path / "attack.jsonl"
    with pytest.raises(KeyboardInterrupt):
        attack(
            Dying(8, interrupt), examples(), "genetic", surface=surface(), output=path, width=2, batch_size=64, **SMALL
        )
    assert path.read_text().count('"outcome"') > 0
    results = attack(bag, examples(), "genetic", surface=surface(), output=path, resume=True, **SMALL)
    assert results.outcomes == attack(bag, examples(), "genetic", surface=surface(), **SMALL).outcomes


def test_a_line_cut_off_by_a_crash_is_done_again(tmp_path):
    path = tmp_path / "attack.jsonl"
    whole = attack(bag, examples(), "pwws", surface=surface(), output=path)
    content = path.read_text()
    lines = content.splitlines(keepends=True)
    path.write_text("".join(lines[:4]) + lines[4][: len(lines[4]) // 2])
    assert attack(bag, examples(), "pwws", surface=surface(), output=path, resume=True).outcomes == whole.outcomes
    assert [json.loads(line)["kind"] for line in path.read_text().splitlines()].count("outcome") == len(examples())
    path.write_text(lines[0][:20])
    assert attack(bag, examples(), "pwws", surface=surface(), output=path, resume=True).outcomes == whole.outcomes
    finished = path.read_text()
    assert attack(lambda texts: 1 / 0, examples(), "pwws", surface=surface(), output=path, resume=True).outcomes
    assert path.read_text().startswith(finished)


def test_a_text_with_line_separators_of_its_own_is_read_again(tmp_path):
    path = tmp_path / "attack.jsonl"
    given = own_labels(bag, ["A fine\u2028film,\x85really\x0bdull\x1cway"])
    whole = attack(bag, given, "pwws", surface=surface(), output=path)
    assert attack(bag, given, "pwws", surface=surface(), output=path, resume=True).outcomes == whole.outcomes


def test_a_journal_is_not_mixed_with_another(tmp_path):
    path = tmp_path / "attack.jsonl"
    attack(bag, examples(3), "pwws", surface=surface(), output=path)
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        attack(bag, examples(3), "pwws", surface=surface(), output=path)
    for changed, says in [
        ({"variant": "greedy"}, "begun with variant='ren', got 'greedy'"),
        ({"seed": 3}, "seed=0, got 3"),
        ({"budget": 5}, "budget=None"),
    ]:
        with pytest.raises(InputError, match=says):
            attack(bag, examples(3), "pwws", surface=surface(), output=path, resume=True, **changed)
    with pytest.raises(InputError, match="examples=3, got 4"):
        attack(bag, examples(4), "pwws", surface=surface(), output=path, resume=True)
    assert path.read_bytes() == before
    path.write_text("[1]\n")
    with pytest.raises(InputError, match="no journal of an attack"):
        attack(bag, examples(3), "pwws", surface=surface(), output=path, resume=True)


def test_outcomes_survive_json():
    pair = own_labels(bag, [(sentences()[0][0], sentences()[1][0])])
    for outcome in attack(bag, [*examples(3), *pair], "deepwordbug").outcomes:
        assert Outcome.decoded(json.loads(json.dumps(outcome.encoded()))) == outcome


@pytest.mark.parametrize(
    ("given", "options", "says"),
    [
        ([], {}, "at least one example"),
        (["just text"], {}, r"example 0: expected \(text, label\)"),
        ([("a", 1), ("b", -1)], {}, "example 1: expected a label"),
        ([("a", True)], {}, "example 0: expected a label"),
        ([("a", 0.5)], {}, "example 0: expected a label"),
        ([(None, 1)], {}, "a text or a pair"),
        ([(("a", "b", "c"), 1)], {}, "a text or a pair"),
        ([("a", 2)], {}, "example 0: expected a label below the 2 classes"),
        ([("a", 1)], {"attack": "pws"}, "did you mean pwws"),
        ([("a", 1)], {"attack": "pgd"}, "pgd moves embeddings, not words; `uegr evaluate RUN --all`"),
        ([("a", 1)], {"variant": "grady"}, "did you mean greedy"),
        ([("a", 1)], {"variannt": "ren"}, "pwws has no setting variannt; did you mean variant"),
        ([("a", 1)], {"attack": PWWS(), "variant": "ren"}, "settings inside"),
        ([("a", 1)], {"budget": 0}, "budget >= 1"),
        ([("a", 1)], {"width": 0}, "width"),
        ([("a", 1)], {"side": "left"}, "side first or second"),
        ([("a", 1)], {"batch_size": -1}, "batch_size >= 1"),
        ([("a", 1)], {"surface": "no-such-lexicon"}, "no-such-lexicon"),
    ],
)
def test_mistakes_are_one_clear_line(given, options, says):
    with pytest.raises(InputError, match=says) as caught:
        attack(bag, given, **{"surface": surface(), **options})
    assert "\n" not in str(caught.value)


def test_a_scikit_learn_pipeline():
    texts, labels = zip(*sentences(), strict=True)
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, labels)
    summary = attack(model.predict_proba, sentences()[:20], "pwws", surface=surface()).summary
    assert summary.accuracy_before == 1
    assert summary.accuracy_after < 0.9


def test_progress_is_drawn_only_when_asked_for(capsys):
    attack(bag, examples(4), "checklist")
    assert capsys.readouterr().err == ""
    results = attack(bag, examples(4), "checklist", progress=True)
    flips = sum(outcome.status == "success" for outcome in results.outcomes)
    drawn = capsys.readouterr().err
    assert "4/4" in drawn
    assert f"{flips} flipped" in drawn


@dataclass(frozen=True)
class FirstWord:
    """The attack of one's own in docs/attacks.md."""

    name: ClassVar[str] = "first-word"
    lexical: ClassVar[bool] = True

    def scorers(self):
        return {}

    def __call__(self, target, surface, random):
        others = surface.substitutes(target.words.words[0])
        if not others:
            return None
        texts = [target.words.swapped(0, other) for other in others]
        scores = yield Queries([target.of(text) for text in texts])
        best = scores[:, target.label].argmin()
        return Attempt(texts[best].text, scores[best])


def test_an_attack_of_ones_own():
    given = own_labels(bag, ["Film of the year", "Zzz film"])
    results = attack(bag, given, FirstWord(), surface=tiny({"film": ["movie"]}))
    assert results.summary.attack == "first-word"
    assert [outcome.found for outcome in results.outcomes] == ["Movie of the year", None]
