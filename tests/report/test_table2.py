"""UEGR's table II, made up in full: MT-DNN's row, measured by one run on all tasks, is set beside the printed one."""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.report.synthetic_runs import result, share, write_run
from uegr import result as results
from uegr.benchmark.cells import block_of
from uegr.benchmark.plan import Cell, cells_of
from uegr.benchmark.reading import read_grid
from uegr.benchmark.run import described, write_grid
from uegr.data import cards
from uegr.report.export import markdown
from uegr.report.groups import grouped
from uegr.report.printed import Row, comparisons
from uegr.report.reading import Collection, collect

TABLE = Path(__file__).parents[2] / "benchmarks" / "uegr_table2.yaml"
TASKS = ("sst2", "cola", "mrpc", "stsb", "mnli", "qqp", "qnli", "rte", "wnli")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Collection:
    """A result for each cell of the whole table."""
    top = tmp_path_factory.mktemp("table2")
    grid = read_grid(TABLE, "full").model_copy(update={"seeds": (0,)})
    cells = cells_of(grid)
    write_grid(top, described(grid, cells))
    for cell in cells:
        write_run(top / "cells" / cell.name, made_up(cell))
    return collect([top])


@pytest.fixture(scope="module")
def rows(found: Collection) -> dict[tuple[str, ...], Row]:
    """The printed figures with what answers them, by data set, model and method."""
    (table,) = comparisons(found.grids, grouped(found.runs))
    return {tuple(row.names): row for row in table.rows}


def made_up(cell: Cell) -> results.Result:
    """A result with the tasks, splits and metrics that a run of the cell has."""
    method, model = cell.called["method"], cell.called["model"]
    run = result(cell.config["dataset"]["name"], method, 0, model=model)
    own: dict[str, Any] = {"evaluation": None, "attacks": {}}
    tasks = {
        name: one.model_copy(update=own | {"scores": scores(name, model, method)}) for name, one in run.tasks.items()
    }
    run = run.model_copy(update={"tasks": tasks})
    return run.model_copy(update={"cell": block_of(run, cell)})


def scores(dataset: str, model: str, method: str) -> dict[str, Any]:
    """A figure for each split that is not trained on, by each metric of the card."""
    card = cards()[dataset]
    return {
        split: {name: share(value(dataset, model, method, split, name)) for name in card.metrics}
        for split in card.splits
        if split != "train"
    }


def value(*of: str) -> float:
    return 0.6 + 0.3 * random.Random(repr(of)).random()


def test_every_printed_figure_has_a_measured_one(rows: dict[tuple[str, ...], Row]) -> None:
    assert len(rows) == 10 * (len(TASKS) + 1)  # ten rows, nine columns and the average
    assert not [names for names, row in rows.items() if row.cell is None]


def test_the_printed_and_the_measured_row_of_mtdnn_are_side_by_side(rows: dict[tuple[str, ...], Row]) -> None:
    printed = (96.15, 66.54, 88.97, 90.32, 87.34, 88.41, 95.42, 87.16, 87.05)
    measured = []
    for task, theirs in zip(TASKS, printed, strict=True):
        row = rows[task, "mtdnn", "vanilla"]
        split, metric = row.printed.metric.split("/")[1:]
        measured.append(value(task, "mtdnn", "vanilla", split, metric))
        assert row.cell is not None
        assert (row.printed.value, row.cell.mean) == pytest.approx((theirs / 100, measured[-1]))
        assert row.remark == ""
    average = rows["AVG", "mtdnn", "vanilla"]
    assert average.cell is not None
    assert (average.printed.value, average.cell.mean) == pytest.approx((0.8748, sum(measured) / len(measured)))


def test_the_report_shows_them_in_one_line_each(found: Collection) -> None:
    text = markdown(found, grouped(found.runs), None)
    lines = [line for line in text.splitlines() if "| mtdnn | vanilla |" in line and "interval" in line]
    assert [line.split(" | ")[0].strip("| ") for line in lines] == [*TASKS, "AVG"]
    ours = value("cola", "mtdnn", "vanilla", "validation", "matthews")
    (cola,) = (line for line in lines if line.startswith("| cola"))
    assert f"| 66.5 | {100 * ours:.1f} (" in cola
