"""A file of the ledger: small, without texts, whole or not there, and refused where it is not one."""

import json
import os
from pathlib import Path

import pytest

from tests.report.synthetic_runs import result
from uegr.errors import InputError
from uegr.ledger.entries import Reported, entry, looks_like_one, read, write
from uegr.ledger.stripping import stripped
from uegr.result import Result

CELL = "snippets-minilm-uegr-0-0123456789"


def private(tmp_path: Path) -> Result:
    """A result that quotes a machine and its user."""
    run = result("snippets", "uegr", 0)
    measured = run.tasks["snippets"].evaluation
    assert measured is not None
    left = {"sst2": "expected sst2 in /home/ann/data, got none"}
    attacks = {
        name: one.model_copy(update={"journal": "pwws.jsonl", "settings": {"surface": "/home/ann/words.tsv"}})
        for name, one in run.tasks["snippets"].attacks.items()
    }
    evaluation = measured.model_copy(update={"left_out": left})
    run = run.with_task("snippets", evaluation=evaluation, attacks=attacks, columns=("annotation",))
    return run.model_copy(
        update={"command": "uegr benchmark /home/ann/grid.yaml --ledger=/home/ann/results -o ~ann/runs"}
    )


def test_it_has_the_figures_and_no_text_of_a_machine_or_a_row(tmp_path: Path) -> None:
    path = write(tmp_path, entry("study", CELL, private(tmp_path)))
    text = path.read_text()
    assert "ann" not in text
    assert "positive" not in text
    assert json.loads(text)["result"]["command"] == "uegr benchmark grid.yaml --ledger=results -o runs"
    assert path.stat().st_size < 12_000  # of a result with every figure that there is
    before, after = private(tmp_path).tasks["snippets"], read(path).result.tasks["snippets"]
    assert after.evaluation is not None
    assert before.evaluation is not None
    assert after.scores["test"]["accuracy"] == before.scores["test"]["accuracy"]
    assert after.evaluation.anomaly.keys() == before.evaluation.anomaly.keys()
    assert after.labels == ("0", "1")


def test_stripping_twice_changes_nothing(tmp_path: Path) -> None:
    once = stripped(private(tmp_path))
    assert stripped(once).to_json() == once.to_json()


def test_it_says_what_was_reported_and_why_it_may_be_unreliable(tmp_path: Path) -> None:
    made = entry("study", CELL, result("snippets", "uegr", 0), (Reported(metric="accuracy", value=88.1),), "a paper")
    stored = json.loads(write(tmp_path, made).read_text())
    assert stored["reported"] == [{"metric": "accuracy", "value": 88.1, "sd": None}]
    assert stored["source"] == "a paper"
    assert stored["unreliable"] == ["attack not calibrated: pwws on snippets"]


def test_a_typed_reason_does_not_count(tmp_path: Path) -> None:
    path = write(tmp_path, entry("study", CELL, result("snippets", "uegr", 0)))
    path.write_text(path.read_text().replace('["attack not calibrated: pwws on snippets"]', "[]"))
    assert read(path).unreliable == ["attack not calibrated: pwws on snippets"]


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"ledger": 1, "study', "is not valid JSON"),
        ("[]", "expected a file of the ledger"),
        ('{"schema": 1}', "expected a file of the ledger"),
        ('{"ledger": 2, "study": "s", "cell": "c"}', "ledger: input should be 1, got 2"),
        ('{"ledger": 1, "study": "s", "cell": "x", "more": 1, "result": {}}', ": "),
    ],
)
def test_what_is_not_one_is_refused_in_one_line(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / f"{CELL}.json"
    path.write_text(content)
    with pytest.raises(InputError) as found:
        read(path)
    assert str(path) in str(found.value)
    assert complaint in str(found.value)
    assert "\n" not in str(found.value)


def test_the_name_of_the_file_is_the_cell(tmp_path: Path) -> None:
    path = write(tmp_path, entry("study", CELL, result("snippets", "uegr", 0)))
    with pytest.raises(InputError, match="expected the cell other, got"):
        read(path.rename(tmp_path / "other.json"))


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, entry("study", CELL, result("snippets", "uegr", 0)))
    before = path.read_bytes()

    def full(*arguments: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space"):
        write(tmp_path, entry("study", CELL, result("snippets", "uegr", 1)))
    assert [one.name for one in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_a_ledger_file_is_known_by_its_start(tmp_path: Path) -> None:
    path = write(tmp_path, entry("study", CELL, result("snippets", "uegr", 0)))
    assert looks_like_one(path)
    (tmp_path / "package.json").write_text('{"name": 1}')
    assert not looks_like_one(tmp_path / "package.json")
    assert not looks_like_one(tmp_path / "nothing.json")
