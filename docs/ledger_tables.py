"""The tables between the markers of a page, from the ledger alone:

<!-- ledger: headlines encoder-laptop -->
<!-- end of ledger -->

`headlines STUDY` has a table for each data set and model of a study; `cells STUDY` tells how many cells it has.
"""

import re
from pathlib import Path

from uegr.benchmark.plan import cells_of
from uegr.benchmark.reading import read_grid
from uegr.benchmark.run import done_before
from uegr.report.export import headline_parts
from uegr.report.groups import grouped
from uegr.report.headline import headlines
from uegr.report.reading import collect

ROOT = Path(__file__).parents[1]
LEDGER, STUDIES = ROOT / "results", ROOT / "benchmarks" / "studies"
PAGES = ("study.md", "results.md")
MARKED = re.compile(r"(<!-- ledger: (\w+) ([\w-]+) -->\n)(.*?)(<!-- end of ledger -->)", re.DOTALL)


def filled(text: str, ledger: Path = LEDGER) -> str:
    """A page with the tables between its markers built again."""

    def table(found: re.Match[str]) -> str:
        start, kind, study, _, end = found.groups()
        made = {"headlines": headline_tables, "cells": cell_count}[kind](ledger / study)
        return f"{start}\n{made}\n\n{end}"

    return MARKED.sub(table, text)


def headline_tables(study: Path) -> str:
    """The headlines of a study in Markdown, one level lower than in a report."""
    found = collect([study]) if study.is_dir() else None
    if found is None or not found.runs:
        return "No cell has finished yet."
    parts = [part for one in headlines(grouped(found.runs)) for part in headline_parts(one)]
    return "\n\n".join(f"#{part}" if part.startswith("## ") else part for part in parts)


def cell_count(study: Path) -> str:
    """How many cells of a study's grid are in the ledger."""
    name, _, scale = study.name.rpartition("-")
    cells = cells_of(read_grid(STUDIES / f"{name}.yaml", scale))
    done = done_before(study, cells) if study.is_dir() else {}
    return f"{len(done)} of {len(cells)} cells have finished."


def pages(folder: Path) -> dict[str, str]:
    """The pages with markers, up to date, by name."""
    found = {name: folder / name for name in PAGES}
    return {name: filled(path.read_text(encoding="utf-8")) for name, path in found.items()}
