"""The whole suite: typed, complete, each figure with n and interval; and the perspectives of RoAST."""

import copy

import numpy as np
import pytest
import torch
from datasets import Dataset

from tests.evaluation.subjects import own_labels, some_rows, subject
from uegr.errors import InputError
from uegr.evaluation import Figure, Other, Sets, evaluate, perspectives, relative_improvement
from uegr.evaluation.calibration import expected_calibration_error, temperature, tempered
from uegr.models.texts import labels_of, probabilities, texts_of
from uegr.result import Evaluation


def sets_of(rows, labels=("no", "yes"), **others):
    metrics = ("accuracy", "f1") if labels else ("pearson", "spearman")
    return Sets("own", {"test": rows}, metrics, labels, **others)


def test_rows_come_from_data_sets_and_lists_alike():
    rows = [{"text": "w5", "pair": "w6", "label": 1}, {"text": "w7", "pair": "w8", "label": 0}]
    for kind in (rows, Dataset.from_list(rows)):
        assert texts_of(kind) == [("w5", "w6"), ("w7", "w8")]
        assert labels_of(kind).tolist() == [1, 0]
    with pytest.raises(InputError, match="labels"):
        labels_of([{"text": "w5", "label": None}])
    with pytest.raises(InputError, match="text"):
        texts_of([{"words": "w5"}])


def figures(value, path=""):
    """Every figure in a typed result."""
    if isinstance(value, Figure):
        yield path, value
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from figures(inner, f"{path}/{key}")
    elif hasattr(type(value), "model_fields"):
        yield from figures(dict(value), path)


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
    sets = sets_of(
        rows,
        few=rows[:8],
        shift=[Other("tweets", some_rows(10, seed=3), (0, 1))],
        adversarial=[Other("hard", some_rows(11, seed=4), (0, 1))],
        anomaly={"news": [{"text": "w9"}, {"text": "w8 w7"}]},
        left_out={"gone": "no network"},
    )
    stages = []
    found = evaluate(
        model, tokenizer, sets, pretrained=before, batch_size=8, progress=lambda *call: stages.append(call)
    )
    return found, stages


def test_everything_is_measured(measured):
    found, stages = measured
    assert found.clean["accuracy"].value == 18 / 24
    assert found.shift["tweets"]["accuracy"].n == 10
    assert found.adversarial["hard"]["accuracy"].n == 11
    assert found.anomaly["news"]["auroc"].n == 26
    assert len(found.drift.cka) == 3
    assert sum(part.accuracy.n for part in found.calibration.reliability) == 24
    assert [point.epsilon for point in found.perturbation["pgd"].points] == [0.0, 0.01, 0.25, 0.5]
    assert found.perturbation["pgd"].points[0].accuracy.n == 8
    assert found.perturbation["fgm"].points[0].accuracy.value == 18 / 24
    assert found.landscape.sharpness.value >= 0
    assert (found.data, found.split, found.max_length, found.left_out) == ("own", "test", 30, {"gone": "no network"})
    finished = {stage for stage, done, total in stages if done == total}
    assert finished == {"test", "tweets", "hard", "news", "fgm", "pgd", "sharpness", "input gradient", "similarity"}


def test_every_figure_has_its_interval_and_survives_json(measured):
    found = dict(figures(measured[0]))
    assert len(found) > 25
    for path, figure in found.items():
        assert figure.low <= figure.value <= figure.high, path
        assert figure.n > 0, path
    assert Evaluation.model_validate_json(measured[0].model_dump_json()) == measured[0]


def test_mean_drop_is_the_mean_over_the_epsilons_of_the_paper(measured):
    for curve in measured[0].perturbation.values():
        accuracy = {point.epsilon: point.accuracy.value for point in curve.points}
        drops = [accuracy[0.0] - accuracy[epsilon] for epsilon in (0.01, 0.25, 0.5)]
        assert curve.mean_drop.value == pytest.approx(np.mean(drops))
        assert max(drops) > 0


def test_perspectives_are_those_of_roast(measured):
    result = measured[0]
    found = result.perspectives
    assert found["in_distribution"] == 18 / 24
    assert found["adversarial"] == result.adversarial["hard"]["accuracy"].value
    errors = [result.calibration.ece, result.shift["tweets"]["ece"], result.adversarial["hard"]["ece"]]
    assert found["calibration"] == pytest.approx(np.mean([error.value for error in errors]))
    assert relative_improvement(found, found).value == 0
    without = perspectives(result.model_copy(update={"adversarial": {}}))
    points = result.perturbation["pgd"].points
    assert without["adversarial"] == pytest.approx(np.mean([point.accuracy.value for point in points[1:]]))


def test_the_first_split_is_the_main_one_and_all_count_as_in_distribution():
    model, tokenizer = subject()
    rows = own_labels(model, tokenizer, some_rows(12))
    wrong = [{**row, "label": 1 - row["label"]} for row in rows[:4]]
    sets = Sets("mnli", {"matched": rows, "mismatched": wrong}, ("accuracy",), ("no", "yes"))
    found = evaluate(model, tokenizer, sets, curves=("fgm",), landscape=False)
    assert (found.split, found.clean["accuracy"].value, found.other_splits["mismatched"]["accuracy"].value) == (
        "matched",
        1.0,
        0.0,
    )
    assert found.perturbation["fgm"].points[0].accuracy.n == 12
    assert found.perspectives["in_distribution"] == 0.5


def test_a_regression_is_measured_without_what_it_does_not_have():
    model, tokenizer = subject(num_labels=1)
    rows = [{**row, "label": row["label"] + 0.5} for row in some_rows(10)]
    sets = sets_of(rows, labels=None, few=rows[:4], anomaly={"news": [{"text": "w9"}]})
    found = evaluate(model, tokenizer, sets)
    assert set(found.clean) == {"pearson", "spearman"}
    assert not any((found.perturbation, found.calibration, found.anomaly, found.drift))
    assert found.landscape.sharpness.n == 4


def test_the_length_that_was_used_is_recorded():
    model, tokenizer = subject()
    found = evaluate(model, tokenizer, sets_of(some_rows(4)), curves=(), landscape=False, max_length=5)
    assert found.max_length == 5


def test_an_unknown_curve_is_refused_at_once():
    model, tokenizer = subject()
    with pytest.raises(InputError, match="unknown curve 'pgdd'; did you mean pgd"):
        evaluate(model, tokenizer, sets_of(some_rows(2)), curves=["pgdd"])


def test_every_own_split_counts_in_the_calibration_perspective():
    model, tokenizer = subject()
    first, second = own_labels(model, tokenizer, some_rows(24)), some_rows(20, seed=9)
    both = Sets("own", {"validation_matched": first, "validation_mismatched": second}, ("accuracy",), ("no", "yes"))
    found = evaluate(model, tokenizer, both, curves=(), landscape=False)
    own, other = found.calibration.ece.value, found.other_splits["validation_mismatched"]["ece"].value
    assert own != other
    assert found.perspectives["calibration"] == pytest.approx((own + other) / 2)


def test_a_temperature_is_fitted_on_validation_rows_and_used_for_every_calibration_error():
    model, tokenizer = subject()
    rows, far = some_rows(30), [Other("tweets", some_rows(10, seed=3), (0, 1))]
    sets = sets_of(rows, shift=far, validation=some_rows(40, seed=5))
    plain = evaluate(model, tokenizer, sets, curves=(), landscape=False)
    fitted = evaluate(model, tokenizer, sets, curves=(), landscape=False, bins=10, fit_temperature=True)
    assert (plain.calibration.bins, plain.calibration.temperature) == (15, 1.0)
    found = probabilities(model, tokenizer, texts_of(sets.validation))
    assert fitted.calibration.temperature == pytest.approx(temperature(found, labels_of(sets.validation)))
    assert fitted.calibration.bins == 10
    heated = tempered(probabilities(model, tokenizer, texts_of(far[0].rows)), fitted.calibration.temperature)
    wanted = expected_calibration_error(heated, labels_of(far[0].rows), bins=10).value
    assert fitted.shift["tweets"]["ece"].value == pytest.approx(wanted)
    assert fitted.clean == plain.clean
    with pytest.raises(InputError, match="validation rows to fit a temperature"):
        evaluate(model, tokenizer, sets_of(rows), curves=(), landscape=False, fit_temperature=True)
