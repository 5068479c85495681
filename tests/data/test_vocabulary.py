"""Vocabularies of models without pretraining."""

import datasets
import pytest
from transformers import AutoTokenizer

from uegr.data import vocabulary
from uegr.errors import InputError

TEXTS = ["a good film", "a bad film , a very bad film", "", "Good!"]


def rows(**columns):
    return datasets.Dataset.from_dict({"text": TEXTS, "label": [1, 0, 0, 1], **columns})


@pytest.fixture
def words():
    return vocabulary(rows(), min_frequency=1, max_length=64)


def test_a_vocabulary_of_words(words):
    assert (words.pad_token_id, words.unk_token_id) == (0, 1)
    assert words.tokenize("A Good film!unseen") == ["a", "good", "film", "!", "[UNK]"]
    assert words("a", "film")["input_ids"] == words.convert_tokens_to_ids(["a", "[SEP]", "film"])
    assert set(words("a")) == {"input_ids", "attention_mask"}


def test_rare_words_and_words_beyond_the_size_are_unknown():
    common = vocabulary(rows(), min_frequency=2)
    assert set(common.get_vocab()) == {"[PAD]", "[UNK]", "[SEP]", "a", "good", "bad", "film"}
    assert len(vocabulary(rows(), min_frequency=1, max_size=5)) == 5
    with pytest.raises(InputError, match="expected min_frequency >= 1 and max_size > 3"):
        vocabulary(rows(), max_size=3)


def test_chinese_is_read_by_character():
    chinese = datasets.Dataset.from_dict({"text": ["这部电影很好 OK", "这部电影 不好"]})
    found = vocabulary(chinese, min_frequency=1)
    assert found.tokenize("电影 ok") == ["电", "影", "o", "k"]
    assert vocabulary(chinese, mode="word", min_frequency=1).tokenize("ok 电影") == ["ok", "电", "影"]


def test_pairs_are_in_the_vocabulary():
    pairs = datasets.Dataset.from_dict({"text": ["one"], "pair": ["two"]})
    assert {"one", "two"} <= set(vocabulary(pairs, min_frequency=1).get_vocab())


def test_a_vocabulary_is_saved_beside_a_model_and_read_offline(words, tmp_path):
    words.save_pretrained(tmp_path / "model")
    again = AutoTokenizer.from_pretrained(tmp_path / "model")
    texts = ["A good film, unseen", "bad"]
    assert again(texts, texts)["input_ids"] == words(texts, texts)["input_ids"]
    assert (again.pad_token_id, again.unk_token_id, again.model_max_length) == (0, 1, 64)
    assert again.model_input_names == ["input_ids", "attention_mask"]


def test_a_vocabulary_is_built_once_and_always_the_same(monkeypatch, tmp_path):
    first = vocabulary(rows(), min_frequency=1).get_vocab()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    assert vocabulary(rows(), min_frequency=1).get_vocab() == first
    monkeypatch.setattr("uegr.data.arrow.PIECE", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert vocabulary(rows(), min_frequency=1).get_vocab() == first
