"""The grids that ship: each resolves at every scale without data, and its smallest runs."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.benchmark.tiny_grid import run
from uegr.benchmark.grid import SCALES, Grid
from uegr.benchmark.plan import Cell, cells_of, printed_by_name
from uegr.benchmark.reading import read_grid
from uegr.data import evaluation_sets
from uegr.packages import cache_folder
from uegr.runs.prepare import resolved
from uegr.training.config import RunConfig

FOLDER = Path(__file__).parents[2] / "benchmarks"
FILES = sorted(FOLDER.glob("*.yaml"))
PAPERS = [file for file in FILES if file.stem not in ("quick", "smoke")]
SECTION_4 = {
    "uegr": ["table1", "table2", "table3", "table4", "table5", "figure2", "figure3"],
    "rat": ["table1", "table2", "table3", "table4", "table8", "figure2", "figure3", "figure5"],
    "rift": ["table1", "table2", "table3", "table4", "figure2", "figure3", "figure4"],
}
every = pytest.mark.parametrize(
    "file", [*FILES, *sorted((FOLDER / "studies").glob("*.yaml"))], ids=lambda file: file.stem
)
named = pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
of_papers = pytest.mark.parametrize("file", PAPERS, ids=lambda file: file.stem)


@cache
def scaled(file: Path, scale: str) -> tuple[Grid, list[Cell]]:
    grid = read_grid(file, scale)
    return grid, cells_of(grid)


def test_every_table_and_figure_has_its_file() -> None:
    wanted = {f"{paper}_{one}" for paper, some in SECTION_4.items() for one in some}
    assert {file.stem for file in FILES} == wanted | {"quick", "smoke"}


@named
def test_it_dry_runs_without_data(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("UEGR_DATA", raising=False)
    code, out, error = run(file, "--dry-run", "--output", tmp_path / "out", "--json")
    assert code == 0, error
    assert json.loads(out)["cells"]
    assert not (tmp_path / "out").exists()


@every
def test_it_resolves_at_every_scale_that_it_has(file: Path) -> None:
    scales = yaml.safe_load(file.read_text()).get("scales", {})
    assert file.stem == "smoke" or "smoke" in scales
    assert all(scaled(file, scale)[1] for scale in scales)


@of_papers
def test_its_scales_grow(file: Path) -> None:
    assert set(yaml.safe_load(file.read_text())["scales"]) == set(SCALES)
    sizes = [len(scaled(file, scale)[1]) for scale in ("smoke", "laptop", "full")]
    assert sizes == sorted(sizes)
    assert sizes[0] <= 7


def value_at(cell: Cell, path: str) -> Any:
    section, _, key = path.partition(".")
    return resolved(RunConfig(**cell.config))[section][key]


@of_papers
def test_every_printed_figure_is_of_one_setting_at_full_scale(file: Path) -> None:
    grid, cells = scaled(file, "full")
    names: dict[tuple[str, ...], list[Cell]] = {}
    for cell in (cell for cell in cells if cell.called["seed"] == 0):
        method, model, datasets = (cell.config[axis]["name"] for axis in ("method", "model", "dataset"))
        for dataset in datasets.split(","):  # an mtdnn has a figure for each of its tasks
            names.setdefault((method, model, dataset), []).append(cell)
    single = [part for figure in printed_by_name(grid) for part in figure.get("of", [figure])]
    for figure in single:
        found = names.get((figure["method"], figure["model"], figure["dataset"]), [])
        settings = {key: value for key, value in figure.items() if "." in key}
        fitting = [cell for cell in found if all(value_at(cell, key) == value for key, value in settings.items())]
        assert len(fitting) == 1, figure


@of_papers
def test_tables_have_printed_figures_and_attacks_that_are_printed_are_run(file: Path) -> None:
    grid, _ = scaled(file, "full")
    assert bool(grid.printed) == ("table" in file.stem)
    metrics = {figure["metric"] for figure in grid.printed}
    assert metrics & {"pwws", "genetic"} <= {attack.attack for attack in grid.measure.attacks}


def test_table_3_has_the_calibration_and_the_sets_of_roast() -> None:
    measure = read_grid(FOLDER / "uegr_table3.yaml", "full").measure
    assert (measure.calibration.bins, measure.calibration.temperature) == (10, True)
    for task in ("mnli", "sst2"):
        kinds = {use.kind for card, use in evaluation_sets(task) if card.name in measure.sets}
        assert {"shift", "adversarial", "anomaly"} <= kinds


@pytest.mark.parametrize("file", [file for file in PAPERS if file.stem.startswith("rift")], ids=lambda file: file.stem)
def test_the_grids_of_rift_train_as_its_release(file: Path) -> None:
    for cell in scaled(file, "full")[1]:
        config = RunConfig(**cell.config)
        training, imdb = config.training, config.dataset.name == "imdb"
        assert training.batch_size == (32 if imdb else 120)
        assert (training.balance, training.warmup, config.model.head) == ("sampling", 0.1, "mlp")
        assert (training.weight_decay, training.weight_decay_on) == (2e-4, "head")
        assert not imdb or training.max_length == 300
        assert training.epochs == 20 or "training.epochs" in cell.varied
        assert training.select == ("last" if file.stem in ("rift_figure2", "rift_figure3") else "robust")


@of_papers
def test_no_method_is_searched_more_than_another(file: Path) -> None:
    for scale in SCALES:
        trials = {(cell.search or {}).get("trials", 0) for cell in scaled(file, scale)[1]}
        assert len(trials) == 1


@of_papers
def test_r_at_has_an_epsilon_of_the_size_of_uegrs(file: Path) -> None:
    for scale in SCALES:
        methods = [resolved(RunConfig(**cell.config))["method"] for cell in scaled(file, scale)[1]]
        ours = [method["epsilon"] for method in methods if method["name"] == "uegr"]
        others = [method["epsilon"] for method in methods if method["name"] in ("rat", "rat_su", "fgm")]
        assert not ours or all(epsilon <= 2 * max(ours) for epsilon in others)


def test_figure_2_logs_drift_after_each_of_ten_epochs() -> None:
    configs = [RunConfig(**cell.config) for cell in scaled(FOLDER / "uegr_figure2.yaml", "full")[1]]
    assert all(config.training.log_drift and config.training.epochs == 10 for config in configs)


def test_the_values_of_r_ats_table_7_reach_their_cells() -> None:
    cells = scaled(FOLDER / "uegr_table1.yaml", "full")[1]
    found = {cell.called["dataset"]: cell.config["method"] for cell in cells if cell.called["method"] == "rat"}
    assert (found["mrpc"]["epsilon"], found["mrpc"]["alpha"], found["mrpc"]["norm"]) == (0.15, 0.8, "matrix")
    assert (found["cola"]["epsilon"], found["cola"]["alpha"]) == (0.1, 0.5)
    assert all("alpha" not in cell.config["method"] for cell in cells if cell.called["method"] == "uegr")


def test_r_at_on_all_tasks_of_table_2_reads_epsilon_as_on_single_tasks() -> None:
    cells = scaled(FOLDER / "uegr_table2.yaml", "full")[1]
    found = [cell.config["method"] for cell in cells if cell.called["method"] == "rat"]
    assert {(method["norm"], method["reduction"]) for method in found} == {("matrix", "sum")}
    assert "all tasks" in {cell.called["dataset"] for cell in cells if cell.called["method"] == "rat"}


@pytest.mark.slow
@every
def test_its_smallest_scale_runs(file: Path, tmp_path: Path) -> None:
    if not (cache_folder() / "models" / "minilm-l3").exists():
        pytest.skip("minilm-l3 is not in the cache: uegr models fetch minilm-l3")
    scale = [] if file.stem == "smoke" else ["--scale", "smoke"]
    code, out, error = run(file, *scale, "--output", tmp_path / "out", "--json")
    assert code == 0, error
    assert {row["state"] for row in json.loads(out)["cells"]} == {"done"}
