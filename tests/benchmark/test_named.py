"""Grids by name: a local file first, then those of the package."""

from pathlib import Path

import pytest

from uegr.benchmark import named
from uegr.benchmark.run import planned
from uegr.errors import InputError

ROOT = Path(__file__).parents[2]


def test_every_grid_of_the_repository_has_a_name() -> None:
    files = [*(ROOT / "benchmarks").glob("*.yaml"), *(ROOT / "benchmarks" / "studies").glob("*.yaml")]
    assert {path.resolve() for path in named.grids().values()} == {path.resolve() for path in files}


def test_a_local_file_comes_before_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert named.grid_file(Path("quick")).is_relative_to(ROOT)
    (tmp_path / "quick").mkdir()
    assert named.grid_file(Path("quick")).is_relative_to(ROOT)  # a folder is not a grid
    (tmp_path / "smoke").write_text("title: mine")
    assert named.grid_file(Path("smoke")) == Path("smoke")


def test_an_unknown_name_helps() -> None:
    with pytest.raises(InputError, match="file or the name of a grid, got quik; did you mean quick") as caught:
        named.grid_file(Path("quik"))
    assert str(caught.value).endswith("? See `uegr list grids`")
    assert len(str(caught.value)) < 150  # not all thirty names


def test_a_folder_and_a_file_that_is_not_there_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("zzz").mkdir()
    with pytest.raises(InputError, match=r"got the folder zzz; see `uegr list grids`$"):
        named.grid_file(Path("zzz"))
    with pytest.raises(InputError, match=r"^no file nosuch.yaml; check the path, or see `uegr list grids`$"):
        named.grid_file(Path("nosuch.yaml"))


def test_a_named_grid_is_planned_outside_of_the_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = planned(Path("rat_table1"), scale="smoke")  # its settings are in a file beside it
    assert plan.board.cells
    assert plan.root == tmp_path / "runs" / "rat_table1-smoke"
