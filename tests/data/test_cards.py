import re
from importlib.resources import files

import pytest

from uegr.data.card import Card, card, cards, evaluation_sets, names, read
from uegr.errors import InputError

ISSUE = """
cola sst2 mrpc stsb qqp mnli qnli rte wnli imdb ag_news tnews iflytek snli
snippets snippets_products snippets_tweets snippets_editorials snippets_rating
hans_regenerated paws_qqp paws_wiki cad_imdb cad_snli anli scitail quora_wang mr sst5 yelp_sample
amazon_multi_en blitzer_mds 20newsgroups afqmc chnsenticorp
"""
GOOD = "name: x\ntitle: X\nlicence: MIT\nlanguage: en\nlabels: [a, b]\nsplits: {train: 2}\nmetrics: [accuracy]\n"


def test_every_set_that_was_asked_for_has_a_card():
    assert set(ISSUE.split()) <= set(names())
    assert sum(name.startswith("advglue_") for name in names()) == 6
    assert sum(name.startswith("textfooler_") for name in names()) == 7


@pytest.mark.parametrize("name", names())
def test_a_card_is_short_and_reads(name):
    text = (files("uegr.data") / "cards" / f"{name}.yaml").read_text("utf-8")
    assert len(text.splitlines()) <= 25
    assert card(name).kind in ("classification", "regression")
    assert all(size > 0 for size in card(name).splits.values())


@pytest.mark.parametrize("name", names())
def test_labels_of_evaluation_sets_map_from_the_task(name):
    """Every label of the task must have a place among the labels here, unless the texts have no label of the task."""
    for use in card(name).evaluates:
        task = cards()[use.task]
        assert set(use.labels) <= set(task.label_names or ())
        if use.kind != "anomaly":
            mapped = [use.labels.get(label, label) for label in task.label_names or ()]
            assert set(mapped) == set(card(name).label_names or ()), (name, use)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("imdb", (40_000, 5_000, 5_000)), ("ag_news", (110_000, 10_000, 7_600))],
)
def test_the_papers_split_of_a_card_adds_up(name, sizes):
    known = card(name)
    pooled = sum(known.splits[split] for split in known.paper.pool)
    kept = {split: size for split, size in known.splits.items() if split not in known.paper.pool}
    cut = {"train": pooled - sum(known.paper.sizes.values()), **known.paper.sizes, **kept}
    assert (cut["train"], cut["validation"], cut["test"]) == sizes


def test_evaluation_sets_of_a_task():
    kinds = {found.name: use.kind for found, use in evaluation_sets("sst2")}
    assert kinds["advglue_sst2"] == "adversarial"
    assert kinds["yelp_sample"] == "shift"
    assert kinds["20newsgroups"] == "anomaly"
    assert "mr" not in kinds
    assert kinds["imdb"] == "shift"


def test_the_sets_of_mnli_have_the_kinds_that_roast_gives_them():
    kinds = {found.name: use.kind for found, use in evaluation_sets("mnli")}
    roast = {"shift": "hans_regenerated qnli wnli", "adversarial": "anli advglue_mnli advglue_mnli_mismatched"}
    roast["anomaly"] = "sst2 20newsgroups qqp"
    for kind, names_of_kind in roast.items():
        assert {kinds.get(name) for name in names_of_kind.split()} == {kind}


@pytest.mark.parametrize("name", names())
def test_a_card_of_pairs_says_which_text_attacks_may_change(name):
    """The claim, never the evidence: the hypothesis of an entailment; of QNLI, whose question comes first, that one."""
    pair, changeable = card(name).columns.pair, card(name).changeable
    assert changeable == (None if pair is None else "first" if "qnli" in name else "second")
    assert pair != "hypothesis" or changeable == "second"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD + "licensee: x\n", "licensee: Extra inputs"),
        (GOOD.replace("MIT", "[x"), "is not valid YAML"),
        (GOOD.replace("name: x", "name: y"), "the same word"),
        (GOOD + "partial: {tset: a}\n", "tset"),
        (GOOD + "columns: {text: a, pair: b}\n", "expected changeable: first or second beside columns.pair"),
        (GOOD + "changeable: second\n", "expected no changeable for single texts, got second"),
    ],
)
def test_a_mistake_in_a_card_is_one_line(text, message):
    with pytest.raises(InputError, match=re.escape(message)) as raised:
        read("x.yaml", text)
    assert "\n" not in str(raised.value)


def test_a_good_card_reads():
    assert isinstance(read("x.yaml", GOOD), Card)


def test_an_unknown_name_gets_a_hint():
    with pytest.raises(InputError, match="did you mean snippets"):
        card("snipets")
