"""How long the rest of a grid may take: from finished cells, and from what each method costs relative to vanilla.

The training of a cell takes as many times longer as its method's step does: measured (methods/cost.json), or where that
is not known by its passes over a batch. So one finished cell of any method gives an estimate for all others on the same
data set and model.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from uegr.benchmark.plan import Cell
from uegr.training.cost import relative_cost

Row = dict[str, Any]


def estimates(rows: Sequence[Row], cells: Sequence[Cell]) -> dict[str, float]:
    """Seconds for each cell that is not done, from finished ones: of the same data set, model and method where there
    are some, else of fewer of these in common."""
    done = [(row, cell) for row, cell in zip(rows, cells, strict=True) if row["state"] == "done" and row["seconds"]]
    found = {}
    for row, cell in zip(rows, cells, strict=True):
        if row["state"] != "done" and done:
            like = max(alike(cell, other) for _, other in done)
            found[row["cell"]] = fmean(scaled(one, other, cell) for one, other in done if alike(cell, other) == like)
    return found


def alike(cell: Cell, other: Cell) -> int:
    """How many of data set, model and method are the same, counted until one differs."""
    count = 0
    for axis in ("dataset", "model", "method"):
        if cell.config[axis]["name"] != other.config[axis]["name"]:
            break
        count += 1
    return count


def scaled(row: Row, done: Cell, cell: Cell) -> float:
    """The time of a finished cell, its training multiplied by the relative cost of the other cell's method."""
    training = min(row.get("training_seconds") or 0.0, row["seconds"])
    return float(row["seconds"] + training * (cost(cell) / cost(done) - 1))


def cost(cell: Cell) -> float:
    """The time of a training step of the cell's method, vanilla = 1."""
    return relative_cost(cell.config["method"])


def in_all(rows: Sequence[Row], cells: Sequence[Cell]) -> float:
    """What is left to do, in trainings with vanilla."""
    return sum(cost(cell) for row, cell in zip(rows, cells, strict=True) if row["state"] != "done")
