"""Other data with other label names, and the whole suite: JSON-ready, complete, each figure with n and interval."""

import copy
import json

import numpy as np
import pytest
import torch
from datasets import Dataset

from tests.evaluation.subjects import own_labels, some_rows, subject
from uegr.data import Data
from uegr.data.card import Card
from uegr.errors import InputError
from uegr.evaluation import evaluate, perspectives, probabilities, relative_improvement
from uegr.evaluation.shift import held_out, meaning, other, shift
from uegr.models.texts import labels_of, texts_of


def data_of(rows, name="own", labels=("no", "yes"), split="test", **options):
    task = "classification" if labels else "regression"
    metrics = ("accuracy", "f1") if labels else ("pearson", "spearman")
    return Data(name, task, labels, metrics, {split: Dataset.from_list(rows)}, **options)


def card_of(name, labels, evaluates):
    return Card(
        name=name,
        title="",
        licence="",
        language="en",
        labels=labels,
        splits={"test": 1},
        metrics=(),
        evaluates=evaluates,
    )


def test_rows_come_from_data_sets_and_lists_alike():
    rows = [{"text": "w5", "pair": "w6", "label": 1}, {"text": "w7", "pair": "w8", "label": 0}]
    for kind in (rows, Dataset.from_list(rows)):
        assert texts_of(kind) == [("w5", "w6"), ("w7", "w8")]
        assert labels_of(kind).tolist() == [1, 0]
    with pytest.raises(InputError, match="labels"):
        labels_of([{"text": "w5", "label": None}])
    with pytest.raises(InputError, match="text"):
        texts_of([{"words": "w5"}])


def test_held_out_prefers_tests_with_labels():
    rows, bare = Dataset.from_list(some_rows(4)), Dataset.from_list([{"text": "w5"}])
    data = data_of(some_rows(4), split="train")
    assert held_out(data) == ["train"]
    assert held_out(data.with_splits(validation_matched=rows, validation_mismatched=rows)) == [
        "validation_matched",
        "validation_mismatched",
    ]
    assert held_out(data.with_splits(validation=rows, test=bare)) == ["validation"]
    assert held_out(data.with_splits(test_r1=rows, test_r2=rows)) == ["test_r1", "test_r2"]
    with pytest.raises(InputError, match="no split with labels"):
        held_out(data_of([{"text": "w5"}]))


def test_meanings():
    assert meaning(["a", "b"], ["b", "a", "c"], {}) == (1, 0)
    assert meaning(["a", "b"], ["a"], {}) == (0, -1)
    with pytest.raises(InputError, match="labels such as a, b, got x"):
        meaning(["a", "b"], ["x"], {})
    with pytest.raises(InputError, match="label map a: z does not lead"):
        meaning(["a", "b"], ["x"], {"a": "z"})


def test_shift_translates_answers_and_leaves_out_what_no_answer_can_mean():
    model, tokenizer = subject(num_labels=3, dtype=torch.float64)
    rows = some_rows(40, num_labels=4)
    ours = ("entailment", "neutral", "contradiction")
    theirs = ("non-entailment", "entailment", "unrelated", "unsure")
    use = {"task": "nli", "kind": "shift", "labels": {"neutral": "non-entailment", "contradiction": "non-entailment"}}
    data = data_of(rows, "hans", theirs, card=card_of("hans", theirs, [use]))
    found = shift(model, tokenizer, other(data, ours, task="nli"))

    kept = [row for row in rows if row["label"] < 2]
    said = probabilities(model, tokenizer, [row["text"] for row in kept])
    answers, confidence = said.argmax(1), said.max(1)
    translated = np.where(answers == 0, 1, 0)
    right = translated == [row["label"] for row in kept]
    assert 0 < right.mean() < 1
    assert found["accuracy"].value == pytest.approx(right.mean())
    assert found["accuracy"].n == len(kept) < 40
    bins = [(confidence > k / 15) & (confidence <= (k + 1) / 15) for k in range(15)]
    ece = sum(inside.mean() * abs(right[inside].mean() - confidence[inside].mean()) for inside in bins if inside.any())
    assert found["ece"].value == pytest.approx(ece)


def test_shift_of_a_regression_has_its_own_metrics():
    model, tokenizer = subject(num_labels=1, dtype=torch.float64)
    rows = [{**row, "label": float(row["label"])} for row in some_rows(12)]
    found = shift(model, tokenizer, other(data_of(rows, labels=None), None))
    assert set(found) == {"pearson", "spearman"}
    with pytest.raises(InputError, match="of its own kind"):
        other(data_of(rows, labels=None), ("no", "yes"))


def test_a_file_is_read_with_the_model_s_labels(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    file = tmp_path / "tweets.csv"
    file.write_text("text,label\nw5 w6,yes\nw7,yes\n", encoding="utf-8")
    found = other(str(file), ("no", "yes"))
    assert found.meaning == (0, 1)
    assert labels_of(found.rows).tolist() == [1, 1]
    with pytest.raises(InputError, match="not one of the training labels"):
        other(str(file), ("bad", "good"))


def figures(value, path=""):
    """Every figure in a nested result."""
    if isinstance(value, dict):
        if {"value", "low", "high", "n"} <= value.keys() or {"accuracy", "low", "high", "n"} <= value.keys():
            yield path, value
        else:
            for key, inner in value.items():
                yield from figures(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from figures(inner, f"{path}/{place}")


@pytest.fixture(scope="module")
def measured():
    model, tokenizer = subject()
    rows = own_labels(model, tokenizer, some_rows(24))
    for row in rows[:6]:
        row["label"] = 1 - row["label"]
    before = copy.deepcopy(model)
    with torch.no_grad():
        for weight in before.parameters():
            weight.add_(0.05 * torch.randn(weight.shape, generator=torch.Generator().manual_seed(2)))
    stages = []
    result = evaluate(
        model,
        tokenizer,
        data_of(rows),
        pretrained=before,
        shift=[data_of(some_rows(10, seed=3), "tweets")],
        adversarial=[data_of(some_rows(11, seed=4), "hard")],
        anomaly=[
            Data("news", "unlabelled", None, (), {"train": Dataset.from_list([{"text": "w9"}, {"text": "w8 w7"}])})
        ],
        costly_rows=8,
        batch_size=8,
        progress=lambda *call: stages.append(call),
    )
    return result, stages


def test_everything_is_measured_and_json_ready(measured):
    result, stages = measured
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["clean"]["accuracy"]["value"] == 18 / 24
    assert result["shift"]["tweets"]["accuracy"]["n"] == 10
    assert result["adversarial"]["hard"]["accuracy"]["n"] == 11
    assert result["anomaly"]["news"]["auroc"]["n"] == 26
    assert len(result["drift"]["cka"]) == 3
    assert {"ece", "brier", "reliability"} <= result["calibration"].keys()
    assert [point["epsilon"] for point in result["perturbation"]["pgd"]["points"]] == [0.0, 0.01, 0.25, 0.5]
    assert result["perturbation"]["pgd"]["points"][0]["n"] == 8
    assert result["perturbation"]["fgm"]["points"][0]["accuracy"] == 18 / 24
    assert result["landscape"]["sharpness"]["value"] >= 0
    found = dict(figures(result))
    assert len(found) > 25
    for path, figure in found.items():
        value = figure.get("value", figure.get("accuracy"))
        assert figure["low"] <= value <= figure["high"], path
        assert figure["n"] > 0, path
    finished = {stage for stage, done, total in stages if done == total}
    assert {"test", "tweets", "hard", "news", "fgm", "pgd", "sharpness", "input gradient", "similarity"} <= finished


def test_mean_drop_is_the_mean_over_the_paper_s_epsilons(measured):
    for curve in measured[0]["perturbation"].values():
        accuracy = {point["epsilon"]: point["accuracy"] for point in curve["points"]}
        drops = [accuracy[0.0] - accuracy[epsilon] for epsilon in (0.01, 0.25, 0.5)]
        assert curve["mean_drop"]["value"] == pytest.approx(np.mean(drops))
        assert max(drops) > 0


def test_perspectives_are_roast_s(measured):
    result = measured[0]
    found = result["perspectives"]
    assert found["in_distribution"] == 18 / 24
    assert found["adversarial"] == result["adversarial"]["hard"]["accuracy"]["value"]
    errors = [result["calibration"]["ece"], result["shift"]["tweets"]["ece"], result["adversarial"]["hard"]["ece"]]
    assert found["calibration"] == pytest.approx(np.mean([error["value"] for error in errors]))
    assert relative_improvement(found, found).value == 0
    without = perspectives({**result, "adversarial": {}})
    points = result["perturbation"]["pgd"]["points"]
    assert without["adversarial"] == pytest.approx(np.mean([point["accuracy"] for point in points[1:]]))


def test_a_regression_is_measured_without_what_it_does_not_have():
    model, tokenizer = subject(num_labels=1)
    rows = [{**row, "label": row["label"] + 0.5} for row in some_rows(10)]
    result = evaluate(model, tokenizer, data_of(rows, labels=None), costly_rows=4)
    assert set(result["clean"]) == {"pearson", "spearman"}
    assert not {"perturbation", "calibration", "anomaly", "drift"} & result.keys()
    json.dumps(result, allow_nan=False)


def test_cards_name_the_sets_and_what_is_not_here_is_left_out_with_a_reason(monkeypatch, tmp_path):
    from uegr.evaluation import suite

    monkeypatch.delenv("UEGR_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    model, tokenizer = subject()
    use = {"task": "own", "kind": "shift"}
    here, gone = (card_of(name, ("no", "yes"), [use]) for name in ("here", "gone"))
    monkeypatch.setattr(suite, "evaluation_sets", lambda task: [(card, card.evaluates[0]) for card in (here, gone)])
    real = suite.other
    found = data_of(some_rows(5), "here")
    monkeypatch.setattr(
        suite, "other", lambda source, *values, **more: real(found if source == "here" else source, *values, **more)
    )
    quick = {"curves": (), "landscape": False}
    result = evaluate(model, tokenizer, data_of(some_rows(6)), shift=None, **quick)
    assert list(result["shift"]) == ["here"]
    assert list(result["left_out"]) == ["gone"]
    assert "gone" in result["left_out"]["gone"]
    with pytest.raises(InputError, match="gone"):  # asked for by name it is an error, before anything slow
        evaluate(model, tokenizer, data_of(some_rows(6)), shift=["gone"], **quick)


def test_an_unknown_curve_is_refused_at_once():
    model, tokenizer = subject()
    with pytest.raises(InputError, match="unknown curve 'pgdd'; did you mean pgd"):
        evaluate(model, tokenizer, data_of(some_rows(2)), curves=["pgdd"])


def test_rows_bounds_every_set():
    model, tokenizer = subject()
    quick = {"curves": (), "landscape": False, "rows": 7}
    result = evaluate(model, tokenizer, data_of(some_rows(20)), shift=[data_of(some_rows(20), "tweets")], **quick)
    assert result["clean"]["accuracy"]["n"] == 7
    assert result["shift"]["tweets"]["accuracy"]["n"] == 7


@pytest.mark.parametrize(("rows", "expected"), [(None, (20, 9, 9, 5)), (6, (6, 6, 6, 5)), (4, (4, 4, 4, 4))])
def test_other_sets_and_outliers_have_bounds_of_their_own(rows, expected):
    model, tokenizer = subject()
    sets = {kind: [data_of(some_rows(20), kind)] for kind in ("shift", "adversarial", "anomaly")}
    quick = {"curves": (), "landscape": False, "rows": rows, "other_rows": 9, "outlier_rows": 5}
    result = evaluate(model, tokenizer, data_of(some_rows(20)), **sets, **quick)
    own = result["clean"]["accuracy"]["n"]
    labelled = [result[kind][kind]["accuracy"]["n"] for kind in ("shift", "adversarial")]
    assert (own, *labelled, result["anomaly"]["anomaly"]["auroc"]["n"] - own) == expected
