"""`uegr evaluate`: figures are printed and kept."""

import json

from tests.cli.conftest import ODD
from tests.tiny_run import sentences


def test_evaluate_measures_and_keeps_the_figures(uegr, run):
    code, out, _ = uegr("evaluate", run, "--quiet", "--json")
    figures = json.loads(out)["data"]
    assert code == 0
    assert figures["clean"]["accuracy"]["n"] == 24
    first = figures["perturbation"]["fgm"]["points"][0]
    assert (first["epsilon"], first["accuracy"]) == (0.0, figures["clean"]["accuracy"])
    assert 0 <= figures["calibration"]["ece"]["value"] <= 1
    assert json.loads((run / "result.json").read_text())["tasks"]["data"]["evaluation"] == figures
    code, out, _ = uegr("evaluate", run, "--quiet")
    assert code == 0
    assert "accuracy, test" in out


def test_another_file_is_read_as_the_flags_say(uegr, run, odd):
    base = ["evaluate", run, "--dataset", odd, "--quiet", "--json"]
    code, _, error = uegr(*base)
    assert (code, "--encoding" in error) == (2, True), error
    code, out, error = uegr(*base, *ODD, "--label-column", "stars")
    assert code == 0, error
    assert json.loads(out)["data"]["shift"]["odd"]["accuracy"]["n"] == 40


def test_a_file_for_a_regression_is_read_as_numbers(uegr, home, tmp_path):
    """Whole numbers are classes by default, but a run on numbers expects numbers."""
    lines = ["text,label", *(f"{text},{label == 'good'}" for text, label in sentences(40))]
    numbers = "\n".join(lines).replace("True", "0.5").replace("False", "0.1")
    (tmp_path / "numbers.csv").write_text(numbers)
    (tmp_path / "whole.csv").write_text("text,label\na great film,1\na dull film,0\n")
    tiny = ["--model", home / "model", "--dataset", tmp_path / "numbers.csv", "--output", tmp_path / "run"]
    small = ["--method", "vanilla", "--set", "training.max_steps=1", "--quiet"]
    code, _, error = uegr("train", *tiny, *small)
    assert (code, "--kind regression" in error) == (2, True), error
    code, _, error = uegr("train", *tiny, *small, "--kind", "regression")
    assert code == 0, error
    code, out, error = uegr("evaluate", tmp_path / "run", "--dataset", tmp_path / "whole.csv", "--quiet", "--json")
    assert code == 0, error
    assert "pearson" in json.loads(out)["numbers"]["shift"]["whole"]
    left_out = json.loads(out)["numbers"]["left_out"]
    assert left_out == dict.fromkeys(["calibration", "fgm"], "needs a classifier, and this is a regression")


def test_flags_for_a_file_need_a_file(uegr, finished):
    code, _, error = uegr("evaluate", finished, "--delimiter", ";", "--kind", "regression")
    assert (code, error) == (2, "--delimiter, --kind are for the files of --dataset; add it, or leave them out")


def test_everything_that_is_measured_is_printed_and_what_is_left_out_with_its_reason(uegr, run):
    code, out, error = uegr("evaluate", run, "--all", "--rows", "12", "--quiet")
    assert code == 0, error
    lines = out.splitlines()
    for shown in (
        "accuracy, test",
        "noise within 0.5",
        "after a temperature",
        "balanced accuracy",
        "calibration error (ECE)",
        "Brier score",
        "sharpness",
        "(CKA) by layer",
        " weights)",
    ):
        assert any(shown in line for line in lines), f"{shown} is not in {out}"
    assert "left out: shift: no card names such a set for data; name one with --dataset" in lines
    assert "left out: adversarial: no card names such a set for data; score your own with --dataset" in lines
    assert any(line.startswith("left out: anomaly: no card names such a set for data; in Python, ") for line in lines)
    kept = json.loads((run / "result.json").read_text())["tasks"]["data"]["evaluation"]["left_out"]
    assert set(kept) == {"shift", "adversarial", "anomaly"}
