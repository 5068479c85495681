"""`uegr evaluate`: figures are printed and kept."""

import json


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
