"""UEGR's table III, made up in full: printed and measured improvement start from the same base."""

from pathlib import Path

import pytest

from tests.report.synthetic_runs import result, write_run
from uegr.benchmark.plan import cells_of
from uegr.benchmark.reading import read_grid
from uegr.benchmark.run import described, write_grid
from uegr.report.groups import grouped
from uegr.report.printed import Row, comparisons
from uegr.report.reading import collect
from uegr.statistics import relative_improvement

TABLE = Path(__file__).parents[2] / "benchmarks" / "uegr_table3.yaml"
Place = tuple[str, ...]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[Place, Row]:
    """The printed figures with what answers them, by data set, model and method."""
    return table3(tmp_path_factory.mktemp("table3"))


def table3(top: Path, finished: str = "") -> dict[Place, Row]:
    """The table with made-up cells, of one model only if it is named."""
    grid = read_grid(TABLE, "full").model_copy(update={"seeds": (0, 1)})
    cells = cells_of(grid)
    write_grid(top, described(grid, cells))
    for cell in cells:
        dataset, model, method, seed = (cell.called[key] for key in ("dataset", "model", "method", "seed"))
        if finished not in ("", model):
            continue
        bonus = 0.01 * [entry.name for entry in grid.models].index(model)
        write_run(top / "cells" / cell.name, result(dataset, method, seed, bonus, model=model))
    found = collect([top])
    (table,) = comparisons(found.grids, grouped(found.runs))
    return {tuple(row.names): row for row in table.rows}


def test_every_printed_figure_has_a_measured_one(rows: dict[Place, Row]) -> None:
    assert len(rows) == 2 * 6 * 6
    assert all(row.cell is not None for row in rows.values())


def test_a_model_answers_for_no_other_one_while_it_is_the_only_one_that_has_finished(tmp_path: Path) -> None:
    found = table3(tmp_path, finished="bert-large")
    assert {model for (_, model, _), row in found.items() if row.cell is not None} == {"bert-large"}


def test_the_measured_column_starts_from_bert_large(rows: dict[Place, Row]) -> None:
    for dataset in ("mnli", "sst2"):
        for place, model in enumerate(("bert-large", "roberta-large", "albert-xxlarge")):
            for method in ("vanilla", "uegr"):
                cell = rows[dataset, model, method].cell
                ours = result(dataset, method, 1, 0.01 * place).tasks[dataset].evaluation
                base = result(dataset, "vanilla", 1).tasks[dataset].evaluation
                assert cell is not None
                assert ours is not None
                assert base is not None
                wanted = relative_improvement(ours.perspectives, base.perspectives).value
                assert wanted is not None
                assert cell.figures[1].value == pytest.approx(wanted / 100)


def test_the_base_itself_is_zero_in_both_columns_and_is_named(rows: dict[Place, Row]) -> None:
    base = rows["mnli", "bert-large", "vanilla"]
    assert base.cell is not None
    assert (base.printed.value, base.cell.mean) == (0.0, 0.0)
    assert "over vanilla of bert-large" in rows["sst2", "roberta-large", "pgd"].remark
    assert rows["sst2", "bert-large", "pgd"].remark == "over vanilla"
