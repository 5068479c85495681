"""What the pages promise: generated ones are up to date, links lead somewhere, names exist, Python compiles."""

import ast
import importlib
import json
import re
from pathlib import Path
from typing import Any

import api_page
import generate
import method_pages
import pytest

from tests.doc_pages import ROOT, anchors, every_page, links, read, written
from tests.test_imports import BASE, MAY_KNOW
from uegr.cli import listings
from uegr.methods import METHODS
from uegr.methods import entries as method_entries


def test_a_page_is_taken_apart() -> None:
    page = written("a `uegr\nlist` b\n\n    uegr x \\\n        --y\n\n    from a import b\n\n```python\nc\n```\nend")
    assert page.lines == ["uegr x      --y"]
    assert page.python == ["from a import b", "c"]
    assert page.spans == ("uegr list",)


def test_the_generated_pages_are_up_to_date() -> None:
    stale = generate.out_of_date(generate.FOLDER)
    assert not stale, "run python docs/generate.py"


def test_check_names_what_is_missing_different_or_of_no_method(tmp_path: Path) -> None:
    generate.main([], tmp_path)
    generate.main(["--check"], tmp_path)
    (tmp_path / "methods" / "uegr.md").unlink()
    (tmp_path / "methods" / "rat.md").write_text("other")
    (tmp_path / "methods" / "gone.md").write_text("of no method")
    (tmp_path / "api.md").write_text("older")
    with pytest.raises(SystemExit) as stopped:
        generate.main(["--check"], tmp_path)
    names = ["docs/api.md", "docs/methods/gone.md", "docs/methods/rat.md", "docs/methods/uegr.md"]
    assert str(stopped.value).splitlines()[1:] == names
    generate.main([], tmp_path)
    assert generate.out_of_date(tmp_path) == []


def test_the_api_page_has_every_public_name_once() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    for module in api_page.MODULES:
        (section,) = re.findall(rf"^## {re.escape(module)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        for name in api_page.names(importlib.import_module(module)):
            assert f"`{name}`" in section, f"{module}.{name}"
    assert text.count("### `Objective`") == text.count("### `Figure`") == 1


def test_a_function_and_a_class_are_written_with_their_types() -> None:
    module = importlib.import_module("uegr.statistics")
    figure = api_page.entry(module, "Figure")
    assert "class Figure:\n    value: float\n    low: float\n    high: float\n    n: int\n" in figure
    assert "- `to_json()`: The figure as JSON values" in figure
    assert "```text\nfinite(value: float) -> float | None\n```" in api_page.entry(module, "finite")
    assert api_page.split_arguments("a: dict[str, int], *, b: str='x, y'") == [
        "a: dict[str, int]",
        "*",
        "b: str='x, y'",
    ]


RECORD = {
    "ratios": {"vanilla": 1.0, "uegr": 2.968},
    "step_memory": {"uegr": 1.5},
    "threads": 1,
    "batch": 16,
    "rounds": 24,
}


def test_measured_costs_are_shown_and_others_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method_pages, "measured", lambda: RECORD)
    pages = method_pages.pages()
    assert "| 3f 3b | 2.97x | 1.50x |" in pages["uegr.md"]
    assert "| 3f 3b | not measured | not measured |" in pages["rat.md"]
    assert "24 rounds" in pages["uegr.md"]
    assert re.search(r"\[`uegr`\].*\| 3f 3b \| 2\.97x \|", pages["README.md"])


def test_markdown_reads_plain_text_as_it_is() -> None:
    assert method_pages.escaped("||a - b*|| `x | y` s~ _i t_i < 1") == r"\|\|a - b\*\|\| `x \| y` s\~ \_i t_i &lt; 1"


def test_the_list_of_methods_has_source_passes_and_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method_entries, "measured", lambda: RECORD)
    entries = {entry["name"]: entry for entry in json.loads(json.dumps(method_entries.entries()))}
    keys = {"name", "summary", "source", "forward_passes", "backward_passes", "cost", "options"}
    assert all(set(entry) == keys for entry in entries.values())
    assert all(entry["source"] and entry["summary"] for entry in entries.values())
    assert (entries["uegr"]["cost"], entries["rat"]["cost"]) == (2.968, None)
    assert (listings.cell(entries["uegr"], "passes"), listings.cell(entries["uegr"], "cost")) == ("3f 3b", "2.97x")


def test_recorded_costs_are_of_the_methods_as_they_are() -> None:
    record = method_entries.measured()
    for name, passes in record.get("passes", {}).items():
        if name in METHODS:
            assert tuple(passes) == METHODS[name]().objective.passes, f"{name}: run step_cost.py --record again"


@every_page
def test_links_lead_to_files_and_headings(page: Path) -> None:
    for _, target in links(page):
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{target} does not exist"
        assert file.is_relative_to(ROOT), f"{target} is outside of the repository"
        assert not anchor or anchor in anchors(file), f"{target} has no such heading"


INDEXED = {  # how many of each the papers number
    "UEGR": {"eq.": 19, "table": 5, "fig.": 3, "algorithm": 1},
    "R-AT": {"eq.": 21, "table": 8, "fig.": 5, "algorithm": 1},
    "RIFT": {"eq.": 11, "table": 4, "fig.": 4, "algorithm": 1},
}
ROMAN = {"I": "1", "II": "2", "III": "3", "IV": "4", "V": "5"}


def numbers(cell: str, kind: str) -> set[int]:
    """The numbers after `eq.` and its like in the first cell of a row: `eq. 5, 6`, `eq. 15 to 19`, `fig. 2a`."""
    found = re.search(rf"{re.escape(kind)} ((?:[\dIVab]+(?:, | to )?)+)", cell)
    places = re.findall(r"\d+|[IV]+|to", found[1]) if found else []
    values = [int(ROMAN.get(place, place)) if place != "to" else 0 for place in places]
    if 0 in values:
        values = list(range(values[0], values[-1] + 1))
    return set(values)


@pytest.mark.parametrize("paper", INDEXED)
def test_the_index_has_everything_that_a_paper_numbers(paper: str) -> None:
    text = (ROOT / "docs" / "paper_index.md").read_text(encoding="utf-8")
    section = next(part for part in text.split("\n## ") if part.startswith(f"{paper}:"))
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")]
    for kind, count in INDEXED[paper].items():
        found = set().union(*(numbers(cell, kind) for cell in cells))
        assert found == set(range(1, count + 1)), f"{kind} {found} of {count}"


def test_the_index_names_functions_that_exist() -> None:
    page = ROOT / "docs" / "paper_index.md"
    named = [(text.strip("`"), target) for text, target in links(page) if re.search(r"src/uegr/.*\.py$", target)]
    assert len(named) > 40
    for text, target in named:
        stem, *attributes = text.split(".")
        assert stem == Path(target).stem
        value: Any = importlib.import_module(target.split("src/")[1].removesuffix(".py").replace("/", "."))
        for attribute in attributes:
            value = getattr(value, attribute)


def test_the_table_of_rooms_has_the_rules_of_imports() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([\w, ]*) ?\|$", text, re.MULTILINE))
    told = {room: set(re.findall(r"\w+", rest)) for room, rest in rows.items()}
    everything = {room for room, rest in told.items() if rest == {"everything"}}
    assert everything == {"cli", "testing"}
    assert {room: told[room] for room in told.keys() - everything} == {
        room: known - BASE
        for room, known in MAY_KNOW.items()
        if (ROOT / "src/uegr" / room).is_dir() and room != "statistics"
    }


@every_page
def test_python_compiles_and_imports_what_is_there(page: Path) -> None:
    for block in read(page).python:
        check_imports(block)


@pytest.mark.parametrize("script", sorted((ROOT / "benchmarks").rglob("*.py")), ids=lambda script: script.name)
def test_the_scripts_of_the_measurements_import_what_is_there(script: Path) -> None:
    check_imports(script.read_text(encoding="utf-8"))


def check_imports(code: str) -> None:
    """Every name that the code imports from uegr, also inside functions, exists."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("uegr", "tests"):
            home = importlib.import_module(node.module or "")
            for alias in node.names:
                assert hasattr(home, alias.name) or importlib.import_module(f"{node.module}.{alias.name}")


def scripts(page: Path) -> list[tuple[str, str]]:
    """(file, arguments) of the Python scripts and test files that a page tells to run."""
    text = [*read(page).lines, *read(page).spans]
    found = [
        re.search(r"\b(?:python|pytest)\b[^|]*?\s((?:benchmarks|docs|tests)/[\w/]+\.py)(.*)", line) for line in text
    ]
    return [(match[1], match[2]) for match in found if match]


@every_page
def test_scripts_exist_and_have_the_flags_of_their_commands(page: Path) -> None:
    for name, arguments in scripts(page):
        assert (ROOT / name).exists(), f"{name} does not exist"
        if not name.startswith("tests/"):
            source = (ROOT / name).read_text(encoding="utf-8")
            for flag in re.findall(r"--[a-z][a-z-]*", arguments):
                assert f'"{flag}"' in source, f"{name} has no {flag}"


def test_the_scripts_of_the_results_are_found() -> None:
    assert len(scripts(ROOT / "docs" / "results.md")) >= 10
