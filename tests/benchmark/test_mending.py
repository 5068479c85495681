"""One damaged file of a grid is named and set aside, and the rest continues."""

import shutil
from pathlib import Path

import pytest

from tests.benchmark.tiny_grid import grid_file, run
from uegr.benchmark.work import journal
from uegr.errors import DataWarning

DAMAGED = [
    ("result.json", b'{"schema": 1, "config'),
    ("result.json", b"[" * 100_000),
    ("failure.json", b""),
    ("failure.json", b'{"error": "x", "time": "yesterday"}'),
    ("grid.yaml", b"title: [tiny"),
    ("grid.yaml", b"\xff\xfe\x00"),
    ("journal.jsonl", b"[" * 100_000),
    ("journal.jsonl", b"\xff\xfe\x00"),
    ("journal.jsonl", b'{"cell": 3}'),
]


@pytest.fixture(scope="module")
def finished(home: Path) -> tuple[Path, Path]:
    file = grid_file(home, home, methods=["vanilla"])
    assert run(file, "--output", home / "out", "--quiet")[0] == 0
    cell = next((home / "out" / "cells").iterdir())
    (cell / "failure.json").write_text('{"error": "no luck", "time": 1.0}')
    return file, home / "out"


@pytest.mark.parametrize(("name", "content"), DAMAGED, ids=lambda value: str(value)[:24])
def test_a_damaged_file_is_named_and_set_aside(
    finished: tuple[Path, Path], tmp_path: Path, name: str, content: bytes
) -> None:
    file, root = finished[0], tmp_path / "out"
    shutil.copytree(finished[1], root)
    (victim,) = root.rglob(name)
    lines = journal(root)
    victim.write_bytes(content + b"\n" + victim.read_bytes() if name == "journal.jsonl" else content)
    with pytest.warns(DataWarning, match=f"{name} is damaged .* set aside as damaged-{name}"):
        code, out, error = run(file, "--output", root, "--quiet")
    assert code == 0, error
    assert "1 done" in out
    assert victim.with_name(f"damaged-{name}").exists()
    assert journal(root)[: len(lines)] == lines


def test_the_last_line_of_a_journal_that_a_kill_has_cut_is_dropped(finished: tuple[Path, Path], tmp_path: Path) -> None:
    file, root = finished[0], tmp_path / "out"
    shutil.copytree(finished[1], root)
    lines = journal(root)
    with (root / "journal.jsonl").open("a") as cut:
        cut.write('{"time": 17')
    assert run(file, "--output", root, "--quiet")[0] == 0
    assert journal(root) == lines
    assert not list(root.glob("damaged-*"))


@pytest.mark.parametrize("content", [b"{\n", b"[" * 100_000 + b"\n", b"\xff\xfe\x00\n", b'{"kind": "outcome"}\n'])
def test_a_damaged_journal_of_an_attack_is_set_aside_and_the_attack_is_made_again(
    finished: tuple[Path, Path], home: Path, tmp_path: Path, content: bytes
) -> None:
    root, attacks = tmp_path / "out", [{"attack": "deepwordbug", "examples": 2}]
    shutil.copytree(finished[1], root)
    journals = next((root / "cells").iterdir()) / "attacks"
    journals.mkdir()
    (journals / "deepwordbug-data-2.jsonl").write_bytes(content)
    file = grid_file(tmp_path, home, methods=["vanilla"], measure={"evaluate": False, "attacks": attacks})
    with pytest.warns(DataWarning, match=r"deepwordbug-data-2.jsonl is damaged \(is not the journal of an attack"):
        code, _, error = run(file, "--output", root, "--quiet")
    assert code == 0, error
    assert sorted(path.name for path in journals.iterdir()) == [
        "damaged-deepwordbug-data-2.jsonl",
        "deepwordbug-data-2.jsonl",
    ]
