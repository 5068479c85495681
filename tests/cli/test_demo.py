"""`uegr demo`: it runs the grid `quick`, ends in the verdict, and does nothing twice."""

import re
from pathlib import Path

import pytest

from tests.benchmark.tiny_grid import grid_file
from uegr.benchmark.grid import Grid
from uegr.benchmark.named import grid_file as file_of
from uegr.benchmark.reading import read_grid
from uegr.cli import demo
from uegr.training.config import RECOMMENDED


@pytest.fixture
def tiny(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The demo with a tiny grid in this process; its folder."""
    monkeypatch.setattr(demo, "GRID", grid_file(tmp_path, home))
    monkeypatch.setattr(demo, "WORKERS", 0)
    return tmp_path / "demo"


def quick() -> Grid:
    return read_grid(file_of(demo.GRID))


def test_the_demo_can_show_something() -> None:
    """One seed shows nothing about a method (statistics/differences.py); a method needs its baseline."""
    assert len(quick().seeds) >= 3
    assert "vanilla" in [method.called for method in quick().methods]
    other = next(method for method in quick().methods if method.called != "vanilla")
    assert {"name": other.name, **other.method} == RECOMMENDED
    assert len(quick().methods) == 2


def test_it_writes_a_page_and_ends_in_the_verdict(uegr, tiny: Path) -> None:
    code, out, error = uegr("demo", "--output", tiny, "--quiet")
    assert code == 0, error
    assert "<html" in (tiny / "report.html").read_text(encoding="utf-8")
    assert str(tiny / "report.html") in out.replace("\n", "")
    said = " ".join(out.split())
    assert "No method is shown to be better than vanilla in Clean, from 1 seed" in said
    assert re.search(r"It takes several seeds to show that\.( Not shown to be above chance: [^.]+\.)?$", said)


def test_what_has_finished_is_not_run_again(uegr, tiny: Path) -> None:
    assert uegr("demo", "--output", tiny, "--quiet")[0] == 0
    before = {path: path.stat().st_mtime_ns for path in tiny.glob("cells/*/result.json")}
    assert len(before) == 2
    assert uegr("demo", "--output", tiny, "--quiet")[0] == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_a_cell_that_fails_is_one_line(
    uegr, home: Path, tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = [{"name": str(tmp_path / "nowhere.csv"), "label": "films"}]
    monkeypatch.setattr(demo, "GRID", grid_file(tmp_path, home, datasets=missing))
    code, out, _ = uegr("demo", "--output", tiny, "--quiet")
    assert code == 1
    assert "failed: films · tiny · vanilla" in " ".join(out.split())
    assert "Traceback" not in out
    assert not (tiny / "report.html").exists()
