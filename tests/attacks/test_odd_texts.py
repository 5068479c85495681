"""Empty, tiny, huge, emoji, right-to-left and unknown: each is attacked or skipped with a reason, never a traceback."""

import numpy as np
import pytest

from tests.attacks.attack_models import surface, victim
from uegr.attacks import ATTACKS, attack, load_surface
from uegr.attacks.search import CHUNK

ODD = {
    "empty": "",
    "blank": " \n\t ",
    "one word": "fine",
    "one letter": "a",
    "emoji": "😀👩‍👩‍👧🎬!!",
    "right to left": "הסרט הזה היה נהדר",
    "arabic": "كان الفيلم رائعا",
    "unknown language": "zxqv brrf klomp wug",
    "devanagari": "यह फ़िल्म अच्छी है",
    "lone surrogate": "fine \ud800 film",
    "nul": "a\x00fine film",
}
SETTINGS = {"genetic": {"population": 3, "iterations": 1}, "textfooler": {"similarity": None}}


def counts(texts):
    """Three classes by lengths: any text has a score, and any change can matter."""
    sizes = np.array([[len(text), text.count(" "), text.count("e") + text.count("ה")] for text in texts], dtype=float)
    shares = np.exp(sizes - sizes.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", ATTACKS)
def test_odd_texts(name):
    texts = list(ODD.values())
    given = [(text, int(row.argmax())) for text, row in zip(texts, counts(texts), strict=True)]
    results = attack(counts, given, name, surface=surface(), **SETTINGS.get(name, {}))
    for outcome in results.outcomes:
        assert (outcome.found is not None) != bool(outcome.reason)
    by_kind = dict(zip(ODD, results.outcomes, strict=True))
    for kind in ("empty", "blank", "emoji"):
        assert (by_kind[kind].status, by_kind[kind].reason) == ("skipped", "no words")
    assert by_kind["one word"].found not in (None, "fine")
    if ATTACKS[name].lexical:
        assert by_kind["unknown language"].reason == "nothing to change (three)"


@pytest.mark.parametrize("name", ATTACKS)
def test_odd_texts_through_a_tokenizer(name):
    texts = [text for kind, text in ODD.items() if kind != "lone surrogate"]  # no tokenizer takes one
    texts.append("the film was fine " * 2500)
    given = [(text, int(row.argmax())) for text, row in zip(texts, victim()(texts), strict=True)]
    results = attack(victim(), given, name, surface=surface(), budget=40, **SETTINGS.get(name, {}))
    assert len(results.outcomes) == len(texts)
    for outcome in results.outcomes:
        assert (outcome.found is not None) != bool(outcome.reason)
    assert results.outcomes[-1].words == 62  # what the model reads: 64 tokens with two special ones


@pytest.mark.parametrize("name", ATTACKS)
@pytest.mark.parametrize("side", ["first", "second"])
def test_odd_pairs(name, side):
    pairs = [(text, "a fine film") if side == "first" else ("a fine film", text) for text in ODD.values()]
    joined = lambda texts: counts([f"{one}\n{two}" for one, two in texts])  # noqa: E731
    given = [(pair, int(row.argmax())) for pair, row in zip(pairs, joined(pairs), strict=True)]
    results = attack(joined, given, name, surface=surface(), side=side, **SETTINGS.get(name, {}))
    for outcome, pair in zip(results.outcomes, pairs, strict=True):
        assert (outcome.found is not None) != bool(outcome.reason)
        stays = side == "first"
        assert outcome.found is None or outcome.found[stays] == pair[stays]


def test_what_a_tokenizer_refuses_is_a_clear_line():
    from uegr.errors import InputError

    with pytest.raises(InputError, match="predict failed on 1 texts"):
        attack(victim(), [(ODD["lone surrogate"], 0)], "deepwordbug")


@pytest.mark.parametrize("name", ["pwws", "textfooler", "deepwordbug", "checklist", "genetic"])
def test_ten_thousand_words(name):
    text = " ".join(["the film was fine and", "strange people went there again"] * 1000)
    largest = 0

    def length(texts):
        nonlocal largest
        largest = max(largest, len(texts))
        share = np.array([0.5 + len(text) / 4e5 for text in texts])
        return np.stack([1 - share, share], axis=1)

    settings = SETTINGS.get(name, {}) | ({"distance": 3} if name == "deepwordbug" else {})
    results = attack(length, [(text, 1)], name, surface=surface(), budget=600, batch_size=10_000, **settings)
    (outcome,) = results.outcomes
    assert outcome.words == 10_000
    assert outcome.found is not None or outcome.reason == "budget spent"
    assert outcome.queries <= 600
    assert largest <= CHUNK


def test_chinese_by_cilin():
    def predict(texts):
        share = np.array([0.9 if "干净" in text else 0.2 for text in texts])
        return np.stack([1 - share, share], axis=1)

    results = attack(predict, [("这家酒店的房间非常干净。", 1)], "pwws", surface=load_surface("cilin"))
    (outcome,) = results.outcomes
    assert outcome.status == "success"
    assert outcome.found.startswith("这家酒店的房间非常")
    assert outcome.found.endswith("。")
    assert "干净" not in outcome.found
