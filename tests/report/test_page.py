"""The page says what the result files say, untrusted text stays text, and sections without data are left out."""

import html
import json
import re
from html.parser import HTMLParser

import pytest

from tests.report.synthetic_runs import METHODS, config, result, write_run, write_set
from uegr.report.examples import attack_examples, difference
from uegr.report.groups import grouped
from uegr.report.page import payload, plotly, render, static, write_page
from uegr.report.plots import Panel, Section
from uegr.report.reading import Collection, Run, collect

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
    measured = run.tasks["imdb"].evaluation
    shift = {EVIL: measured.shift["imdb_tweets"]}
    curves = measured.perturbation | {EVIL: measured.perturbation["fgm"]}
    attack = run.tasks["imdb"].attacks["pwws on imdb"].model_copy(update={"data": EVIL})
    task = run.tasks["imdb"].model_copy(
        update={
            "dataset": EVIL,
            "labels": (EVIL + "no", EVIL + "yes"),
            "evaluation": measured.model_copy(update={"shift": shift, "perturbation": curves}),
            "attacks": {f"{EVIL} on {EVIL}": attack},
        }
    )
    training = run.config.training | {"note": EVIL}
    changes = {
        "config": config(EVIL, method, seed, EVIL + "model").model_copy(update={"training": training}),
        "tasks": {EVIL: task},
        "command": f"uegr train --dataset {EVIL}",
        "machine": run.machine.model_copy(update={"processor": EVIL}),
        "versions": {EVIL: EVIL},
    }
    return run.model_copy(update=changes)


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evil")
    for method in ("vanilla", "uegr", EVIL):
        texts = (f"a {EVIL} film", f"{EVIL} b")
        write_run(folder / "cells" / f"{len(method)}", evil_run(method), attacked=True, texts=texts)
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
    bare = [result("imdb", method, 0).with_task("imdb", evaluation=None, attacks={}) for method in METHODS]
    page = Page(render(Collection(runs=[Run(str(place), run) for place, run in enumerate(bare)])))
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
    assert "differs: ours is below it, outside our 95% interval over 2 seeds" in text
    assert "not measured" in text


def test_the_demo_writes_the_same_page(tmp_path):
    runs = {method: result("snippets", method, 0) for method in ("vanilla", "uegr")}
    path = write_page(tmp_path / "deep" / "report.html", runs)
    page = Page(path.read_text(encoding="utf-8"))
    assert "vanilla and uegr on snippets" in " ".join(page.text)
    assert {"leaderboard", "curves-fgm", "figures"} <= page.ids


def test_the_texts_of_a_task_come_from_its_own_attacks(tmp_path):
    write_run(tmp_path / "a", result("cola,rte", "vanilla", 0, model="mtdnn"), attacked=True)
    found = collect([tmp_path])
    titles = ["cola · mtdnn · pwws-cola", "rte · mtdnn · pwws-rte"]
    assert list(attack_examples(grouped(found.runs))) == titles


def test_a_thousand_folders_make_a_page(tmp_path):
    """How long it takes is measured by benchmarks/perf/report_speed.py."""
    run = result("imdb", "uegr", 0).to_json()
    for number in range(1000):
        folder = tmp_path / str(number)
        folder.mkdir()
        seed, size = number % 5, 100 + number // 5
        text = run.replace('"seed": 0\n  },\n  "tasks"', f'"seed": {seed}\n  }},\n  "tasks"')
        (folder / "result.json").write_text(text.replace('"train_size": null', f'"train_size": {size}'))
    found = collect([tmp_path])
    assert (len(found.runs), found.left) == (1000, [])
    page = render(found)
    assert page.count('<tr data-dataset="imdb"') == 200
