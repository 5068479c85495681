"""The documentation site: every page has its place and every link leads somewhere; the slow test builds it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import site_pages

from tests.doc_pages import ROOT
from tests.report.chromium import browser, program


def placed(nav: object) -> list[str]:
    """The pages of a navigation, in order."""
    if isinstance(nav, str):
        return [nav]
    parts = nav.values() if isinstance(nav, dict) else nav
    return [page for part in parts for page in placed(part)]  # type: ignore[union-attr]


def test_every_page_has_its_place() -> None:
    assert sorted(placed(site_pages.settings()["nav"])) == sorted(site_pages.pages().values())


def test_a_page_that_nobody_placed_is_under_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(site_pages, "pages", lambda: {"README.md": "index.md", "docs/new_page.md": "new_page.md"})
    nav = site_pages.settings()["nav"]
    assert nav[-1] == {"More": [{"New page": "new_page.md"}]}
    assert placed(nav) == ["index.md", "new_page.md"]


def test_the_palette_starts_with_the_systems() -> None:
    first, *others = site_pages.settings()["theme"]["palette"]
    assert (first["media"], "scheme" in first) == ("(prefers-color-scheme)", False)
    assert [one["scheme"] for one in others] == ["default", "slate"]


def test_links_of_the_site_lead_to_pages_and_pictures(tmp_path: Path) -> None:
    site_pages.write_source(tmp_path)
    for page in (tmp_path / "site-source").rglob("*.md"):
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for _, target, _ in site_pages.LINK.findall(text):
            assert (page.parent / target).is_file(), f"{page.relative_to(tmp_path)}: {target}"


def test_a_link_that_leaves_the_site_is_plain_text() -> None:
    places = {"docs/a.md": "a.md", "docs/methods/b.md": "methods/b.md", "README.md": "index.md"}
    text = "[x](../src/y.py), [b](methods/b.md#z), [home](../README.md), [out](https://c), [here](#d)"
    assert site_pages.moved(text, "docs/a.md", places) == (
        "x, [b](methods/b.md#z), [home](index.md), [out](https://c), [here](#d)"
    )
    assert site_pages.moved("[up](../a.md)", "docs/methods/b.md", places) == "[up](../a.md)"


@pytest.fixture(scope="module")
def site() -> Path:
    """The built site."""
    if shutil.which("zensical", path=Path(sys.executable).parent) is None:
        pytest.skip("no zensical here; make docs installs it")
    subprocess.run([sys.executable, "docs/site_pages.py"], cwd=ROOT, check=True)
    return ROOT / "build" / "site"


@pytest.mark.slow
@pytest.mark.skipif(program() is None, reason="no Chromium here")
@pytest.mark.parametrize("page", ["index.html", "tutorial.html", "methods/uegr.html", "api.html"])
@pytest.mark.parametrize(("width", "dark"), [(1440, False), (390, True)])
def test_a_page_asks_nobody_and_fits(site: Path, page: str, width: int, dark: bool) -> None:
    with browser() as tab:
        tab.size(width, 900, dark)
        tab.open(site / page)
        outside = [url for url in tab.requests() if not url.startswith(("data:", "file:"))]
        assert outside == []
        assert tab.run("document.documentElement.scrollWidth <= innerWidth")


SCHEME = "document.body.getAttribute('data-md-color-scheme')"


@pytest.mark.slow
@pytest.mark.skipif(program() is None, reason="no Chromium here")
def test_the_colours_follow_the_system_also_after_a_visit(site: Path) -> None:
    """A first visit in the dark was kept, and the pages stayed dark in the light."""
    with browser() as tab:
        for dark in (True, False, True):
            tab.size(1440, 900, dark)
            tab.open(site / "index.html")
            tab.until(f"{SCHEME} === '{'slate' if dark else 'default'}'", seconds=10)


FOUND = """[...document.querySelectorAll('*')].filter(one => one.shadowRoot)
    .flatMap(one => [...one.shadowRoot.querySelectorAll('a[href]')].map(link => link.href))"""


@pytest.mark.slow
@pytest.mark.skipif(program() is None, reason="no Chromium here")
@pytest.mark.parametrize("page", ["index.html", "methods/uegr.html"])
def test_the_search_finds_pages_that_are_opened_as_files(site: Path, page: str) -> None:
    with browser() as tab:
        tab.size(1440, 900)
        tab.open(site / page)
        tab.until("document.querySelector('.md-search__button')")
        tab.run("document.querySelector('.md-search__button').click()")
        tab.until("document.activeElement.shadowRoot?.activeElement?.matches('input')")
        tab.ask("Input.insertText", text="footguns")
        tab.until(f"{FOUND}.length", seconds=10)
        assert tab.run(FOUND)[0].partition("?")[0] == (site / "footguns.html").resolve().as_uri()
        assert tab.complaints() == []
