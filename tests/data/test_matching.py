"""Which splits measure a model, and how its labels are called in other data."""

import pytest
from datasets import Dataset

from uegr.data import Data
from uegr.data.card import Card
from uegr.data.matching import held_out_splits, matched, meaning, pooled
from uegr.errors import InputError

ROWS = Dataset.from_list([{"text": f"w{number}", "label": number % 2} for number in range(10)])
BARE = Dataset.from_list([{"text": "w5"}])


def data_of(labels=("no", "yes"), **splits):
    return Data("own", "classification" if labels else "regression", labels, ("accuracy",), splits)


def test_held_out_prefers_tests_with_labels():
    data = data_of(train=ROWS)
    assert held_out_splits(data) == ["train"]
    matched_and_not = ["validation_matched", "validation_mismatched"]
    assert held_out_splits(data.with_splits(**dict.fromkeys(matched_and_not, ROWS))) == matched_and_not
    assert held_out_splits(data.with_splits(validation=ROWS, test=BARE)) == ["validation"]
    assert held_out_splits(data.with_splits(validation=ROWS, test=BARE), labelled=False) == ["test"]
    assert held_out_splits(data.with_splits(test_r1=ROWS, test_r2=ROWS)) == ["test_r1", "test_r2"]
    with pytest.raises(InputError, match="no split with labels"):
        held_out_splits(data_of(test=BARE))


def test_pooled_rows_are_bounded_with_every_label_in_proportion():
    data = data_of(test_r1=ROWS, test_r2=ROWS)
    assert len(pooled(data, ["test_r1", "test_r2"])) == len(pooled(data, ["test_r1", "test_r2"], limit=20)) == 20
    assert sorted(pooled(data, ["test_r1", "test_r2"], limit=6)["label"]) == [0, 0, 0, 1, 1, 1]


def test_meanings():
    assert meaning(["a", "b"], ["b", "a", "c"], {}) == (1, 0)
    assert meaning(["a", "b"], ["a"], {}) == (0, -1)
    with pytest.raises(InputError, match="labels such as a, b, got x"):
        meaning(["a", "b"], ["x"], {})
    with pytest.raises(InputError, match="label map a: z does not lead"):
        meaning(["a", "b"], ["x"], {"a": "z"})


def test_a_card_names_the_labels_of_a_task():
    use = {"task": "nli", "kind": "shift", "labels": {"maybe": "no"}}
    about = {"title": "", "licence": "", "language": "en", "splits": {"test": 1}, "metrics": ()}
    card = Card(name="own", labels=("no", "yes"), evaluates=[use], **about)
    data = Data("own", "classification", ("no", "yes"), ("accuracy",), {"test": ROWS}, card)
    assert matched(data, ["yes", "maybe"], task="nli") == (1, 0)
    assert matched(data, ["yes", "maybe"]) == (1, -1)
    assert matched(data, ["yes", "maybe"], task="nli", names={"maybe": "yes"}) == (1, 1)


def test_a_regression_and_a_classifier_do_not_match():
    assert matched(data_of(labels=None, test=ROWS), None) is None
    for labels, ours in ((None, ("no", "yes")), (("no", "yes"), None)):
        with pytest.raises(InputError, match="of its own kind"):
            matched(data_of(labels=labels, test=ROWS), ours)
