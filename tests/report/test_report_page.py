"""The page says what the result files say, and untrusted text stays text."""

import re

from uegr.report.page import chart, write_page
from uegr.report.terminal import percent, rows_of

EVIL = "<script>alert('x')</script>{{ 7 * 7 }}\"'"


def figure(value: float, width: float = 0.02, n: int = 500) -> dict:
    return {"value": value, "low": value - width, "high": value + width, "n": n}


def result(accuracy: float, ece: float, name: str = "snippets") -> dict:
    points = [{"epsilon": e, "accuracy": accuracy - e / 10, "low": 0.1, "high": 0.9, "n": 500} for e in (0.0, 1.0, 2.0)]
    return {
        "config": {"model": {"name": "minilm"}, "dataset": {"name": name}, "seed": 1, "note": EVIL},
        "training": {"rows": 1000, "seconds": 12.5},
        "machine": {"python": "3.11", "gpu": EVIL},
        "command": f"uegr train --dataset {EVIL}",
        "evaluation": {
            "split": "test",
            "clean": {"accuracy": figure(accuracy)},
            "perturbation": {"fgm": {"points": points}},
            "shift": {EVIL: {"accuracy": figure(0.6), "ece": figure(0.1)}},
            "calibration": {"ece": figure(ece)},
        },
    }


def page(tmp_path, **runs):
    return write_page(tmp_path / "deep" / "report.html", runs).read_text(encoding="utf-8")


def test_untrusted_text_never_becomes_markup(tmp_path):
    html = page(tmp_path, vanilla=result(0.7, 0.1, EVIL), uegr=result(0.8, 0.1, EVIL))
    assert "<script" not in html
    assert "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;{{ 7 * 7 }}" in html


def test_the_page_needs_no_network_and_no_script(tmp_path):
    html = page(tmp_path, vanilla=result(0.7, 0.1))
    assert not re.search(r"(src|href)\s*=|https?://|@import|url\(", html)


def test_only_differences_beyond_the_intervals_are_coloured_and_less_calibration_error_is_better(tmp_path):
    html = page(tmp_path, vanilla=result(0.70, 0.20), near=result(0.72, 0.19), far=result(0.80, 0.10))
    coloured = re.findall(r'<td class="(better|worse)">([^<]+)</td>', html)
    assert coloured == [("better", "80.0 (78.0-82.0)"), ("better", "10.0 (8.0-12.0)")]


def test_the_chart_has_a_line_a_run_and_a_point_an_epsilon():
    curves = {"a": result(0.7, 0.1)["evaluation"]["perturbation"]["fgm"]["points"], "b": []}
    drawn = chart(curves)
    assert [len(line["points"]) for line in drawn["lines"]] == [3, 0]
    heights = [point[1] for point in drawn["lines"][0]["points"]]
    assert heights == sorted(heights)  # accuracy falls, so the line goes down the picture
    assert chart({"a": []}) is None


def test_figures_are_named_for_people():
    names = [name for name, _ in rows_of(result(0.7, 0.1)["evaluation"])]
    assert names[:3] == ["accuracy, test", "accuracy, fgm within 1", "accuracy, fgm within 2"]
    assert names[-1] == "calibration error (ECE)"
    assert percent({"value": None, "low": None, "high": None, "n": 0}) == "-"
