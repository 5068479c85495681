"""A run that two studies of a ledger have in common is trained once: the second study takes it from the first.

A cell's name ends with a hash of everything that decides what is trained, so the same name is the same run. It is taken
if all that the second grid measures was measured, with the same settings. What only the first one measures stays there.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from uegr.benchmark.cells import EVALUATION, block_of, has_everything, wanted
from uegr.benchmark.plan import Cell
from uegr.errors import InputError
from uegr.ledger.entries import read
from uegr.ledger.stripping import without_places
from uegr.result import Result


def elsewhere(study: Path, cells: Iterable[Cell]) -> dict[str, Result]:
    """What the other studies of a ledger have of these cells, by the cell's name, as this grid would record it."""
    others = sorted(path for path in study.parent.glob("*") if path != study)
    found = {}
    for cell in cells:
        for path in (other / f"{without_places(cell.name)}.json" for other in others):
            if not path.is_file():
                continue
            try:
                result = as_recorded(read(path).result, cell)
            except InputError:  # the command that works on that study names it
                continue
            if has_everything(result, cell):
                found[cell.name] = result
                break
    return found


def as_recorded(result: Result, cell: Cell) -> Result:
    """The result under this grid's names, without what this grid does not measure."""
    asked = wanted(cell)
    leave_out: dict[str, Any] = {} if EVALUATION in asked else {"evaluation": None}
    leave_out |= {} if asked.keys() - {EVALUATION} else {"attacks": {}}
    tasks = {name: task.model_copy(update=leave_out) for name, task in result.tasks.items()}
    block = block_of(result, cell)
    measured = {name: spec for name, spec in block.measured.items() if name in asked}
    return result.model_copy(update={"tasks": tasks, "cell": block.model_copy(update={"measured": measured})})
