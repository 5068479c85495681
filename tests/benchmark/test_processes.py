"""The command by which several processes train a cell; `test_kill.py` runs it."""

from pathlib import Path

from uegr.benchmark.processes import command


def test_a_cell_that_has_not_started_is_started_and_one_that_has_is_resumed(tmp_path: Path) -> None:
    words = command(tmp_path / "cell.yaml", tmp_path / "cell", 2)
    assert "--nproc-per-node=2" in words
    assert "--resume" not in words  # `uegr train` refuses it where there is nothing to resume
    (tmp_path / "cell").mkdir()
    (tmp_path / "cell" / "config.yaml").touch()
    assert command(tmp_path / "cell.yaml", tmp_path / "cell", 2) == [*words, "--resume"]
