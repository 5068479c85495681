"""Each attack in the engine equals its slow sequential telling in every flip, word and score."""

import numpy as np
import pytest

import tests.attacks.attack_references as slow
from tests.attacks.attack_models import bag, own_labels, sentences, surface, victim
from uegr.attacks import attack

SMALL = {"population": 6, "iterations": 3, "neighbours": 4}


def letters(texts):
    """A stand-in for a sentence encoder: counts of letters, with the rows in the order of the texts."""
    return np.array([[1.0 + text.lower().count(letter) for letter in "aeinorst"] for text in texts])


CASES = {
    "pwws-ren": ("pwws", {"variant": "ren"}, slow.pwws_ren, {}),
    "pwws-greedy": ("pwws", {"variant": "greedy"}, slow.pwws_greedy, {}),
    "genetic": ("genetic", SMALL, slow.genetic, SMALL),
    "textfooler": ("textfooler", {"similarity": None}, slow.textfooler, {}),
    "textfooler-similar": (
        "textfooler",
        {"similarity": letters, "threshold": 0.99},
        slow.textfooler,
        {"embed": lambda text: letters([text])[0], "threshold": 0.99},
    ),
    "deepwordbug": ("deepwordbug", {}, slow.deepwordbug, {}),
    "checklist": ("checklist", {}, slow.checklist, {}),
}


@pytest.mark.parametrize("model", ["bag", "bert"])
@pytest.mark.parametrize("case", CASES)
def test_equal(case, model):
    name, settings, reference, options = CASES[case]
    predict, count = (bag, 50) if model == "bag" else (victim(), 15)
    examples = own_labels(predict, [text for text, _ in sentences()[:count]])
    results = attack(predict, examples, name, surface=surface(), seed=7, **settings)
    for index, ((text, label), outcome) in enumerate(zip(examples, results.outcomes, strict=True)):
        random = np.random.default_rng([7, index])
        expected = reference(lambda one: predict([one])[0], text, label, surface(), random, **options)
        assert expected is not None
        assert outcome.found == expected[0]
        assert outcome.found_probability == pytest.approx(expected[1][label], abs=1e-12)
        assert outcome.found_predicted == slow.winner(expected[1])
        assert (outcome.status == "success") == (slow.winner(expected[1]) != label)
    flips = sum(outcome.status == "success" for outcome in results.outcomes)
    assert flips > 0, "a test in which nothing flips shows little"
