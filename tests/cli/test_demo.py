"""`uegr demo`: both methods alike, and nothing is measured twice."""

from types import SimpleNamespace
from typing import Any

from uegr.cli.demo import DATA, MEASURED, METHODS, demo_config, measured
from uegr.runs import evaluate, folder, train


def test_only_the_method_differs():
    one, two = (demo_config(method).model_dump(exclude={"method"}) for method in METHODS)
    assert one == two


def test_what_was_measured_is_not_measured_again(tmp_path, monkeypatch):
    calls: list[Any] = []
    kept = SimpleNamespace(evaluation=None)
    monkeypatch.setattr(train, "train", lambda config, place, **options: calls.append(options["resume"]))
    monkeypatch.setattr(folder, "read", lambda place: SimpleNamespace(tasks={DATA: kept}))
    monkeypatch.setattr(evaluate, "evaluate_run", lambda place, rows, quiet: calls.append(rows) or {DATA: "figures"})
    assert measured("uegr", tmp_path, quiet=True) == "figures"
    kept.evaluation = "earlier figures"
    assert measured("uegr", tmp_path, quiet=True) == "earlier figures"
    assert calls == [True, MEASURED, True]
