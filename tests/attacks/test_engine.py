"""The engine: the same results however searches are interleaved or cut short; and nothing asked twice."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from tests.attacks.attack_models import Recorder, bag, examples, own_labels, sentences, surface
from uegr.attacks import Example, attack
from uegr.attacks.pwws import PWWS
from uegr.attacks.search import Attempt, Queries
from uegr.errors import InputError

SMALL = {"population": 6, "iterations": 3}


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
    from uegr.attacks.lexicons import Lexicon, Reading

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
