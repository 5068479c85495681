"""The tables of docs/study.md and docs/results.md: from the ledger alone, and a figure that is not its is found."""

from pathlib import Path

import generate
import ledger_tables
import pytest

from tests.report.test_headline import some
from tests.report.test_recommendation import EASY, fill
from uegr.ledger.entries import entry, read, write

PAGE = "before\n\n<!-- ledger: headlines encoder-laptop -->\nold\n<!-- end of ledger -->\n\nafter 12.3\n"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    for place, one in enumerate(some()):
        write(tmp_path / "encoder-laptop", entry("encoder-laptop", f"cell-{place}", one))
    return tmp_path


def test_a_table_is_built_from_the_ledger_and_the_rest_of_a_page_stays(ledger: Path) -> None:
    made = ledger_tables.filled(PAGE, ledger)
    assert made.startswith("before\n\n<!-- ledger: headlines encoder-laptop -->\n\n### Headline: imdb · minilm")
    assert made.endswith("<!-- end of ledger -->\n\nafter 12.3\n")
    assert ledger_tables.filled(made, ledger) == made


def test_a_figure_that_is_not_the_ledgers_is_found(ledger: Path) -> None:
    made = ledger_tables.filled(PAGE, ledger)
    figure = made.partition("| uegr | ")[2].partition(" ")[0]
    changed = made.replace(f"| uegr | {figure}", "| uegr | 99.9")
    assert changed != made
    assert ledger_tables.filled(changed, ledger) == made


def test_without_cells_it_says_so(tmp_path: Path) -> None:
    assert "No cell has finished yet." in ledger_tables.filled(PAGE, tmp_path)
    counted = ledger_tables.filled("<!-- ledger: cells encoder-laptop -->\n<!-- end of ledger -->", tmp_path)
    assert "0 of 240 cells have finished." in counted


def test_the_decisions_are_those_of_the_command(tmp_path: Path) -> None:
    page = "<!-- ledger: decisions all -->\n<!-- end of ledger -->"
    empty = ledger_tables.filled(page, tmp_path)
    assert empty.count("| vanilla: no evidence yet | – | – | 1.0 × | nothing |") == 6
    lines = ledger_tables.filled(page, fill(tmp_path, EASY, model="minilm-l3")).splitlines()
    limited, any_cost, *_ = [line for line in lines if line.startswith("| pretrained (minilm-l3) | 1,000 |")]
    assert "| 2 × | fgm | +" in limited
    assert "| any | uegr | +" in any_cost
    assert any_cost.endswith("| 3.2 × | main: imdb with minilm-l3, 1,000 rows, 3 seeds |")


def test_where_a_method_did_not_pay_is_told_with_the_reasons(tmp_path: Path) -> None:
    page = "<!-- ledger: limits all uegr -->\n<!-- end of ledger -->"
    assert "uegr has no cells with several seeds yet." in ledger_tables.filled(page, tmp_path)
    good = ledger_tables.filled(page, fill(tmp_path / "good", EASY, model="minilm-l3"))
    assert "uegr did not pay on 0 of 1 data sets and models with several seeds." in good
    worse = {**EASY, "uegr": (EASY["vanilla"][0] - 0.05, EASY["fgm"][1] - 0.01)}
    bad = ledger_tables.filled(page, fill(tmp_path / "bad", worse, model="minilm-l3"))
    assert "clean score more than half a point below vanilla's; not shown to be more robust than fgm, at less" in bad


def test_a_marker_that_is_misspelt_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="heads"):
        ledger_tables.filled(PAGE.replace("headlines", "heads"), tmp_path)


def test_the_pages_are_among_those_that_are_checked() -> None:
    assert set(ledger_tables.PAGES) <= set(generate.wanted())


def test_a_committed_file_says_what_is_derived_from_it() -> None:
    for path in ledger_tables.LEDGER.glob("*/*.json"):
        assert path.read_text(encoding="utf-8") == read(path).to_json(), path.name
