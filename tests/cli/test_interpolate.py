"""`uegr interpolate`: a folder beside the run, its scores, one line for a mistake (tests/runs has the rest)."""

import json
from types import SimpleNamespace

import pytest


@pytest.fixture
def calls(monkeypatch):
    """What the command asks for; the work itself is left out."""
    seen = []

    def work(run, place, weight, *, trust_remote_code):
        seen.append((run, place, weight, trust_remote_code))
        return SimpleNamespace(
            tasks={}, training=SimpleNamespace(seconds=1.0), model_dump=lambda **options: {"weight": weight}
        )

    monkeypatch.setattr("uegr.runs.interpolate.interpolate_run", work)
    return seen


def test_the_new_run_lies_beside_the_old_one(uegr, calls, tmp_path):
    code, out, _ = uegr("interpolate", tmp_path / "first", "--weight", "0.7")
    assert (code, out) == (0, f"run in {tmp_path / 'first-0.7'}  (1 s)\n")
    assert calls == [(tmp_path / "first", tmp_path / "first-0.7", 0.7, False)]


def test_the_result_as_json(uegr, calls, tmp_path):
    code, out, _ = uegr("interpolate", tmp_path / "first", "--output", tmp_path / "other", "--json")
    assert (code, json.loads(out)) == (0, {"weight": 0.5})
    assert calls[0][1] == tmp_path / "other"


def test_a_folder_without_a_run_is_one_line(uegr, tmp_path):
    code, _, error = uegr("interpolate", tmp_path)
    assert code == 2
    assert error.startswith("expected a finished run with result.json in")
