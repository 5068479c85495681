"""Calibration and anomaly detection against scikit-learn and hand-worked cases."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import auc, brier_score_loss, roc_auc_score, roc_curve

from uegr.errors import InputError
from uegr.evaluation import anomaly, brier, calibration, expected_calibration_error, reliability
from uegr.evaluation.anomaly import aupr, aupr_out, auroc, fpr95
from uegr.evaluation.calibration import temperature, tempered


def of_confidence(values):
    """Two classes of which the second has the given probability."""
    return [[1 - value, value] for value in values]


def test_ece_by_hand():
    # bins of width 1/15: 0.95 and 0.96 lie in (14/15, 1], 0.7 in (10/15, 11/15], 0.6 = 9/15 still in (8/15, 9/15]
    probabilities = of_confidence([0.95, 0.96, 0.7, 0.6])
    found = expected_calibration_error(probabilities, [1, 0, 1, 1])
    assert found.value == pytest.approx((abs(1 - 1.91) + abs(1 - 0.7) + abs(1 - 0.6)) / 4)
    assert found.n == 4
    assert found.low <= found.value <= found.high


def test_the_interval_of_ece_is_around_it_and_not_above_it():
    """Resampled rows repeat, so their ECE is larger: its quantiles left ECE on the edge of its interval."""
    places = []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        confidence = generator.uniform(0.5, 1, 200)
        labels = generator.uniform(size=200) < confidence  # perfectly calibrated
        found = expected_calibration_error(of_confidence(confidence), labels.astype(int), seed=seed)
        places.append((found.value - found.low) / (found.high - found.low))
    assert 0.3 < np.mean(places) < 0.7
    assert min(places) > 0.1


def test_rows_of_one_bin_cancel_and_rows_of_two_do_not():
    assert expected_calibration_error(of_confidence([0.75] * 4), [1, 1, 1, 0]).value == pytest.approx(0)
    assert expected_calibration_error(of_confidence([0.99, 0.55]), [0, 1], bins=1).value == pytest.approx(0.27)
    assert expected_calibration_error(of_confidence([0.99, 0.55]), [0, 1]).value == pytest.approx(0.72)


@given(st.lists(st.tuples(st.floats(0.5, 1), st.booleans()), min_size=1, max_size=40))
def test_ece_equals_the_sum_over_the_reliability_curve(rows):
    probabilities = of_confidence([value for value, _ in rows])
    labels = [int(right) if value > 0.5 else int(not right) for value, right in rows]
    points = reliability(probabilities, labels)
    literal = sum(point.accuracy.n / len(rows) * abs(point.accuracy.value - point.confidence) for point in points)
    assert sum(point.accuracy.n for point in points) == len(rows)
    assert all(point.start - 1e-12 < point.confidence <= point.end + 1e-12 for point in points)
    assert calibration_gap(probabilities, labels) == pytest.approx(literal, abs=1e-12)


def calibration_gap(probabilities, labels):
    from uegr.evaluation.calibration import answers, gap, places

    confidence, right = answers(np.array(probabilities), np.array(labels))
    return gap(places(confidence, 15), confidence, right)


def test_brier_is_twice_sklearn_s_for_two_classes_and_by_hand_for_three():
    probability = np.random.default_rng(0).uniform(size=50)
    labels = np.arange(50) % 2
    found = brier(of_confidence(probability), labels)
    assert found.value == pytest.approx(2 * brier_score_loss(labels, probability))
    assert found.low < found.value < found.high
    assert brier([[0.5, 0.3, 0.2]], [2]).value == pytest.approx(0.25 + 0.09 + 0.64)


def test_what_is_not_a_probability_is_refused():
    with pytest.raises(InputError, match="logits"):
        calibration([[2.0, -1.0]], [0])
    with pytest.raises(InputError, match=r"\(rows, classes\)"):
        calibration([0.2, 0.8], [0, 1])


def drawn(seed=0, inside=60, outside=45):
    generator = np.random.default_rng(seed)
    return np.round(generator.beta(5, 2, inside), 2), np.round(generator.beta(3, 3, outside), 2)  # with ties


def test_anomaly_equals_sklearn():
    inside, outside = drawn()
    scores, own = np.concatenate([inside, outside]), np.arange(105) < 60
    assert auroc(scores, own) == roc_auc_score(own, scores)
    false, true, _ = roc_curve(own, scores, drop_intermediate=False)
    assert auroc(scores, own) == pytest.approx(auc(false, true))
    assert fpr95(scores, own) == false[np.argmax(true >= 0.95)]


def test_anomaly_by_hand():
    # in order of score: in 0.9, out 0.8, in 0.7, out 0.6
    scores, own = np.array([0.9, 0.8, 0.7, 0.6]), np.array([True, False, True, False])
    assert auroc(scores, own) == pytest.approx(3 / 4)
    assert aupr(scores, own) == pytest.approx((1 + 2 / 3) / 2)
    assert aupr_out(scores, own) == pytest.approx((1 + 2 / 3) / 2)
    assert fpr95(scores, own) == pytest.approx(1 / 2)


def test_fpr95_lets_exactly_95_of_100_pass():
    inside = np.arange(1, 101) / 100  # 95 of them are at least 0.06
    assert fpr95(np.append(inside, [0.06, 0.055]), np.arange(102) < 100) == 0.5


def test_anomaly_figures_hold_their_value_and_are_seeded():
    inside, outside = drawn()
    found = anomaly(inside, outside)
    assert set(found) == {"auroc", "aupr", "aupr_out", "fpr95"}
    for figure in found.values():
        assert 0 <= figure.low <= figure.value <= figure.high <= 1
        assert figure.high - figure.low > 0.01
        assert figure.n == 105
    assert anomaly(inside, outside) == found


def test_auroc_interval_has_the_width_of_theory():
    inside, outside = drawn(1, 400, 400)
    figure = anomaly(inside, outside)["auroc"]
    area = figure.value
    q1, q2 = area / (2 - area), 2 * area**2 / (1 + area)  # Hanley & McNeil 1982
    error = math.sqrt((area * (1 - area) + 399 * (q1 - area**2) + 399 * (q2 - area**2)) / 400**2)
    assert figure.high - figure.low == pytest.approx(2 * 1.96 * error, rel=0.2)


def test_no_outliers_are_refused():
    with pytest.raises(InputError, match="confidences inside and outside"):
        anomaly([0.5], [])


def test_a_temperature_is_that_of_the_logits_and_fits_by_likelihood():
    draw = np.random.default_rng(0)
    logits = draw.normal(size=(4000, 3))
    true = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    labels = np.array([draw.choice(3, p=row) for row in true])
    sure = np.exp(4 * logits) / np.exp(4 * logits).sum(1, keepdims=True)  # four times too sure
    assert tempered(sure, 4.0) == pytest.approx(true, abs=1e-9)
    found = temperature(sure, labels)
    assert found == pytest.approx(4, abs=0.3)
    before, after = (expected_calibration_error(tempered(sure, one), labels).value for one in (1.0, found))
    assert after < 0.03 < before
    grid = [-np.log(tempered(sure, one)[np.arange(4000), labels]).mean() for one in np.linspace(1, 8, 200)]
    best = -np.log(tempered(sure, found)[np.arange(4000), labels]).mean()
    assert best <= min(grid) + 1e-9


def test_a_temperature_changes_no_answer_and_survives_certainty():
    certain = np.array([[1.0, 0.0], [0.0, 1.0], [0.3, 0.7]])
    for heat in (0.05, 0.5, 20.0):
        changed = tempered(certain, heat)
        assert (changed.argmax(1) == certain.argmax(1)).all()
        assert changed.sum(1) == pytest.approx(1)
    assert temperature(certain, [0, 1, 1]) > 0


def test_the_calibration_says_its_bins_and_temperature():
    found = calibration(of_confidence([0.9] * 4), [1, 1, 1, 0], bins=10, temperature=2.0)
    assert (found.bins, found.temperature) == (10, 2.0)
    assert found.ece.value == pytest.approx(0)  # at temperature 2, 0.9 is 0.75


@pytest.mark.parametrize("scale", [0.01, 0.1, 10.0, 100.0])
@pytest.mark.parametrize("mistakes", [0, 1, 60])
def test_the_temperature_grows_with_the_logits(scale, mistakes):
    draw = np.random.default_rng(1)
    logits = draw.normal(size=(200, 3))
    labels = logits.argmax(1)
    labels[:mistakes] = (labels[:mistakes] + 1) % 3

    def softmax(values):
        return np.exp(values - values.max(1, keepdims=True)) / np.exp(values - values.max(1, keepdims=True)).sum(
            1, keepdims=True
        )

    plain, scaled = temperature(softmax(logits), labels), temperature(softmax(scale * logits), labels)
    assert scaled == pytest.approx(scale * plain, rel=1e-5)


def test_rows_that_are_all_right_do_not_make_a_model_certain():
    probabilities = of_confidence([0.6, 0.7, 0.9] * 6)
    heated = tempered(np.array(probabilities), temperature(probabilities, [1] * 18))
    assert heated.max(1).mean() == pytest.approx(19 / 20, abs=1e-6)
    assert temperature([[0.5, 0.5]] * 3, [0, 1, 1]) == 1


def test_the_error_is_reported_before_and_after_the_fitted_temperature():
    found = calibration(of_confidence([0.9] * 4), [1, 1, 1, 0], fitted=2.0)
    assert found.ece.value == found.ece_before.value == pytest.approx(0.15)
    assert found.ece_calibrated.value == pytest.approx(0)
    heated = calibration(of_confidence([0.9] * 4), [1, 1, 1, 0], temperature=2.0)
    assert (heated.ece_before.value, heated.ece_calibrated) == (pytest.approx(0.15), None)
