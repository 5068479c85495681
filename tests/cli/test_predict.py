"""`uegr predict`: texts, files, and what it refuses."""

import json

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
