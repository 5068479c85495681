"""Before a grid runs: a damaged file of an earlier command is named, set aside, and the rest continues."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import Timeout

from uegr import result, safe_yaml
from uegr.benchmark.cells import FAILURE, failure
from uegr.benchmark.plan import Cell
from uegr.benchmark.work import JOURNAL, Work, entry_in, journal_lines
from uegr.errors import InputError
from uegr.files import set_aside, write_text
from uegr.runs.folder import RESULT


def mend(work: Work, cells: Sequence[Cell]) -> None:
    """Set aside what cannot be read; a cell that another process works on is left alone."""
    mend_journal(work.root)
    for cell in cells:
        if work.folder(cell).is_dir():
            try:
                with work.lock(cell.name, wait=False):
                    mend_cell(work, cell)
            except Timeout:
                continue


def mend_cell(work: Work, cell: Cell) -> None:
    """result.json, failure.json and the journals of attacks of a cell; without a result the cell is done again."""
    from uegr.runs.attack import damaged_journals

    place = work.folder(cell)
    if (place / RESULT).exists():
        try:
            result.read(place / RESULT)
        except InputError as error:
            set_aside(place / RESULT, str(error).removeprefix(f"{place / RESULT}: "))
    for path, reason in damaged_journals(place).items():
        set_aside(path, reason)
    if (place / FAILURE).exists() and failure(work, cell) is None:
        set_aside(place / FAILURE, "it has no error and time")


def mend_journal(root: Path) -> None:
    """Keep the lines that are whole. A kill may cut the last one, which needs no warning."""
    lines = journal_lines(root)
    whole = [line for line in lines if entry_in(line) is not None]
    if len(whole) == len(lines):
        return
    if lines[:-1] != whole:
        set_aside(root / JOURNAL, f"{len(lines) - len(whole)} of its {len(lines)} lines are not entries")
    write_text(root / JOURNAL, "".join(f"{line}\n" for line in whole))


def mend_grid(path: Path) -> dict[str, Any]:
    """What grid.yaml holds; one that cannot be read is set aside, and written again by the caller."""
    if not path.is_file():
        return {}
    try:
        stored = safe_yaml.load(path.read_bytes().decode("utf-8"), path.name)
    except (InputError, UnicodeDecodeError) as error:
        set_aside(path, " ".join(str(error).split())[:200])
        return {}
    if not isinstance(stored, dict):
        set_aside(path, "it is not a mapping")
        return {}
    return stored
