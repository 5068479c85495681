"""`uegr predict`: the columns of a file, those of the answers, and the file itself, which is never lost."""

import json
import os

import pytest

from tests.cli.test_predict import table
from tests.tiny_run import write_csv
from uegr.errors import DataWarning
from uegr.runs.finished import FinishedTask


@pytest.fixture
def no_answers(monkeypatch):
    """Nothing may be predicted."""

    def fail(*args, **options):
        raise AssertionError("predicted before the input was refused")

    monkeypatch.setattr(FinishedTask, "predict", fail)


def spelt(file, how):
    """The same file under another name."""
    if how == "link":
        (file.parent / "link.csv").symlink_to(file)
        return file.parent / "link.csv"
    return file.parent / "." / ".." / file.parent.name / file.name if how == "path" else file


@pytest.mark.parametrize("how", ["same", "path", "link"])
@pytest.mark.usefixtures("no_answers")
def test_the_input_is_not_replaced(uegr, finished, tmp_path, how):
    file = write_csv(tmp_path / "new.csv", [("a film",)], header=("text",))
    before, other = file.read_bytes(), spelt(file, how)
    for source, output in [(file, other), (other, file)]:
        code, _, error = uegr("predict", finished, source, "--output", output)
        assert (code, f"got {output}, which is read" in error, "another --output" in error) == (2, True, True), error
    assert file.read_bytes() == before


@pytest.mark.usefixtures("no_answers")
def test_a_file_of_the_input_folder_is_not_replaced(uegr, finished, tmp_path, monkeypatch):
    monkeypatch.setenv("UEGR_DATA", str(tmp_path))
    (tmp_path / "own_films").mkdir()
    file = write_csv(tmp_path / "own_films" / "test.csv", [("a film",)], header=("text",))
    for source in (file.parent, "own_films"):
        code, _, error = uegr("predict", finished, source, "--output", file)
        assert (code, "which is read" in error) == (2, True), error


def test_earlier_answers_are_replaced(uegr, finished, tmp_path):
    file = write_csv(tmp_path / "new.csv", [("a film",)], header=("text",))
    first = table_of(uegr, finished, file, tmp_path / "out.csv")
    assert first == table_of(uegr, finished, file, tmp_path / "out.csv")


def table_of(uegr, run, source, output):
    code, _, error = uegr("predict", run, source, "--output", output)
    assert code == 0, error
    return table(output)


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_the_columns_of_the_file_stay_and_ours_get_another_name(uegr, finished, tmp_path, ending):
    mine = {"text": "a film", "row": "9", "predicted": "x", "note": "mine", "note_2": "too"}
    mine |= {"probability_bad": "y", "probabilities": "z"}
    file = write_csv(tmp_path / "new.csv", [tuple(mine.values())], header=tuple(mine))
    ours = {"row": "row_2", "predicted": "predicted_2", "note": "note_3"}
    ours |= {"probabilities": "probabilities_2"} if ending == ".jsonl" else {"probability_bad": "probability_bad_2"}
    with pytest.warns(DataWarning) as told:
        (found,) = table_of(uegr, finished, file, tmp_path / f"out{ending}")
    assert {name: found[name] for name in mine} == mine
    assert (str(found["row_2"]), found["note_3"]) == ("1", "")
    assert found["predicted_2"] in ("bad", "good")
    (line,) = (str(one.message) for one in told)
    assert all(repr(name) in line for pair in ours.items() for name in pair), line
    rest = {"probability_good"} if ending != ".jsonl" else set()
    assert set(found) == set(mine) | set(ours.values()) | rest


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_answers_go_through_a_second_model(uegr, finished, tmp_path, ending):
    file = write_csv(tmp_path / "new.csv", [("a film",), ("a lovely scene",)], header=("text",))
    once = table_of(uegr, finished, file, tmp_path / f"once{ending}")
    with pytest.warns(DataWarning, match="'predicted'"):
        twice = table_of(uegr, finished, tmp_path / f"once{ending}", tmp_path / f"twice{ending}")
    with pytest.warns(DataWarning, match="'predicted_3'"):
        thrice = table_of(uegr, finished, tmp_path / f"twice{ending}", tmp_path / f"thrice{ending}")
    for before, after in [(once, twice), (twice, thrice)]:
        assert [{name: row[name] for name in before[0]} for row in after] == before
    assert [row["predicted_3"] for row in thrice] == [row["predicted"] for row in once]


def test_only_the_name_that_is_taken_changes(uegr, finished, tmp_path):
    file = write_csv(tmp_path / "new.csv", [("a film", "mine")], header=("text", "note"))
    with pytest.warns(DataWarning, match="new.csv has the column 'note' already; the answers have 'note_2' instead"):
        code, out, error = uegr("predict", finished, file)
    assert code == 0, error
    assert list(json.loads(out)) == ["text", "note", "row", "predicted", "probabilities", "note_2"]


@pytest.mark.parametrize(
    ("ending", "values"),
    [
        (".parquet", ["a", 1]),
        (".parquet", [2**70]),
        (".parquet", [{}]),
        (".parquet", ["\ud800"]),
        (".csv", ["\ud800"]),
    ],
)
@pytest.mark.usefixtures("no_answers")
def test_what_the_format_cannot_hold_is_refused_before_anything_is_predicted(uegr, finished, tmp_path, ending, values):
    lines = [json.dumps({"text": "a film", "meta": value}) for value in values]
    (tmp_path / "new.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    code, _, error = uegr("predict", finished, tmp_path / "new.jsonl", "--output", tmp_path / f"out{ending}")
    assert (code, "column 'meta'" in error, ".jsonl" in error) == (2, True, True), error
    assert not (tmp_path / f"out{ending}").exists()


@pytest.mark.parametrize("ending", [".jsonl", ".json"])
def test_columns_that_the_first_object_lacks_are_carried_through(uegr, finished, tmp_path, ending):
    rows = [{"text": "a film"}] * 1200 + [{"text": "a plot", "cid": "A7", "note": "mine"}]
    text = json.dumps(rows) if ending == ".json" else "".join(f"{json.dumps(row)}\n" for row in rows)
    (tmp_path / f"late{ending}").write_text(text, encoding="utf-8")
    given = uegr("predict", finished, tmp_path / f"late{ending}", "--output", tmp_path / "out.jsonl")
    assert given[0] == 0, given[2]
    last = json.loads((tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    assert (last["cid"], last["note"], last["note_2"]) == ("A7", "mine", "")


def test_several_rows_are_named_in_the_plural(uegr, finished):
    with pytest.warns(DataWarning, match="^2 of 3 texts are empty: rows 1, 3$"):
        assert uegr("predict", finished, "--text", "", "--text", "a film", "--text", " ")[0] == 0


@pytest.mark.usefixtures("no_answers")
def test_a_check_that_fails_deletes_nothing(uegr, finished, tmp_path, monkeypatch):
    """pyarrow deletes the path that it fails to write: as root, /dev/null was gone."""
    removed = []
    monkeypatch.setattr(os, "remove", removed.append)
    (tmp_path / "new.jsonl").write_text(json.dumps({"text": "a film", "meta": {}}), encoding="utf-8")
    assert uegr("predict", finished, tmp_path / "new.jsonl", "--output", tmp_path / "out.parquet")[0] == 2
    assert removed == []
