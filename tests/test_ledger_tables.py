"""The tables of docs/study.md and docs/results.md: from the ledger alone, and a figure that is not its is found."""

import json
from pathlib import Path

import generate
import ledger_tables
import pytest

from tests.report.test_headline import some
from tests.report.test_recommendation import EASY, cell, fill
from uegr.ledger.entries import entry, read, write
from uegr.result import Cell

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


def test_what_a_part_adds_is_the_method_against_itself_without_it(tmp_path: Path) -> None:
    page = "<!-- ledger: parts main uegr -->\n<!-- end of ledger -->"
    assert "No cell has finished yet." in ledger_tables.filled(page, fill(tmp_path / "whole", EASY))
    ledger = fill(tmp_path / "parts", {"uegr": EASY["uegr"]})
    for seed in range(3):
        taken = cell("uegr", seed, 0.9, 0.4, "imdb", train_size=1000, submodels=1)
        called = Cell(dataset="imdb", model="minilm", method="uegr, without sub-models", seed=seed)
        named = taken.model_copy(update={"cell": called})
        write(ledger / "main", entry("main", f"imdb-without-{seed}", named))
    made = ledger_tables.filled(page, ledger)
    assert "| imdb · minilm | sub-models | 0.0" in made
    assert "| +10.0 (" in made


def test_a_printed_table_is_beside_what_was_measured_and_the_rest_is_counted(tmp_path: Path) -> None:
    page = "<!-- ledger: printed main -->\n<!-- end of ledger -->"
    assert "No cell has finished yet." in ledger_tables.filled(page, tmp_path)
    ledger = fill(tmp_path, EASY)
    names = {"dataset": "imdb", "model": "minilm", "metric": "accuracy"}
    printed = [{**names, "method": method, "value": 99.0} for method in ("uegr", "rdrop")]
    (ledger / "main" / "grid.yaml").write_text(json.dumps({"title": "A table", "printed": printed}))
    made = ledger_tables.filled(page, ledger)
    assert "Of 2 printed figures, within our 95% interval: 0; outside it: 1; not measured: 1." in made
    assert "| imdb | minilm | uegr | accuracy | 99.0 |" in made
    assert "rdrop" not in made


def test_a_board_has_the_figures_of_every_method(tmp_path: Path) -> None:
    made = ledger_tables.filled("<!-- ledger: boards main -->\n<!-- end of ledger -->", fill(tmp_path, EASY))
    assert all(f"\n| {method} |" in made for method in EASY)


def test_the_cells_of_a_table_of_a_paper_are_counted_too(tmp_path: Path) -> None:
    counted = ledger_tables.filled("<!-- ledger: cells uegr_table3-laptop -->\n<!-- end of ledger -->", tmp_path)
    assert "0 of 36 cells have finished." in counted


def test_a_marker_that_is_misspelt_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="heads"):
        ledger_tables.filled(PAGE.replace("headlines", "heads"), tmp_path)


def test_the_pages_are_among_those_that_are_checked() -> None:
    assert set(ledger_tables.PAGES) <= set(generate.wanted())


def test_a_committed_file_says_what_is_derived_from_it() -> None:
    for path in ledger_tables.LEDGER.glob("*/*.json"):
        assert path.read_text(encoding="utf-8") == read(path).to_json(), path.name
