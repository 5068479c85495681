"""The page in a real browser: no complaint, no request; sorting, filtering and legends by mouse and keyboard."""

import pytest

from tests.report.chromium import browser, program
from tests.report.synthetic_runs import result, write_run, write_set
from tests.report.test_page import EVIL, evil_run
from uegr.report.page import render, write
from uegr.report.reading import collect

pytestmark = [pytest.mark.slow, pytest.mark.skipif(program() is None, reason="no Chromium here")]
ROWS = "[...document.querySelectorAll('#board tbody tr')].filter(row => !row.hidden)"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    return write(folder / "report.html", render(collect([write_set(folder / "runs")])))


@pytest.fixture
def tab():
    with browser() as found:
        yield found


def drawn(tab):
    """Draw everything, also what is not in view."""
    tab.run("document.querySelectorAll('details').forEach(one => { one.open = true })")
    tab.run("document.querySelectorAll('.plot').forEach(place => draw(place))")
    tab.until("[...document.querySelectorAll('.plot')].every(place => place.querySelector('.main-svg'))")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (320, False)])
def test_the_page_opens_without_complaint_or_request_and_fits(tab, page, width, dark):
    tab.size(width, 900, dark)
    tab.open(page)
    drawn(tab)
    assert tab.complaints() == []
    assert [url for url in tab.requests() if not url.startswith("data:")] == [page.resolve().as_uri()]
    assert tab.run("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("width", [1440, 390])
def test_the_leaderboard_fits_without_scrolling_sideways(tab, page, width):
    tab.size(width, 900)
    tab.open(page)
    assert tab.run(
        "document.querySelector('#board').scrollWidth <= document.querySelector('#board').parentNode.clientWidth"
    )
    assert tab.run("document.querySelector('#verdict table').getBoundingClientRect().top < innerHeight")


def test_paper_holds_two_sections_of_drawings_on_a_page(tab, page):
    tab.size(1440, 900)
    tab.open(page)
    drawn(tab)
    heights = "[...document.querySelectorAll('.plot .main-svg')].map(one => one.getBoundingClientRect().height)"
    before = max(tab.run(heights))
    tab.run("dispatchEvent(new Event('beforeprint'))")
    assert max(tab.run(heights)) <= 0.7 * before


def test_a_click_on_a_heading_sorts_and_another_turns_round(tab, page):
    tab.open(page)
    values = f"{ROWS}.map(row => Number(row.cells[3].dataset.value))"
    before = tab.run(values)
    tab.run("document.querySelectorAll('#board th button')[3].click()")
    assert tab.run(values) == sorted(before, reverse=True) != before
    tab.run("document.querySelectorAll('#board th button')[3].focus()")
    tab.ask("Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)
    tab.ask("Input.dispatchKeyEvent", type="keyUp", key="Enter", code="Enter", windowsVirtualKeyCode=13)
    assert tab.run(values) == sorted(before)
    assert tab.run("document.querySelectorAll('#board th')[3].getAttribute('aria-sort')") == "ascending"


def test_missing_values_stay_last_whichever_way(tab, page):
    tab.open(page)
    for _ in range(2):
        tab.run("[...document.querySelectorAll('#board th button')].find(b => b.textContent === 'Gap closed').click()")
        place = "[...document.querySelectorAll('#board th button')].findIndex(b => b.textContent === 'Gap closed')"
        assert tab.run(f"{ROWS}.at(-1).cells[{place}].dataset.value") == ""


def test_filters_hide_rows_and_say_how_many(tab, page):
    tab.open(page)
    every = tab.run(f"{ROWS}.length")
    choose = "const s = document.querySelector('[data-key={}]'); s.value = '{}'; s.dispatchEvent(new Event('input'))"
    tab.run(f"{{ {choose.format('dataset', 'imdb')} }}")
    assert set(tab.run(f"{ROWS}.map(row => row.dataset.dataset)")) == {"imdb"}
    tab.run(f"{{ {choose.format('text', 'rat EPSILON 0.5')} }}")
    few = tab.run(f"{ROWS}.map(row => row.cells[0].textContent)")
    assert 0 < len(few) < every
    assert all("epsilon 0.5" in text for text in few)
    assert tab.run("document.querySelector('.filters output').textContent") == f"{len(few)} of {every} rows"
    tab.open(page)  # as --watch does: what was chosen stays
    assert tab.run(f"{ROWS}.length") == len(few)


def test_a_legend_switches_a_method_off(tab, page):
    tab.open(page)
    drawn(tab)
    count = "document.querySelectorAll('#curves-fgm .scatterlayer .trace').length"
    before = tab.run(count)
    tab.run("document.querySelector('#curves-fgm .legend [data-method=uegr]').click()")
    tab.until(f"{count} < {before}")
    assert tab.run("document.querySelector('#curves-fgm .legend [data-method=uegr]').ariaPressed") == "false"


def test_hostile_names_show_as_text_and_run_nothing(tab, tmp_path):
    for method in ("vanilla", EVIL):
        for seed in (0, 1):
            write_run(tmp_path / "runs" / f"{len(method)}-{seed}", evil_run(method, seed))
    write_run(tmp_path / "runs" / "plain", result("imdb", "vanilla", 3))
    path = write(tmp_path / "report.html", render(collect([tmp_path / "runs"])))
    tab.ask("Page.addScriptToEvaluateOnNewDocument", source="window.alert = () => { window.harmed = true }")
    tab.open(path)
    drawn(tab)
    start = "<script>alert('x')</script>{{ 7 * 7 }}{% raw %}"
    assert tab.run("window.harmed === undefined")
    assert start in tab.run("document.querySelector('#board').innerText")
    assert start in tab.run("document.querySelector('#curves-fgm figcaption').innerText")
    tab.run("Plotly.Fx.hover(document.querySelector('#curves-fgm .plot'), [{curveNumber: 1, pointNumber: 2}])")
    tab.until("document.querySelector('#curves-fgm .hovertext')")
    assert start in tab.run("document.querySelector('#curves-fgm .hovertext').textContent")
    tab.run("document.querySelector('[data-key=dataset]').selectedIndex = 1")
    tab.run("document.querySelector('[data-key=dataset]').dispatchEvent(new Event('input'))")
    assert tab.run(f"{ROWS}.length") == 2
    assert tab.complaints() == []


def test_print_draws_everything_that_is_open(tab, page, tmp_path):
    tab.open(page)
    tab.paper(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes()[:5] == b"%PDF-"
    assert tab.run("[...document.querySelectorAll('#cost .plot')].every(place => place.querySelector('.main-svg'))")
