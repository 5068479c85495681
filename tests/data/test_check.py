import datasets
import numpy as np
import pytest

from uegr.data import Data
from uegr.data.card import card
from uegr.data.check import GARBLED, check
from uegr.data.noise import doubts
from uegr.data.show import plain
from uegr.data.stats import stats


def rows(texts, labels=None):
    return datasets.Dataset.from_dict({"text": texts, "label": labels or [0] * len(texts)})


def found(report, kind, split="train"):
    return [finding for finding in report.findings if (finding.kind, finding.split) == (kind, split)]


def data(**splits):
    return Data("mine", "classification", ("a", "b"), ("accuracy",), splits)


def test_every_kind_of_finding_names_its_rows():
    texts = ["one", " ", "two", "One ", "long " * 20, "cafÃ©", "two"]
    report = check(data(train=rows(texts, [0, 0, 0, 0, 0, 0, 1])), max_words=10, noise=False)
    assert found(report, "empty")[0].first == (2,)
    assert found(report, "duplicate")[0].first == (4, 7)
    assert found(report, "long")[0].first == (5,)
    assert found(report, "encoding")[0].first == (6,)
    assert found(report, "label noise")[0].first == (3, 7)
    assert report.passed


def test_a_clean_set_has_no_findings():
    report = check(data(train=rows(["one", "two", "naïve Âge"], [0, 1, 0]), test=rows(["three"])))
    assert report.findings == ()
    assert [size.status for size in report.sizes] == ["unknown", "unknown"]


def test_leaks_between_any_two_splits():
    report = check(data(train=rows(["a", "b"]), validation=rows(["c", "A"]), test=rows(["c", "d"])), noise=False)
    assert [(leak.split, leak.rows, leak.first) for leak in report.findings if leak.kind == "leak"] == [
        ("validation", 1, (2,)),
        ("test", 1, (1,)),
    ]


def test_labels_without_rows_and_labels_that_look_alike():
    alike = Data("mine", "classification", ("a", "A ", "b"), (), {"train": rows(["x", "y"], [0, 1])})
    texts = [finding.text for finding in found(check(alike), "labels")]
    assert texts == ["no row has the label b", "names that differ only in case or white space: ['a', 'A ']"]


@pytest.mark.parametrize(
    ("text", "garbled"),
    [
        ("cafÃ©", True),
        ("itâ€™s", True),
        ("\ufffd", True),
        ("a\x96b", True),
        ("nul\0", True),
        ("café à l’âge — 好", False),
    ],
)
def test_wrong_encodings(text, garbled):
    assert bool(GARBLED.search(text)) == garbled


def sized(name, **splits):
    known = card(name)
    return Data(name, known.kind, known.label_names, (), splits, known)


def test_sizes_against_the_official_ones():
    many = rows([f"text {index}" for index in range(71)])
    statuses = {
        size.split: size.status for size in check(sized("wnli", train=many, validation=many), noise=False).sizes
    }
    assert statuses == {"train": "wrong", "validation": "complete"}
    partial = check(sized("mnli", train=many), noise=False)
    assert {size.split: size.status for size in partial.sizes} == {
        "train": "partial",
        "validation_matched": "wrong",  # the card does not say that it is missing
        "validation_mismatched": "absent",
    }
    assert not partial.passed


def test_a_wrong_label_surprises_a_bag_of_words():
    generator = np.random.default_rng(0)
    words = {0: ["poor", "dull", "bad", "weak"], 1: ["fine", "bright", "good", "strong"]}
    labels = [index % 2 for index in range(300)]
    texts = [" ".join(generator.choice(words[label], 6)) for label in labels]
    labels[17] = 1 - labels[17]
    assert [doubt.row for doubt in doubts(rows(texts, labels))] == [17]
    paired = rows(texts, labels).add_column("pair", texts)
    assert doubts(paired) == []


def test_lengths_and_balance():
    numbers = stats(rows(["one", "one two", "one two three 四五"], [0, 1, 1]), ("a", "b", "c"))
    assert (numbers.lengths[0], numbers.lengths[50], numbers.lengths[100]) == (1, 2, 6)
    assert sum(count for _, _, count in numbers.histogram) == 3
    assert numbers.balance == {"a": 1, "b": 2, "c": 0}


def test_rows_cannot_steer_the_terminal():
    assert "\x1b" not in plain("\x1b[2J\x1b]0;title\x07").plain
    assert len(plain("x" * 1000).plain) == 301
