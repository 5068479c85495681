"""A page of many methods with long names in a real browser: tables fit, names cover nothing, paper hides nothing."""

import json
from pathlib import Path

import pytest

from tests.report.chromium import Browser, browser, program
from tests.report.synthetic_runs import result, write_run
from tests.report.test_headline import run
from uegr.report.page import SHOWN_FIRST, render, write
from uegr.report.reading import collect

pytestmark = [pytest.mark.slow, pytest.mark.skipif(program() is None, reason="no Chromium here")]
NAMES = [f"uegr_plus, candidate {place}, half of the words, without the update" for place in range(11)]
TABLES = "#verdict, #headlines, #glance, #leaderboard"
DRAW = "document.querySelectorAll('#tradeoff .plot, #cost .plot').forEach(place => draw(place))"
NAMED = """[...document.querySelectorAll('.plot')].map(place => {
  const area = place.querySelector('.nsewdrag')?.getBoundingClientRect();
  const texts = [...place.querySelectorAll('.textpoint text, .annotation-text')].filter(one => one.textContent.trim());
  const boxes = texts.map(one => one.getBoundingClientRect());
  const meet = boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b =>
    a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2));
  const out = boxes.filter(one => one.left < area.left - 2 || one.right > area.right + 2 || one.top < area.top - 2);
  const points = place.querySelectorAll('.scatterlayer .point').length;
  return { names: boxes.length, points, meet: meet.length, out: out.length };
})"""


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    folder = tmp_path_factory.mktemp("long")
    for place, method in enumerate(["vanilla", *NAMES]):
        for seed in range(1 if place == len(NAMES) else 2):
            made = run(method, seed, 0.2 + 0.013 * place, 0.4 + 0.011 * place)
            write_run(folder / "runs" / f"{place}-{seed}", made)
    page: Path = write(folder / "report.html", render(collect([folder / "runs"])))
    with browser() as found:
        found.size(1440, 900)
        found.open(page)
        yield found


def resized(tab: Browser, width: int, height: int = 900) -> None:
    tab.size(width, height)
    tab.until(f"innerWidth === {width}")


def test_many_long_names_do_not_make_tables_scroll_sideways(tab: Browser) -> None:
    """The page of the committed results scrolled at both widths, in three of its tables."""
    regions = f"[...document.querySelectorAll('{TABLES}')].flatMap(one => [...one.querySelectorAll('.scroll')])"
    wide = f"{regions}.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.ariaLabel)"
    for width, height in ((1440, 900), (390, 844)):
        resized(tab, width, height)
        assert tab.run(f"{regions}.length") == 4
        assert tab.run(wide) == [], width
        assert tab.run(
            "document.querySelector('#ranking tbody tr').getBoundingClientRect().top + scrollY < innerHeight"
        )


def test_the_columns_of_an_attack_without_calibration_fit_a_phone(tmp_path: Path) -> None:
    """A table of an own csv's grid was cut after the sign of its last column."""
    settings = {"surface": "default", "side": "second", "budget": None, "calibrated": False}
    for method in ("vanilla", "fgm", "freelb", "rdrop"):
        for seed in range(2):
            write_run(tmp_path / "runs" / f"{method}-{seed}", run(method, seed, 0.3, 0.4, settings=settings))
    page = write(tmp_path / "report.html", render(collect([tmp_path / "runs"])))
    regions = f"[...document.querySelectorAll('{TABLES}')].flatMap(one => [...one.querySelectorAll('.scroll')])"
    with browser() as phone:
        phone.open(page)
        resized(phone, 390, 844)
        assert "not calibrated" in phone.run("document.querySelector('#glance').textContent")
        assert phone.run(f"{regions}.filter(one => one.scrollWidth > one.clientWidth).map(one => one.ariaLabel)") == []


def test_the_rest_of_a_table_is_a_click_away(tab: Browser) -> None:
    seen = "[...document.querySelectorAll('#ranking tbody tr')].filter(row => row.offsetHeight).length"
    columns = "[...document.querySelectorAll('#headline-1 th')].filter(one => one.offsetWidth).length"
    assert tab.run(seen) == SHOWN_FIRST < len(NAMES)
    few = tab.run(columns)
    tab.run("document.querySelector('[aria-controls=ranking]').click()")
    tab.run("document.querySelector('[aria-controls=headline-1]').click()")
    assert tab.run(seen) == len(NAMES)
    assert tab.run(columns) > few
    assert tab.run("document.querySelector('[aria-controls=ranking]').textContent") == "Fewer methods"
    tab.run("document.querySelectorAll('[aria-pressed=true].toggle').forEach(one => one.click())")
    assert tab.run(seen) == SHOWN_FIRST


def test_no_name_in_a_drawing_covers_another_or_is_cut_off(tab: Browser) -> None:
    for width, least in ((1440, 7), (390, 0)):  # on a phone, such names are longer than the drawing
        resized(tab, width)
        tab.run(DRAW)
        found = [one for one in tab.run(NAMED) if one["names"]]
        assert max((one["names"] for one in found), default=0) >= least
        assert [one for one in found if one["meet"] or one["out"]] == [], width


def test_every_point_of_a_crowd_has_its_name(tmp_path: Path) -> None:
    """Points of the committed results that lay together had no name, although there was room beside them."""
    for place, method in enumerate(["vanilla", "fgm", "rat", "rat_su", "freelb", "uegr", "uegr_plus"]):
        for seed in range(2):
            made = run(method, seed, 0.40 + 0.001 * place, 0.40 + 0.001 * (place % 3))
            write_run(tmp_path / "runs" / f"{place}-{seed}", made)
    page = write(tmp_path / "report.html", render(collect([tmp_path / "runs"])))
    with browser() as tab:
        for width in (1440, 390):
            tab.size(width, 900)
            tab.open(page)
            tab.run(DRAW)
            found = [one for one in tab.run(NAMED) if one["points"] == 7]
            assert found
            assert [one for one in found if one["names"] != 7 or one["meet"] or one["out"]] == [], width


def test_of_many_methods_the_first_are_drawn_and_the_others_on_request(tab: Browser) -> None:
    resized(tab, 1440)
    tab.run(DRAW)
    drawn = "document.querySelectorAll('#tradeoff .scatterlayer .trace').length"
    assert tab.run(drawn) == SHOWN_FIRST
    tab.run("document.querySelector('#tradeoff .legend button[aria-pressed=false]').click()")
    assert tab.run(drawn) == SHOWN_FIRST + 1
    tab.run("document.querySelector('#tradeoff .legend details button').click()")


def test_paper_opens_what_fits_names_what_stays_closed_and_repeats_whole_headers(tab: Browser) -> None:
    closed = "[...document.querySelectorAll('details[data-print]')].filter(one => !one.open).length"
    before = tab.run(closed)
    tab.printing()
    assert tab.run(closed) == 0 < before
    assert tab.run("getComputedStyle(document.querySelector('#board th button')).display") == "contents"
    assert tab.run("getComputedStyle(document.querySelector('#ranking .beyond')).display") == "table-row"
    left = "[...document.querySelectorAll('#provenance > details:not([open]) > summary')]"
    notes = f"{left}.map(one => getComputedStyle(one, '::after').content)"
    assert tab.run(f"{left}.every(one => one.offsetHeight > 0)")
    assert all("closed" in note for note in tab.run(notes))
    tab.run("dispatchEvent(new Event('afterprint'))")
    assert tab.run(closed) == before


def test_paper_is_not_shrunk_by_a_table_that_is_too_wide(tmp_path: Path) -> None:
    """Chromium shrinks all pages to fit the widest table, and then cuts off its last column."""
    methods = ["vanilla", "fgm", "freelb", "rat", "rat_su", "uegr", "uegr_plus", "vanilla, passes of uegr"]
    for method in methods:
        for seed in range(2):
            write_run(tmp_path / "runs" / f"{method}-{seed}", result("snippets", method, seed))
    page = write(tmp_path / "report.html", render(collect([tmp_path / "runs"])))
    with browser() as tab:
        resized(tab, 740)  # a portrait page
        tab.open(page)
        tab.printing()
        wide = "[...document.querySelectorAll('table')].filter(one => one.scrollWidth > innerWidth)"
        assert tab.run(f"{wide}.map(one => one.parentNode.ariaLabel)") == []
        assert tab.run("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize(("count", "rows"), [(4, [2, 2]), (5, [3, 2])])
def test_no_row_of_drawings_leaves_a_third_of_the_width_blank(tmp_path: Path, count: int, rows: list[int]) -> None:
    for place in range(count):
        for method in ("vanilla", "uegr"):
            write_run(tmp_path / "runs" / f"{place}-{method}", result(f"set{place}", method, 0))
    page = write(tmp_path / "report.html", render(collect([tmp_path / "runs"])))
    places = "[...document.querySelectorAll('#tradeoff figure')].map(one => one.getBoundingClientRect())"
    with browser() as tab:
        resized(tab, 1440)
        tab.open(page)
        boxes = tab.run(f"{places}.map(one => [one.top, one.right])")
        tops = sorted({top for top, _ in boxes})
        assert [sum(top == one for top, _ in boxes) for one in tops] == rows
        ends = [max(right for top, right in boxes if top == one) for one in tops]
        assert max(ends) - min(ends) < 2
        tab.printing()  # a section of few drawings stays together, one of many goes on on the next page
        whole = "getComputedStyle(document.querySelector('{}')).breakInside"
        assert [tab.run(whole.format(one)) for one in ("#tradeoff", "#cost", "figure")] == ["auto", "avoid", "avoid"]
        caption = "getComputedStyle(document.querySelector('#tradeoff .caption')).breakBefore"
        assert tab.run(caption) == "auto"  # held to the last row, it took the whole section to the next page
        resized(tab, 390)
        assert tab.run(f"new Set({places}.map(one => one.left)).size") == 1


def test_printed_figures_without_a_measurement_are_a_click_away(tmp_path: Path) -> None:
    """The page of the committed results had a hundred rows that said `not measured`."""
    for seed in range(2):
        write_run(tmp_path / "runs" / "cells" / f"{seed}", result("snippets", "uegr", seed))
    common = {"model": "minilm", "metric": "accuracy", "value": 90.0}
    printed = [common | {"method": "uegr", "dataset": name} for name in ("snippets", *"abcdefghijkl")]
    grid = {"title": "A table", "source": "a paper that does not exist", "printed": printed}
    (tmp_path / "runs" / "grid.yaml").write_text(json.dumps(grid))
    page = write(tmp_path / "report.html", render(collect([tmp_path / "runs"])))
    seen = "[...document.querySelectorAll('#printed-1 tbody tr')].filter(row => row.offsetHeight).length"
    with browser() as tab:
        resized(tab, 1440)
        tab.open(page)
        assert tab.run(seen) == 1
        tab.run("document.querySelector('#printed-1 .toggle').click()")
        assert tab.run(seen) == len(printed)
        tab.run("document.querySelector('#printed-1 .toggle').click()")
        tab.printing()
        assert tab.run(seen) == 1
