"""Relative improvement on cases worked out by hand."""

import json

import pytest

from uegr.errors import InputError
from uegr.statistics import check_perspectives, relative_improvement

VANILLA = {"in_distribution": 0.94, "shift": 0.9, "adversarial": 0.6, "calibration": 0.10, "anomaly": 0.8}


def test_the_average_by_hand():
    scores = {"in_distribution": 0.955, "shift": 0.91, "adversarial": 0.7, "calibration": 0.08, "anomaly": 0.78}
    found = relative_improvement(scores, VANILLA)
    expected = {"in_distribution": 25, "shift": 10, "adversarial": 25, "calibration": 20, "anomaly": -10}
    assert found.perspectives == pytest.approx(expected)
    assert found.value == pytest.approx(14)
    assert found.left_out == ()
    assert found.base == "vanilla"


def test_the_base_improves_by_nothing_and_perfection_by_all():
    assert relative_improvement(VANILLA, VANILLA).value == 0
    perfect = {"in_distribution": 1, "shift": 1, "adversarial": 1, "calibration": 0, "anomaly": 1}
    assert relative_improvement(perfect, VANILLA).value == pytest.approx(100)


def test_a_perfect_base_and_what_one_side_lacks_are_left_out_by_name():
    base = {"shift": 0.5, "calibration": 0.0, "anomaly": 0.9}
    found = relative_improvement({"shift": 0.75, "calibration": 0.2, "adversarial": 0.1}, base, base_name="bert")
    assert found.value == pytest.approx(50)
    assert found.left_out == ("adversarial", "calibration", "anomaly")
    nothing = relative_improvement({"shift": 0.7}, {"shift": 1.0})
    assert nothing.value is None
    assert json.loads(json.dumps(nothing.to_json()))["left_out"] == ["shift"]


def test_percentages_and_unknown_perspectives_are_refused():
    with pytest.raises(InputError, match="divide percentages by 100"):
        relative_improvement({"shift": 91.0}, {"shift": 0.9})
    with pytest.raises(InputError, match="did you mean calibration"):
        relative_improvement({"calibratoin": 0.1}, {})
    with pytest.raises(InputError, match="got nan"):
        check_perspectives({"shift": float("nan")})
