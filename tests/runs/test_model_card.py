"""The card of a run: metadata that the hub reads, figures that were measured, and nothing that a label can break."""

import re
from html import unescape

import pytest
import yaml
from huggingface_hub import ModelCard
from markdown_it import MarkdownIt

from uegr.result import Config
from uegr.runs import folder, model_card
from uegr.runs.attack import attack_run
from uegr.runs.evaluate import evaluate_run
from uegr.runs.train import train
from uegr.training.config import RunConfig


@pytest.fixture(scope="module")
def finished(home):
    config = RunConfig(
        method={"name": "fgm", "epsilon": 0.01},
        model={"name": str(home / "model")},
        dataset={"name": str(home / "data")},
        training={"epochs": 2, "learning_rate": 0.01},
    )
    train(config, home / "first run", quiet=True)
    return home / "first run"


def parts(place):
    """(metadata, text)"""
    _, head, text = (place / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    return yaml.safe_load(head), text


def test_a_finished_run_has_a_card_that_the_hub_library_reads(finished):
    result = folder.read(finished)
    head, text = parts(finished)
    found = ModelCard.load(finished / "README.md").data
    assert found.model_name == "first run"
    assert {(one.dataset_split, one.metric_name, one.metric_value) for one in found.eval_results} == {
        (split, metric, round(figure.value, 4))
        for split, scores in result.tasks["data"].scores.items()
        for metric, figure in scores.items()
    }
    assert {one.metric_type for one in found.eval_results} == {"accuracy", "f1", "balanced_accuracy"}
    assert head["tags"] == ["uegr", "fgm"]
    assert not {"datasets", "language"} & set(head)  # an own folder: the hub has no such data set
    assert {entry["dataset"]["type"] for entry in head["model-index"][0]["results"]} == {"custom"}
    assert {entry["dataset"]["name"] for entry in head["model-index"][0]["results"]} == {"data"}
    assert "base_model" not in head  # a folder of this machine
    assert "| method.epsilon | 0.01 |" in text
    assert str(finished.parent) not in text
    assert "`uegr evaluate` and `uegr attack` would add" in text


def test_evaluate_and_attack_add_their_figures(finished):
    figures = evaluate_run(finished, quiet=True)["data"]
    text = parts(finished)[1]
    point = figures.perturbation["fgm"].points[2]
    assert f"| data | accuracy, fgm within {point.epsilon:g} | {100 * point.accuracy.value:.1f} (" in text
    assert "Under attack" not in text
    summary = attack_run(finished, attack="deepwordbug", examples=4, quiet=True).summary
    text = parts(finished)[1]
    before, after = 100 * summary.accuracy_before, 100 * summary.accuracy_after
    assert re.search(rf"\| deepwordbug on data, 4 examples \| {before:.1f} \([^|]*\) \| {after:.1f} \(", text)
    assert "fgm within" in text
    assert "Not measured" not in text


NASTY = ["a|b", "<script>alert(1)</script>", "[x](javascript:alert(1))", "two\nlines # head", "‮back`tick`", "---"]


def test_labels_and_names_can_break_neither_table_nor_metadata(finished):
    result = folder.read(finished)
    nasty = "/home/me/x: [y]\n---\nlicense: mit.csv"
    text = model_card.card("name: *evil", result.with_task("data", dataset=nasty, labels=tuple(NASTY)))
    _, head, shown = text.split("---\n", 2)
    assert "license" not in yaml.safe_load(head)
    assert yaml.safe_load(head)["model-index"][0]["name"] == "name: *evil"
    page = MarkdownIt("commonmark").enable("table").render(shown)  # as pages do, with HTML let through
    assert re.findall(r"<(?!/|h[12]|p|code|table|thead|tbody|tr|th|td)\w+", page) == []
    cells = [unescape(cell) for cell in re.findall("<td>(.*?)</td>", page)]
    assert ", ".join(model_card.line(label) for label in NASTY) in cells
    assert "/home/me" not in text
    assert "\u202e" not in text


def test_an_alias_brings_licence_language_and_hub_names(finished):
    result = folder.read(finished)
    config = Config(**result.config.model_dump() | {"model": {"name": "minilm"}})
    head = model_card.metadata("run", result.with_task("data", dataset="sst2").model_copy(update={"config": config}))
    assert head["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert (head["license"], head["language"]) == ("apache-2.0", "en")
    assert head["datasets"] == ["nyu-mll/glue"]
    own = model_card.metadata(
        "run", result.with_task("data", dataset="reviews.csv").model_copy(update={"config": config})
    )
    assert not {"datasets", "language"} & set(own)


def test_a_model_of_our_own_is_not_said_to_be_one_of_transformers(finished):
    """The hub shows code for the library that the card names; transformers cannot load these alone."""
    result = folder.read(finished)
    config = Config(**result.config.model_dump() | {"model": {"name": "textcnn"}})
    own = result.model_copy(update={"config": config})
    assert model_card.metadata("run", own)["library_name"] == "uegr"
    assert "`import uegr.models.architectures`" in model_card.card("run", own)
    assert model_card.metadata("run", result)["library_name"] == "transformers"
    assert "architectures" not in model_card.card("run", result)


def test_many_labels_are_cut(finished):
    result = folder.read(finished).with_task("data", labels=tuple(f"label {number}" for number in range(80)))
    ((_, labels),) = model_card.label_rows(result)
    assert labels.endswith("and 50 more")
