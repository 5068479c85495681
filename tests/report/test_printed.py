"""Averages and differences that a paper prints: measured as the same sum, and marked where it contradicts itself."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.report.synthetic_runs import result
from uegr.benchmark.plan import printed_by_name
from uegr.benchmark.printed import expanded
from uegr.benchmark.reading import read_grid
from uegr.report.groups import grouped
from uegr.report.printed import Row, comparisons, judged, printed_figures
from uegr.report.reading import Grid, Run

FOLDER = Path(__file__).parents[2] / "benchmarks"
UEGR = [f"uegr_table{number}" for number in (1, 2, 4, 5)]
RAT = [f"rat_table{number}" for number in (1, 3, 4, 8)]
AVERAGES = {  # the rows that the papers print
    "uegr_table1": 9,
    "uegr_table2": 10,
    "uegr_table4": 21,
    "uegr_table5": 4,
    "rat_table1": 6,
    "rat_table3": 18,
    "rat_table8": 6,
}
TABLE = {
    "columns": {"dataset": ["imdb", "agnews"], "metric": "accuracy", "model": "bert", "method": "uegr"},
    "rows": [
        {"method.submodels": 2, "values": [91.02, 93.0], "average": 92.01},
        {"method.submodels": 3, "values": [91.52, 93.1], "average": 92.7},
    ],
    "differences": [{"of": {"method.submodels": 3}, "to": {"method.submodels": 2}, "values": [0.5, 0.1]}],
}


def rows(datasets: tuple[str, ...]) -> list[Row]:
    grid = Grid(Path("g"), "t", printed=tuple(expanded([TABLE], "x.yaml")))
    runs = [
        result(dataset, "uegr", seed, bonus=0.01 * count, model="bert", submodels=count)
        for dataset in datasets
        for seed in (0, 1)
        for count in (2, 3)
    ]
    groups = grouped([Run(str(place), run, grids=(grid,)) for place, run in enumerate(runs)])
    return comparisons([grid], groups)[0].rows


def accuracy(dataset: str, seed: int, count: int) -> float:
    run = result(dataset, "uegr", seed, bonus=0.01 * count, model="bert", submodels=count)
    return run.tasks[dataset].scores["test"]["accuracy"].value


def test_an_average_is_measured_seed_by_seed_and_a_wrong_one_is_marked() -> None:
    first, second = (row for row in rows(("imdb", "agnews")) if row.names[0] == "AVG")
    assert first.cell is not None
    wanted = (accuracy("imdb", 1, 2) + accuracy("agnews", 1, 2)) / 2
    assert first.cell.figures[1].value == pytest.approx(wanted)
    assert "its own figures" not in first.remark
    assert "the paper prints 92.70, its own figures give 92.31" in second.remark


def test_a_difference_is_measured_seed_by_seed() -> None:
    gap = next(row for row in rows(("imdb", "agnews")) if "minus" in row.remark)
    assert gap.cell is not None
    assert gap.printed.value == pytest.approx(0.005)
    assert gap.cell.figures[0].value == pytest.approx(accuracy("imdb", 0, 3) - accuracy("imdb", 0, 2))


def test_an_average_is_missing_where_one_of_its_figures_is() -> None:
    assert {row.kind for row in rows(("imdb",)) if row.names[0] == "AVG"} == {"missing"}


def printed_blocks(name: str) -> Any:
    """As they stand in the file."""
    return yaml.safe_load((FOLDER / f"{name}.yaml").read_text())["printed"]


@pytest.mark.parametrize("name", [name for name in (*UEGR, *RAT) if name != "rat_table4"])
def test_every_row_of_a_table_with_an_average_column_has_its_average(name: str) -> None:
    rows = [row for block in printed_blocks(name) for row in block["rows"]]
    assert [row for row in rows if "average" not in row] == []
    assert len(rows) == AVERAGES[name]


def test_the_gap_of_rats_table_4_has_its_four_figures() -> None:
    (block,) = printed_blocks("rat_table4")
    assert [entry["values"] for entry in block["differences"]] == [[0.07, 0.02, -0.05, 0.03]]


def test_the_rows_whose_printed_average_is_not_their_mean() -> None:
    found = []
    for name in (*UEGR, *RAT):
        resolved = read_grid(FOLDER / f"{name}.yaml", "full")
        for figure in printed_figures(Grid(Path(name), name, printed=tuple(printed_by_name(resolved)))):
            if figure.discrepancy:
                found.append((name, figure.names["model"], figure.names["method"], figure.discrepancy[-5:]))
    assert found == [
        ("uegr_table2", "roberta-base", "rat", "88.28"),
        ("uegr_table4", "bilstm", "rdrop", "71.86"),
        ("uegr_table4", "bilstm", "rat", "72.28"),
        ("uegr_table4", "bilstm", "uegr", "73.15"),
        ("uegr_table4", "textcnn", "vanilla", "71.71"),
        ("rat_table1", "bert-base", "vanilla", " 81.8"),
        ("rat_table3", "bilstm", "fgm", "71.34"),
        ("rat_table3", "texthan", "fgm", "73.77"),
    ]


def test_a_wide_interval_is_no_agreement() -> None:
    """-4.6 over two seeds "agreed" with 22.1, because the interval reached from -32 to 23."""
    cell = grouped([Run(str(seed), result("imdb", "uegr", seed, bonus=0.05 * seed)) for seed in (0, 1)])[0].columns[
        "own"
    ]
    words, kind = judged(cell, cell.mean)
    assert kind == "agrees"
    assert words.startswith("not told apart: within our 95% interval over 2 seeds, ")
    assert words.endswith(f"–{100 * cell.figure.high:.1f}")
