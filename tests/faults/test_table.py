"""Every row of the table of faults, by its one driver; the slow rows in `make test-slow`."""

import shutil
from pathlib import Path

import pytest

from tests.faults import damage, table
from tests.faults.laws import ALWAYS, broken, lost
from tests.faults.processes import Ended
from tests.faults.table import Fault
from tests.faults.world import World, build
from uegr.runs import manifest

ROWS = [
    pytest.param(fault, id=f"{fault.kind}: {fault.title}", marks=[pytest.mark.slow] if fault.slow else [])
    for fault in table.faults()
]


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Whole runs, a cut one, a grid and a cache."""
    folder = tmp_path_factory.mktemp("faults")
    build(folder)
    return folder


@pytest.mark.parametrize("fault", ROWS)
def test_fault(fault: Fault, home: Path, tmp_path: Path) -> None:
    if not fault.possible():
        pytest.skip("this needs a disk of its own, and only root may mount one")
    verdict = table.tried(fault, home, tmp_path / "place")
    assert verdict.holds, (dict(verdict.broken), verdict.wrong)


def test_every_file_that_a_run_a_grid_and_a_cache_have_is_damaged_by_some_row(home: Path) -> None:
    def names(folder: Path) -> set[str]:
        return {path.name for path in folder.iterdir() if path.is_file()}

    assert names(next((home / "cut").glob("checkpoint-6"))) == set(damage.CHECKPOINT)
    assert names(next((home / "cut").glob("best-*"))) == set(damage.BEST)
    assert names(home / "cut") == {*damage.STARTED, "config.yaml"}
    assert names(home / "finished") == set(damage.FINISHED)
    assert names(next((home / "grid" / "cells").iterdir())) == set(damage.FINISHED)
    assert names(home / "grid") == {"grid.yaml", "journal.jsonl"}
    assert {path.name for path in (home / "cache" / "uegr" / "data").iterdir()} >= set(damage.CACHED)


def test_names_of_rows_are_unique() -> None:
    titles = [(fault.kind, fault.title) for fault in table.faults()]
    assert len(set(titles)) == len(titles)


def test_the_laws_can_be_broken(home: Path, tmp_path: Path) -> None:
    """A world in which everything went wrong is judged so."""
    world = World(home, tmp_path / "place")
    run = world.copy("finished")
    world.copy("whole")
    (run / "result.json").write_text("{}")
    whole = world.place / "whole"
    shutil.copy(next((home / "grid" / "cells").glob("*/model.safetensors")), whole / "model.safetensors")
    manifest.write(whole, manifest.read(whole).origin)
    world.ended = [Ended((), 1, "Traceback (most recent call last):\n", True)]
    assert set(broken(world)) == set(ALWAYS)
    assert lost((home / "whole" / "result.json").read_bytes(), home / "finished" / "result.json") == 0


def test_a_file_of_a_process_that_ended_well_is_judged_so(home: Path, tmp_path: Path) -> None:
    world = World(home, tmp_path / "place")
    assert world.uegr("list", "methods").code == 0
    assert world.uegr("train", "--no-such-flag").code == 2
