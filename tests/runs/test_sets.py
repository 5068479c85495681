"""The sets that measure a model: found by name, in cards, or left out with a reason; bounded, labels matched."""

import pytest
from datasets import Dataset

from tests.evaluation.subjects import some_rows
from tests.tiny_run import write_csv
from uegr.data import Data
from uegr.data.card import Card
from uegr.errors import InputError
from uegr.models.texts import labels_of
from uegr.runs import sets
from uegr.runs.sets import gathered, other


def data_of(rows, name="own", labels=("no", "yes"), split="test"):
    task = "classification" if labels else "regression"
    metrics = ("accuracy", "f1") if labels else ("pearson", "spearman")
    return Data(name, task, labels, metrics, {split: Dataset.from_list(rows)})


def card_of(name, use):
    about = {"title": "", "licence": "", "language": "en", "splits": {"test": 1}, "metrics": ()}
    return Card(name=name, labels=("no", "yes"), evaluates=[use], **about)


def test_a_file_is_read_with_the_labels_of_the_model(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "tweets.csv"
    file.write_text("text,label\nw5 w6,yes\nw7,yes\n", encoding="utf-8")
    found = other(str(file), ("no", "yes"))
    assert found.meaning == (0, 1)
    assert labels_of(found.rows).tolist() == [1, 1]
    with pytest.raises(InputError, match="not one of the training labels"):
        other(str(file), ("bad", "good"))


def test_a_regression_has_its_own_metrics():
    rows = [{**row, "label": float(row["label"])} for row in some_rows(12)]
    found = other(data_of(rows, labels=None), None)
    assert (found.meaning, found.metrics) == (None, ("pearson", "spearman"))


def test_cards_name_the_sets_and_what_is_not_here_is_left_out_with_a_reason(monkeypatch, tmp_path):
    monkeypatch.delenv("UEGR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    known = [card_of(name, {"task": "own", "kind": "shift"}) for name in ("here", "gone")]
    monkeypatch.setattr(sets, "evaluation_sets", lambda task: [(card, card.evaluates[0]) for card in known])
    here = data_of(some_rows(5), "here")
    load = sets.load
    monkeypatch.setattr(sets, "load", lambda name, **more: here if name == "here" else load(name, **more))
    found = gathered(data_of(some_rows(6)), shift=None)
    assert [one.name for one in found.shift] == ["here"]
    assert list(found.left_out) == ["gone"]
    assert "gone" in found.left_out["gone"]
    more = gathered(data_of(some_rows(6)), shift=None, also=[data_of(some_rows(3), "mine")])
    assert [one.name for one in more.shift] == ["here", "mine"]
    with pytest.raises(InputError, match="gone"):  # asked for by name it is an error
        gathered(data_of(some_rows(6)), shift=["gone"])


def test_every_held_out_split_is_there_and_the_first_is_the_main_one():
    data = data_of(some_rows(6), split="test_matched").with_splits(test_mismatched=Dataset.from_list(some_rows(5)))
    found = gathered(data)
    assert {split: len(rows) for split, rows in found.splits.items()} == {"test_matched": 6, "test_mismatched": 5}
    assert found.split == "test_matched"
    assert found.labels == ("no", "yes")


@pytest.mark.parametrize(("rows", "expected"), [(None, (20, 8, 9, 9, 5)), (6, (6, 6, 6, 6, 5)), (4, (4, 4, 4, 4, 4))])
def test_every_kind_of_set_has_a_bound_of_its_own(rows, expected):
    others = {kind: [data_of(some_rows(20), kind)] for kind in ("shift", "adversarial", "anomaly")}
    bounds = {"rows": rows, "costly_rows": 8, "other_rows": 9, "outlier_rows": 5}
    found = gathered(data_of(some_rows(20)), **others, **bounds)
    parts = (found.own, found.fewer, found.shift[0].rows, found.adversarial[0].rows, found.anomaly["anomaly"])
    assert tuple(map(len, parts)) == expected


def test_a_file_is_read_as_numbers_for_a_regression(tmp_path):
    file = write_csv(tmp_path / "prices.csv", [(f"film {number}", str(number % 3)) for number in range(9)])
    assert set(other(str(file), None).rows["label"]) == {0.0, 1.0, 2.0}


def test_some_of_the_sets_that_cards_name_can_be_chosen(monkeypatch):
    known = [card_of(name, {"task": "own", "kind": "shift"}) for name in ("one", "two")]
    monkeypatch.setattr(sets, "evaluation_sets", lambda task: [(card, card.evaluates[0]) for card in known])
    monkeypatch.setattr(sets, "load", lambda name, **more: data_of(some_rows(5), name))
    assert [one.name for one in gathered(data_of(some_rows(6)), shift=None).shift] == ["one", "two"]
    assert [one.name for one in gathered(data_of(some_rows(6)), shift=None, only=["two"]).shift] == ["two"]
