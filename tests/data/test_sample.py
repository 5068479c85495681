from collections import Counter
from itertools import pairwise

import datasets
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uegr.data import Data, holdout, subsample, with_fold, with_validation_as_test
from uegr.data.duplicates import text_hashes
from uegr.data.split import places, text_hash
from uegr.errors import InputError


def rows(labels, texts=None):
    texts = texts or [f"text {index}" for index in range(len(labels))]
    return datasets.Dataset.from_dict({"text": texts, "label": labels})


def data(dataset):
    return Data("mine", "classification", ("a", "b", "c"), ("accuracy",), {"train": dataset})


UNEVEN = [0] * 600 + [1] * 300 + [2] * 100


@pytest.mark.parametrize(("size", "counts"), [(10, (6, 3, 1)), (100, (60, 30, 10)), (999, (600, 300, 99))])
def test_every_label_in_proportion(size, counts):
    found = Counter(subsample(rows(UNEVEN), size=size, seed=1)["label"])
    assert all(abs(found[label] - count) <= 1 for label, count in enumerate(counts))
    assert sum(found.values()) == size


def test_the_seed_decides_and_nothing_else():
    first, again, other = (subsample(rows(UNEVEN), fraction=0.1, seed=seed)["text"][:] for seed in (3, 3, 4))
    assert first == again != other
    assert len(first) == 100


def test_a_smaller_sample_is_part_of_a_larger_one():
    sizes = (1, 7, 50, 400, 1000)
    samples = [set(subsample(rows(UNEVEN), size=size, seed=0)["text"]) for size in sizes]
    assert all(small <= large for small, large in pairwise(samples))
    assert [len(sample) for sample in samples] == list(sizes)


def test_the_order_of_the_rows_is_kept():
    numbers = [int(text.split()[1]) for text in subsample(rows(UNEVEN), size=50, seed=0)["text"]]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(
    "wanted", [{"size": 0}, {"size": 1001}, {"fraction": 0}, {"fraction": 1.1}, {}, {"size": 5, "fraction": 0.5}]
)
def test_impossible_samples_are_refused(wanted):
    with pytest.raises(InputError, match="expected"):
        subsample(rows(UNEVEN), **wanted, seed=0)


@settings(max_examples=40)
@given(
    st.lists(st.sampled_from(["u", "v", "w", "x", "y", "z"]), min_size=2, max_size=40),
    st.floats(0.05, 0.9),
    st.integers(0, 5),
)
def test_held_out_rows_share_no_text_with_training(texts, fraction, seed):
    dataset = rows([index % 2 for index in range(len(texts))], texts)
    try:
        split = holdout(data(dataset), fraction, seed).splits
    except InputError:
        repeated = max(Counter(texts).values()) > 1
        assert repeated
        return
    assert set(split["train"]["text"]).isdisjoint(split["validation"]["text"])
    assert Counter(split["train"]["text"]) + Counter(split["validation"]["text"]) == Counter(texts)
    assert len(split["validation"]) <= max(1, round(len(texts) * fraction))


def test_a_holdout_is_stratified_and_seeded():
    first, again, other = (holdout(data(rows(UNEVEN)), 0.2, seed).splits for seed in (1, 1, 2))
    assert Counter(first["validation"]["label"]) == {0: 120, 1: 60, 2: 20}
    assert len(first["train"]) == 800
    assert first["validation"]["text"][:] == again["validation"]["text"][:] != other["validation"]["text"][:]


def test_a_regression_holdout_is_random():
    numbers = rows([index / 7 for index in range(100)])
    assert len(holdout(data(numbers), 0.1, 0).splits["validation"]) == 10


@pytest.mark.parametrize(("labels", "fraction"), [([0], 0.5), ([0, 1], 0.0), ([0, 1], 1.0)])
def test_impossible_holdouts_are_refused(labels, fraction):
    with pytest.raises(InputError, match="expected 0 < fraction < 1"):
        holdout(data(rows(labels)), fraction, 0)


def test_one_text_only_cannot_be_held_out():
    with pytest.raises(InputError, match="nearly all rows have the same text"):
        holdout(data(rows([0, 1, 0], ["a", "a ", "A"])), 0.5, 0)


def test_every_row_is_tested_on_in_one_fold_and_labels_are_in_proportion():
    parts = [with_fold(data(rows(UNEVEN)), 5, fold).splits for fold in range(5)]
    tested = [text for part in parts for text in part["test"]["text"]]
    assert sorted(tested) == sorted(rows(UNEVEN)["text"])
    for part in parts:
        assert Counter(part["test"]["label"]) == {0: 120, 1: 60, 2: 20}
        assert sorted([*part["train"]["text"], *part["test"]["text"]]) == sorted(tested)


def test_folds_do_not_depend_on_the_order_of_rows_and_keep_equal_texts_together():
    texts = [f"text {index // 3}" for index in range(90)]
    labels = [index // 3 % 2 for index in range(90)]
    turned = rows(labels[::-1], texts[::-1])
    for fold in range(3):
        one, other = (with_fold(data(some), 3, fold).splits["test"] for some in (rows(labels, texts), turned))
        assert sorted(one["text"]) == sorted(other["text"])
        assert set(Counter(one["text"]).values()) == {3}


def test_a_fold_replaces_the_test_splits_and_leaves_validation():
    given = data(rows(UNEVEN)).with_splits(validation=rows([0, 1]), test=rows([2]), test_hard=rows([2]))
    found = with_fold(given, 2, 1).splits
    assert set(found) == {"train", "validation", "test"}
    assert (len(found["validation"]), len(found["test"])) == (2, 500)


@pytest.mark.parametrize(("folds", "fold"), [(1, 0), (3, 3), (3, -1)])
def test_impossible_folds_are_refused(folds, fold):
    with pytest.raises(InputError, match="expected folds >= 2 and 0 <= fold < folds"):
        with_fold(data(rows(UNEVEN)), folds, fold)


def test_more_folds_than_texts_are_refused():
    with pytest.raises(InputError, match="expected at least 3 different texts for 3 folds; use fewer folds"):
        with_fold(data(rows([0, 1, 0], ["a", "b", "A"])), 3, 0)


def test_the_hashes_of_a_content_are_read_once(monkeypatch):
    texts = ["a film", "A  Film", "another"]
    first = text_hashes(rows([0, 1, 0], texts))
    monkeypatch.delattr("uegr.data.duplicates.text_hash")
    assert first.tolist() == text_hashes(rows([0, 1, 0], texts)).tolist() == [text_hash(text) for text in texts]
    with pytest.raises(NameError):
        text_hashes(rows([0, 1, 0], texts[::-1]))


@settings(max_examples=80)
@given(st.lists(st.integers(0, 12), max_size=40), st.integers(0, 10), st.integers(0, 10))
def test_hash_splits_keep_equal_texts_together_and_never_overflow(hashes, test, validation):
    found = places(hashes, {"test": test, "validation": validation}, "train")
    sides = {}
    for value, split in zip(hashes, found, strict=True):
        assert sides.setdefault(value, split) == split
    counts = Counter(found)
    assert counts["test"] <= test
    assert counts["validation"] <= validation


def test_the_validation_split_becomes_the_test_split_and_validation_is_held_out_of_training():
    unlabelled = datasets.Dataset.from_dict({"text": ["x"]})
    given = data(rows(UNEVEN)).with_splits(validation=rows([0, 1], ["p", "q"]), test=unlabelled)
    found = with_validation_as_test(given)
    assert found.validation is None
    assert found.splits["test"]["text"] == ["p", "q"]
    cut = holdout(found, 0.1, 0)
    assert len(cut.splits["validation"]) == 100
    assert not {"p", "q"} & {*cut.splits["validation"]["text"], *cut.splits["train"]["text"]}


@pytest.mark.parametrize("names", [(), ("validation", "test"), ("validation_matched", "validation_mismatched")])
def test_without_one_validation_split_or_with_test_labels_it_is_refused(names):
    given = data(rows(UNEVEN)).with_splits(**{name: rows([0, 1]) for name in names})
    with pytest.raises(InputError, match="expected one validation split and no labelled test split"):
        with_validation_as_test(given)
