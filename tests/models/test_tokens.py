import warnings

import datasets
import pytest
from transformers import BertTokenizer, DataCollatorWithPadding

from uegr.data import DataWarning, vocabulary
from uegr.errors import InputError
from uegr.models.tokens import tokenized, tokenizer_key

TEXTS = ["a good film", "a bad film , a very bad film", "", "Good!"]


def rows(**columns):
    return datasets.Dataset.from_dict({"text": TEXTS, "label": [1, 0, 0, 1], **columns})


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def words():
    return vocabulary(rows(), min_frequency=1, max_length=64)


@pytest.fixture
def pieces(tmp_path):
    """A BERT tokenizer, which adds special tokens and token types."""
    listed = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "good", "bad", "film", "very", ",", "!"]
    (tmp_path / "vocab.txt").write_text("\n".join(listed))
    return BertTokenizer(str(tmp_path / "vocab.txt"), model_max_length=32)


def test_the_columns_that_training_wants(pieces):
    tokens = tokenized(rows(), pieces)
    assert set(tokens.column_names) == {"input_ids", "attention_mask", "token_type_ids", "labels", "length"}
    assert tokens["length"][:] == [5, 10, 2, 4]
    assert tokens["labels"][:] == [1, 0, 0, 1]
    assert tokens["input_ids"][0] == pieces("a good film")["input_ids"]


def test_pairs_are_given_to_the_tokenizer_as_pairs(pieces):
    tokens = tokenized(rows(pair=["bad"] * 4), pieces)
    assert tokens["input_ids"][3] == pieces("Good!", "bad")["input_ids"]
    assert 1 in tokens["token_type_ids"][3]


def test_numbers_stay_numbers_and_unlabelled_rows_have_no_labels(pieces):
    numbers = datasets.Dataset.from_dict({"text": TEXTS, "label": [0.5, 1.25, 3.0, 0.1]})
    assert tokenized(numbers, pieces)["labels"][:] == [0.5, 1.25, 3.0, 0.1]
    assert "labels" not in tokenized(numbers.remove_columns("label"), pieces).column_names


def test_rows_that_are_cut_are_counted_every_time(words):
    for _ in range(2):
        with pytest.warns(DataWarning, match=r"1 of 4 rows \(25\.0%\) are longer than 4 tokens and are cut there"):
            tokens = tokenized(rows(), words, max_length=4)
    assert max(tokens["length"]) == 4


def test_a_row_that_just_fits_is_not_cut(words):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tokenized(rows(), words, max_length=8)


def test_the_models_own_limit_holds(words):
    assert tokenized(rows(text=["film " * 100] * 4), words)["length"][:] == [64] * 4
    with pytest.raises(InputError, match="expected max_length of at least 2, got 1"):
        tokenized(rows(), words, max_length=1)


def test_a_text_of_nothing_is_one_unknown_word(words):
    assert tokenized(rows(), words)["input_ids"][2] == [words.unk_token_id]


def test_batches_are_padded_to_their_longest_row(words):
    tokens = tokenized(rows(), words)
    batch = DataCollatorWithPadding(words)([tokens[0], tokens[3]])
    assert batch["input_ids"].shape == (2, 3)
    assert batch["attention_mask"].tolist() == [[1, 1, 1], [1, 1, 0]]
    assert batch["input_ids"][1, 2] == words.pad_token_id


def test_a_second_run_tokenises_nothing(words, monkeypatch):
    first = tokenized(rows(), words, max_length=8)
    monkeypatch.setattr("uegr.models.tokens.encoded", lambda *_: pytest.fail("tokenised again"))
    words("another call, with padding and truncation", padding="max_length", truncation=True, max_length=5)
    again = tokenized(rows(), words, max_length=8)
    assert again[:] == first[:]
    assert again.cache_files == first.cache_files


def test_other_content_tokenizer_or_length_is_another_cache(words, pieces):
    files = {
        tokenized(dataset, tokenizer, length).cache_files[0]["filename"]
        for dataset in (rows(), rows(text=TEXTS[::-1]))
        for tokenizer in (words, pieces)
        for length in (8, 16)
    }
    assert len(files) == 8


def test_added_tokens_change_the_key(words):
    before = tokenizer_key(words)
    words.add_tokens(["new"])
    assert tokenizer_key(words) != before


def test_a_slice_is_no_dataset():
    """`split[:8]` of a Dataset is a dict of lists: it ended in an AttributeError."""
    with pytest.raises(InputError, match=r"^expected a Dataset, got dict; take rows with split.select\(range\(8\)\)$"):
        tokenized(rows()[:1], None)


@pytest.mark.parametrize("name", ["text", "pair"])
@pytest.mark.parametrize("wrong", [None, 3])
def test_what_is_no_text_is_named_with_its_row(words, name, wrong):
    texts = ["a film"] * 1_003 + ["a good film" if wrong is None else wrong]
    count = len(texts)
    column = [wrong] * count if wrong == 3 else [*texts[:-1], None]
    row = 0 if wrong == 3 else count - 1
    dataset = datasets.Dataset.from_dict({"text": ["a film"] * count, "label": [0] * count} | {name: column})
    with pytest.raises(InputError) as caught:
        tokenized(dataset, words)
    line = f"row {row}: expected a text in the column {name}, got {wrong}; make it a str, or leave out the row"
    assert str(caught.value) == line
