"""A text that is cut for the model: a search changes only what the model reads, and loses nothing by it."""

import pytest

from tests.attacks.attack_models import bert, own_labels, sentences, surface, tokenizer
from uegr.attacks import Victim, attack

READ = 12  # tokens, with two special ones


def long_texts(count=8):
    """Each of two sentences, so that the second one is cut."""
    texts = [text for text, _ in sentences()]
    return [f"{one} {other}" for one, other in zip(texts[:count], texts[count : 2 * count], strict=True)]


def reader():
    return Victim(bert(), tokenizer(), max_length=READ)


class Blind:
    """The same model as a plain function, of which nobody knows where it stops to read."""

    unknown = "[UNK]"

    def __init__(self):
        self.victim = reader()

    def __call__(self, texts):
        return self.victim(texts)


def attacked(predict, name, texts, side="second", **settings):
    return attack(predict, own_labels(reader(), texts), name, surface=surface(), side=side, width=3, **settings)


def unread(text):
    """How many words of a text lie wholly beyond what the model reads."""
    made = tokenizer()(text, truncation=True, max_length=READ, return_offsets_mapping=True)
    end = max(end for _, end in made["offset_mapping"])
    return len(surface().split(text[end:]).words)


@pytest.mark.parametrize("variant", ["ren", "greedy"])
def test_pwws_finds_the_same_without_asking_about_unread_words(variant):
    texts = long_texts()
    assert all(unread(text) > 3 for text in texts)
    all_words, read_words = (attacked(one, "pwws", texts, variant=variant) for one in (Blind(), reader()))
    for before, after in zip(all_words.outcomes, read_words.outcomes, strict=True):
        assert (before.status, before.found_predicted) == (after.status, after.found_predicted)
        assert after.words == before.words - unread(before.text)
        assert all(change.position < after.words for change in after.changes)
    assert read_words.summary.queries < 0.8 * all_words.summary.queries
    if variant == "ren":  # which replaces every word that it may, until the label flips
        pairs = zip(read_words.outcomes, all_words.outcomes, strict=True)
        assert any(change.position >= after.words for after, before in pairs for change in before.changes)


@pytest.mark.parametrize("name", ["genetic", "deepwordbug", "textfooler"])
def test_no_search_changes_an_unread_word(name):
    settings = {"genetic": {"population": 4, "iterations": 3}, "textfooler": {"similarity": None}}
    results = attacked(reader(), name, long_texts(), **settings.get(name, {}))
    changed = [(change, one) for one in results.outcomes for change in one.changes]
    assert changed
    assert all(change.position < one.words for change, one in changed)
    assert all(one.found.endswith(one.text[-12:]) for one in results.outcomes if one.found)  # the rest stays


@pytest.mark.parametrize("side", ["first", "second"])
def test_each_side_of_a_pair_has_its_own_end(side):
    short, long = "A fine film", long_texts(1)[0]
    pair = (long, short) if side == "first" else (short, long)
    (outcome,) = attacked(reader(), "pwws", [pair], side=side).outcomes
    assert 0 < outcome.words < len(surface().split(long).words)
    (outcome,) = attacked(reader(), "pwws", [pair], side="second" if side == "first" else "first").outcomes
    assert outcome.words == len(surface().split(short).words)


def test_a_text_cut_at_its_start_keeps_all_its_words():
    one = reader()
    one.tokenizer = type(tokenizer())(tokenizer_object=tokenizer().backend_tokenizer, truncation_side="left",
                                      pad_token="[PAD]", unk_token="[UNK]", model_max_length=64)  # fmt: skip
    text = long_texts(1)[0]
    (outcome,) = attack(one, own_labels(one, [text]), "pwws", surface=surface()).outcomes
    assert outcome.words == len(surface().split(text).words)
