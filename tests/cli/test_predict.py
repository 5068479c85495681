"""`uegr predict`: texts, files, and what it refuses."""

import json

from tests.cli.conftest import ODD
from tests.tiny_run import write_csv


def test_predict_classifies_texts_files_and_refuses_nonsense(uegr, finished, tmp_path):
    code, out, _ = uegr("predict", finished, "--text", "the plot was awful", "--text", "a lovely scene")
    answers = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [answer["label"] for answer in answers] == ["bad", "good"]
    assert abs(sum(answers[0]["probabilities"].values()) - 1) < 1e-5
    file = write_csv(tmp_path / "new.csv", [("the plot was awful",)], header=("text",))
    code, _, _ = uegr("predict", finished, file, "--output", tmp_path / "out" / "answers.jsonl")
    assert code == 0
    assert json.loads((tmp_path / "out" / "answers.jsonl").read_text())["label"] == "bad"
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
