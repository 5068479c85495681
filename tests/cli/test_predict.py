"""`uegr predict`: texts, files, and what it refuses."""

import csv
import json

import pyarrow.parquet
import pytest

from tests.cli.conftest import ODD
from tests.tiny_run import sentences, write_csv
from uegr import open_run
from uegr.errors import DataWarning


def test_predict_classifies_texts_files_and_refuses_nonsense(uegr, finished, tmp_path):
    code, out, _ = uegr("predict", finished, "--text", "the plot was awful", "--text", "a lovely scene")
    answers = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [answer["predicted"] for answer in answers] == ["bad", "good"]
    assert abs(sum(answers[0]["probabilities"].values()) - 1) < 1e-5
    file = write_csv(tmp_path / "new.csv", [("the plot was awful",)], header=("text",))
    code, _, _ = uegr("predict", finished, file, "--output", tmp_path / "out" / "answers.jsonl")
    assert code == 0
    assert json.loads((tmp_path / "out" / "answers.jsonl").read_text())["predicted"] == "bad"
    code, _, error = uegr("predict", finished)
    assert (code, "--text" in error) == (2, True)
    code, _, error = uegr("predict", tmp_path, "--text", "x")
    assert code == 2
    assert "result.json" in error


def test_a_file_is_read_as_the_flags_say(uegr, finished, odd):
    code, _, error = uegr("predict", finished, odd)
    assert (code, "--encoding" in error) == (2, True), error
    code, out, error = uegr("predict", finished, odd, *ODD)
    assert code == 0, error
    assert len(out.splitlines()) == 40


def test_a_task_that_the_run_does_not_have_is_named(uegr, finished):
    assert "the run has no task other" in uegr("predict", finished, "--text", "x", "--task", "other")[2]


def test_flags_for_a_file_need_a_file(uegr, finished):
    code, _, error = uegr("predict", finished, "--text", "x", "--text-column", "y")
    assert (code, error) == (2, "--text-column is for a file to classify; name the file, or leave it out")


def test_a_text_in_the_place_of_a_file_is_told_how_to_be_given(uegr, finished):
    code, _, error = uegr("predict", finished, "it's a lovely scene")
    remedy = """use --text 'it'"'"'s a lovely scene'"""
    assert (code, error) == (2, f"expected a file to classify, got a text; {remedy}")


def test_a_word_in_the_place_of_a_file_is_told_so_too(uegr, finished):
    code, _, error = uegr("predict", finished, "lovely")
    assert (code, error.startswith("there is no file, folder or data set 'lovely'; ")) == (2, True)
    assert error.endswith("; to classify it as a text, use --text lovely")
    assert "--text" not in uegr("predict", finished, "lovely.csv")[2]


def test_a_pair_needs_its_first_text(uegr, finished):
    code, _, error = uegr("predict", finished, "--pair", "x")
    assert (code, "give the first text of the pair with --text" in error) == (2, True)


def test_the_columns_of_the_answers_do_not_depend_on_the_rows(uegr, finished):
    code, out, _ = uegr("predict", finished, "--text", "a lovely scene")
    assert (code, json.loads(out)["note"]) == (0, "")


ROWS = [("7", "the plot was awful", "x, y"), ("8", "a lovely scene", 'say "no"'), ("9", "", "é")]


def table(path):
    import pyarrow.parquet as pq

    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    with path.open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".jsonl", ".parquet"])
def test_the_ending_decides_the_format_and_all_columns_are_carried(uegr, finished, tmp_path, ending):
    file = write_csv(tmp_path / "new.csv", ROWS, header=("id", "text", "remark"))
    with pytest.warns(DataWarning, match=r"1 of 3 texts is empty: row 3"):
        code, out, error = uegr("predict", finished, file, "--output", tmp_path / f"out{ending}")
    assert (code, out) == (0, ""), error
    found = table(tmp_path / f"out{ending}")
    assert [(one["id"], one["text"], one["remark"]) for one in found] == ROWS
    assert [str(one["row"]) for one in found] == ["1", "2", "3"]
    assert [one["predicted"] for one in found][:2] == ["bad", "good"]
    assert [one["note"] for one in found] == ["", "", "empty"]
    flat = found[0] if ending != ".jsonl" else {f"probability_{k}": v for k, v in found[0]["probabilities"].items()}
    assert float(flat["probability_bad"]) + float(flat["probability_good"]) == pytest.approx(1, abs=1e-5)


def test_an_ending_without_a_format_is_refused_before_anything_is_read(uegr, tmp_path):
    code, _, error = uegr("predict", tmp_path, "--text", "x", "--output", tmp_path / "answers.txt")
    assert (code, "ends with .csv" in error) == (2, True)


def test_texts_that_were_cut_are_named(uegr, finished):
    with pytest.warns(DataWarning, match=r"1 of 2 texts is cut after 32 tokens: row 2"):
        code, out, _ = uegr("predict", finished, "--text", "a film", "--text", "film " * 50)
    assert code == 0
    assert json.loads(out.splitlines()[1])["note"] == "cut after 32 tokens"


def test_the_columns_of_the_training_file_are_remembered(uegr, home, tmp_path):
    rows = [(text, label, "a dull title") for text, label in sentences(40)]
    file = write_csv(tmp_path / "old.csv", rows, header=("opinion", "label", "title"))
    made = ["--model", home / "model", "--dataset", file, "--output", tmp_path / "run", "--method", "vanilla"]
    made += ["--text-column", "opinion", "--set", "training.max_steps=1", "--quiet", "--json"]
    assert uegr("train", *made)[0] == 0
    new = write_csv(tmp_path / "new.csv", [("a title", "a film")], header=("title", "opinion"))
    other = write_csv(tmp_path / "other.csv", [("a film", "a title")], header=("title", "opinion"))
    as_now = uegr("predict", tmp_path / "run", new)[1]
    as_then = uegr("predict", tmp_path / "run", other, "--text-column", "title")[1]
    assert json.loads(as_now)["probabilities"] == json.loads(as_then)["probabilities"]
    without = write_csv(tmp_path / "without.csv", [("a film",)], header=("title",))
    assert "has no column 'opinion' (--text-column)" in uegr("predict", tmp_path / "run", without)[2]


@pytest.fixture(scope="module")
def detected(uegr, home, tmp_path_factory):
    """A run whose training file has a text column that was detected: review."""
    place = tmp_path_factory.mktemp("detected")
    rows = [(number, text, label) for number, (text, label) in enumerate(sentences(40))]
    file = write_csv(place / "old.csv", rows, header=("id", "review", "label"))
    made = ["--model", home / "model", "--dataset", file, "--output", place / "run", "--method", "vanilla"]
    code, _, error = uegr("train", *made, "--set", "training.max_steps=1", "--quiet", "--json")
    assert code == 0, error
    return place / "run"


def test_columns_that_were_detected_are_remembered_too(uegr, detected, tmp_path):
    """Detection alone would take the column text, which the training file did not have."""
    both = write_csv(tmp_path / "both.csv", [("a title", "a film")], header=("text", "Review"))
    only = write_csv(tmp_path / "only.csv", [("a film",)], header=("text",))
    as_trained, chosen = (
        json.loads(uegr("predict", detected, both, *more)[1])["probabilities"]
        for more in ([], ["--text-column", "text"])
    )
    with pytest.warns(DataWarning, match="only.csv has no column 'review', which the run was trained on; read 'text'"):
        code, out, error = uegr("predict", detected, only)
    assert code == 0, error
    assert as_trained == json.loads(out)["probabilities"] != chosen


def test_another_data_set_is_evaluated_on_the_columns_of_the_training(uegr, detected, tmp_path):
    rows = [("always the same title", text, label) for text, label in sentences(20, seed=5)]
    file = write_csv(tmp_path / "march.csv", rows, header=("text", "review", "label"))
    task = open_run(detected).task()
    assert task.data(str(file)).splits["train"]["text"][0] == rows[0][1]
    assert task.data(str(file), text_column="text").splits["train"]["text"][0] == rows[0][0]


def test_rows_are_counted_as_data_show_counts_them(uegr, finished, tmp_path):
    """A blank line is no row, and a field with a newline is one."""
    (tmp_path / "new.csv").write_text(
        'id,text\n\n1,"a lovely\nscene"\n\n2,\n3,the plot was awful\n\n', encoding="utf-8"
    )
    (shown,) = json.loads(uegr("data", "show", tmp_path / "new.csv", "--json")[1])
    with pytest.warns(DataWarning, match="1 of 3 texts is empty: row 2"):
        found = [json.loads(line) for line in uegr("predict", finished, tmp_path / "new.csv")[1].splitlines()]
    assert [one["row"] for one in found] == list(range(1, shown["rows"] + 1)) == [1, 2, 3]
    assert [one["text"] for one in found] == [one["text"] for one in shown["examples"]]


def test_pairs_are_for_a_run_on_pairs(uegr, finished):
    assert "trained on single texts" in uegr("predict", finished, "--text", "x", "--pair", "y")[2]
    assert (
        "expected one --pair for each --text, got 1 and 2"
        in uegr("predict", finished, "--text", "x", "--pair", "y", "--pair", "z")[2]
    )


def test_lists_and_objects_of_json_stay_json_in_a_csv(uegr, finished, tmp_path):
    (tmp_path / "new.jsonl").write_text(json.dumps({"text": "a film", "meta": {"tags": ["é", None]}}) + "\n")
    assert uegr("predict", finished, tmp_path / "new.jsonl", "--output", tmp_path / "out.csv")[0] == 0
    assert json.loads(table(tmp_path / "out.csv")[0]["meta"]) == {"tags": ["é", None]}


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_a_null_is_an_empty_text_and_told(uegr, finished, tmp_path, ending):
    """The whole file was refused, and "" was not."""
    file, texts = tmp_path / f"new.{ending}", [None, "a lovely scene"]
    if ending == "jsonl":
        file.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    else:
        pyarrow.parquet.write_table(pyarrow.table({"text": texts}), file)
    with pytest.warns(DataWarning, match="1 of 2 texts is empty: row 1"):
        code, out, error = uegr("predict", finished, file)
    assert code == 0, error
    first, second = map(json.loads, out.splitlines())
    assert (first["text"], first["note"], second["predicted"]) == (None, "empty", "good")


def test_a_file_or_a_text_and_not_both(uegr, finished, tmp_path):
    assert uegr("predict", finished)[2].startswith("expected a file to classify or --text, got neither; ")
    both = uegr("predict", finished, tmp_path / "x.csv", "--text", "x")
    assert both[2] == "expected a file to classify or --text, got both; leave one of them out"
