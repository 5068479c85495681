"""Ray itself: a cluster of two nodes, one of which is killed while cells run; and cells that start from others."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.benchmark.tiny_grid import grid_file
from tests.tiny_run import data_folder, model_folder
from uegr.benchmark.backends import run_here, run_on_ray
from uegr.benchmark.cells import failure, is_complete
from uegr.benchmark.plan import Cell, cells_of
from uegr.benchmark.reading import read_grid
from uegr.benchmark.work import Work, journal

pytestmark = pytest.mark.slow


def scores(work: Work, cell: Cell) -> Any:
    return json.loads((work.folder(cell) / "result.json").read_text())["tasks"]["data"]["scores"]


def kill_when_busy(cluster: Any, victim: Any, work: Work) -> None:
    """Take a node away as soon as both of them train."""
    while sum(entry["event"] == "train" for entry in journal(work.root)) < 2:
        time.sleep(0.05)
    cluster.remove_node(victim, allow_graceful=False)


def test_a_killed_node_costs_no_cell_and_changes_no_figure(tmp_path: Path) -> None:
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    from ray.cluster_utils import Cluster

    model_folder(tmp_path / "model")
    data_folder(tmp_path / "data", train=160, other=12)
    training = {"epochs": 6, "batch_size": 8, "learning_rate": 0.01}
    cells = cells_of(read_grid(grid_file(tmp_path, tmp_path, seeds=2, shared={"training": training})))
    alone, work = Work(tmp_path / "alone", time.time()), Work(tmp_path / "out", time.time())
    run_here(alone, cells)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        killer = threading.Thread(target=kill_when_busy, args=(cluster, cluster.add_node(num_cpus=1), work))
        killer.start()
        run_on_ray(work, cells, address=cluster.address)
        killer.join()
    finally:
        ray.shutdown()
        cluster.shutdown()
    assert all(is_complete(work, cell) for cell in cells)
    told = Counter((entry["cell"], entry["event"]) for entry in journal(work.root))
    assert [told[cell.name, "done"] for cell in cells] == [1] * len(cells)
    assert sorted(told[cell.name, "train"] for cell in cells) == [1, 1, 1, 2]  # the killed node's cell began again
    assert [scores(work, cell) for cell in cells] == [scores(alone, cell) for cell in cells]


@pytest.fixture
def here() -> Iterator[None]:
    """A Ray of two processors on this machine."""
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    try:
        yield
    finally:
        ray.shutdown()


def test_a_cell_begins_when_its_start_has_ended(here: None, tmp_path: Path) -> None:
    """Two processors and four cells: without the order, `small` would train beside `big`."""
    work, cells = started(tmp_path, seeds=2)
    assert [cell.called["dataset"] for cell in cells] == ["big", "big", "small", "small"]
    run_on_ray(work, cells)
    events = [(entry["cell"], entry["event"]) for entry in journal(work.root)]
    for cell in cells:
        assert is_complete(work, cell)
        if cell.start is not None:
            assert events.index((cell.start.name, "done")) < events.index((cell.name, "train"))


def test_a_start_that_fails_fails_what_starts_from_it_and_nothing_waits_forever(here: None, tmp_path: Path) -> None:
    work, cells = started(tmp_path, seeds=1)
    (tmp_path / "big" / "train.csv").write_text("text,label\n")
    run_on_ray(work, cells)
    errors = [failure(work, cell)["error"] for cell in cells]
    assert "train.csv" in errors[0]
    assert errors[1].startswith(f"it starts from {cells[0].name}, which failed: ")


def started(folder: Path, seeds: int) -> tuple[Work, list[Cell]]:
    """The work, and cells of which those on `small` start from those on `big`."""
    model_folder(folder / "model")
    for name, rows in {"big": 48, "small": 16}.items():
        data_folder(folder / name, train=rows, other=8)
    datasets = [{"name": str(folder / name), "label": name} for name in ("small", "big")]
    starts = [{"cells": {"dataset": "small"}, "start_from": {"dataset": "big"}}]
    file = grid_file(folder, folder, methods=["vanilla"], datasets=datasets, starts=starts, seeds=seeds)
    return Work(folder / "out", time.time()), cells_of(read_grid(file))
