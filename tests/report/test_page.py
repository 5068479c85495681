"""The page says what the result files say, untrusted text stays text, and sections without data are left out."""

import html
import json
import re
from html.parser import HTMLParser

import pytest

from tests.report.synthetic_runs import METHODS, journal, result, write_run, write_set
from uegr.report.examples import difference
from uegr.report.page import payload, plotly, render, static, write_page
from uegr.report.plots import Panel, Section
from uegr.report.reading import Collection, as_run, collect
from uegr.report.terminal import percent, rows_of

EVIL = "<script>alert('x')</script>{{ 7 * 7 }}{% raw %}\"'</title>&amp;\u2028</style>"


class Page(HTMLParser):
    """The scripts, ids and visible text of a page."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.ids, self.text, self.inside = [], set(), [], []
        self.attributes = []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.ids |= {value for name, value in attributes if name == "id"}
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag in ("script", "style"):
            self.inside.append(tag)
            self.scripts += [""] * (tag == "script")

    def handle_endtag(self, tag):
        if tag in ("script", "style"):
            self.inside.pop()

    def handle_data(self, data):
        if not self.inside:
            self.text.append(data)
        elif self.inside[-1] == "script":
            self.scripts[-1] += data


def evil_run(method, seed=0):
    """A result in which everything that can be a text is hostile."""
    run = result("imdb", method, seed)
    run["config"]["dataset"]["name"] = EVIL
    run["config"]["model"]["name"] = EVIL + "model"
    run["config"]["note"] = EVIL
    run["labels"] = [EVIL + "no", EVIL + "yes"]
    run["command"] = f"uegr train --dataset {EVIL}"
    run["machine"] = {EVIL: EVIL}
    run["evaluation"]["shift"] = {EVIL: run["evaluation"]["shift"]["imdb_tweets"]}
    run["evaluation"]["perturbation"][EVIL] = run["evaluation"]["perturbation"]["fgm"]
    run["attacks"] = {f"{EVIL} on {EVIL}": run["attacks"]["pwws on imdb"]}
    return run


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evil")
    for method in ("vanilla", "uegr", EVIL):
        run = write_run(folder / "cells" / f"{len(method)}", evil_run(method))
        (run / "attacks").mkdir()
        (run / "attacks" / "pwws-x.jsonl").write_text(journal(method, (f"a {EVIL} film", f"{EVIL} b")))
    printed = [
        {"method": "uegr", "model": EVIL + "model", "dataset": EVIL, "metric": "accuracy", "value": 91, "note": EVIL}
    ]
    (folder / "grid.yaml").write_text(json.dumps({"title": EVIL, "source": EVIL, "printed": printed}))
    (folder / "cells" / "{{ broken }}<b>").mkdir()
    (folder / "cells" / "{{ broken }}<b>" / "result.json").write_text(f'{{"config": {{"method": "{EVIL}')
    return render(collect([folder]))


def test_untrusted_text_never_becomes_markup(evil):
    page = Page(evil)
    assert len(page.scripts) == 3  # the data, plotly, our own
    assert page.scripts[1:] == [plotly(), static("page.js")]
    shown = " ".join(page.text)
    assert shown.count("<script>alert('x')</script>{{ 7 * 7 }}{% raw %}\"'</title>&amp;") > 20
    assert "{{ broken }}<b>" in shown
    assert not [one for one in page.attributes if one[1].startswith("on")]


def test_what_plotly_draws_is_escaped_as_plotly_reads_markup(evil):
    data = Page(evil).scripts[0]
    assert not set("<>&\u2028\u2029") & set(data)
    panels = json.loads(data)
    names = {trace["name"] for panel in panels.values() for trace in panel["traces"] if "name" in trace}
    assert html.escape(EVIL, quote=False) in {name.removesuffix(" (default)") for name in names}
    assert not [name for name in names if "<" in name]


def test_the_page_fetches_nothing_and_allows_no_other_script(evil):
    page = Page(evil)
    links = {value for _, name, value in page.attributes if name in ("href", "src", "action", "srcset")}
    assert links == {"#left"}
    policy = next(value for _, name, value in page.attributes if name == "content" and "default-src" in str(value))
    assert "default-src 'none'" in policy
    assert "unsafe-eval" not in policy
    assert re.findall(r"script-src[^;]*", policy)[0].count("sha256-") == 2
    assert "unsafe-inline" not in re.findall(r"script-src[^;]*", policy)[0]


def test_json_in_the_page_cannot_end_its_script():
    panel = Panel("", [{"name": "</script><!--"}], {})
    assert "</script" not in payload([Section("k", "", "", [panel])])
    assert json.loads(payload([Section("k", "", "", [panel])]))["k-0"]["traces"] == panel.traces


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    return Page(render(collect([write_set(tmp_path_factory.mktemp("full"), seeds=2)])))


def test_every_section_is_there(full):
    wanted = {"glance", "leaderboard", "printed-1", "tradeoff", "curves-fgm", "curves-pgd", "options", "maps", "sizes"}
    wanted |= {"reliability", "cka", "cost", "attacks", "figures", "provenance", "left"}
    assert wanted <= full.ids


def test_sections_without_data_are_left_out():
    bare = [result("imdb", method, 0) for method in METHODS]
    for run in bare:
        del run["evaluation"], run["attacks"]
    page = Page(render(Collection(runs=[as_run(str(place), run) for place, run in enumerate(bare)])))
    drawn = {"tradeoff", "curves-fgm", "options", "maps", "sizes", "reliability", "cka", "attacks", "printed-1", "left"}
    assert not drawn & page.ids
    assert {"leaderboard", "figures", "provenance"} <= page.ids


def test_an_empty_collection_is_a_page_too():
    page = Page(render(Collection(), refresh=5))
    assert "No runs yet" in " ".join(page.text)
    assert ("meta", "http-equiv", "refresh") in page.attributes


def test_the_changed_words_are_marked(full):
    assert difference("a good film", "a fine film") == [("a ", False), ("fine", True), (" film", False)]
    assert difference("it was", "it was not") == [("it was", False), (" not", True)]
    assert "narrative" in full.text


def test_printed_figures_are_set_beside_and_the_difference_is_said(full):
    text = " ".join(" ".join(full.text).split())
    assert "differs: ours is below it" in text
    assert "not measured" in text
    assert "measured with bert in place of bert-large" in text


def test_the_demo_writes_the_same_page(tmp_path):
    runs = {method: result("snippets", method, 0) for method in ("vanilla", "uegr")}
    path = write_page(tmp_path / "deep" / "report.html", runs)
    page = Page(path.read_text(encoding="utf-8"))
    assert "vanilla and uegr on snippets" in " ".join(page.text)
    assert {"leaderboard", "curves-fgm", "figures"} <= page.ids


def test_figures_are_named_for_people():
    names = [name for name, _ in rows_of(result("imdb", "vanilla", 0)["evaluation"])]
    assert names[:2] == ["accuracy, test", "accuracy, fgm within 0.01"]
    assert percent({"value": None, "low": None, "high": None, "n": 0}) == "-"


def test_a_thousand_folders_make_a_page(tmp_path):
    """How long it takes is measured by benchmarks/perf/report_speed.py."""
    run = json.dumps(result("imdb", "uegr", 0))
    for number in range(1000):
        folder = tmp_path / str(number)
        folder.mkdir()
        seed, size = number % 5, 100 + number // 5
        text = run.replace('"seed": 0}, "labels"', f'"seed": {seed}}}, "labels"')
        (folder / "result.json").write_text(text.replace('"train_size": null', f'"train_size": {size}'))
    found = collect([tmp_path])
    assert (len(found.runs), found.left) == (1000, [])
    page = render(found)
    assert page.count('<tr data-dataset="imdb"') == 200
