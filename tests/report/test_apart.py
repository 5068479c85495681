"""Figures of two runs that are compared without the answers to each row."""

from tests.report.synthetic_runs import result
from uegr.report.apart import measured_apart


def test_what_both_measured_on_as_many_rows_is_compared() -> None:
    first, second = (next(iter(result("imdb", method, 0).tasks.values())) for method in ("vanilla", "uegr"))
    labels = [pair.label for pair in measured_apart(first, second)]
    assert any("fgm" in label for label in labels)
    assert not any(label.startswith("accuracy, test") or "attack" in label for label in labels)
    assert measured_apart(first, second.model_copy(update={"evaluation": None})) == []
    assert second.evaluation is not None
    elsewhere = second.evaluation.model_copy(update={"data": "other"})
    assert measured_apart(first, second.model_copy(update={"evaluation": elsewhere})) == []
