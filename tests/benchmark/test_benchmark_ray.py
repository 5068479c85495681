"""A Ray cluster of two nodes, one of which is killed while cells run."""

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tiny_grid import grid_file
from tiny_run import data_folder, model_folder
from uegr.benchmark.backends import run_here, run_on_ray
from uegr.benchmark.cells import Work, is_complete, journal
from uegr.benchmark.grid import read_grid
from uegr.benchmark.plan import Cell, cells_of

pytestmark = pytest.mark.slow


def scores(work: Work, cell: Cell) -> Any:
    return json.loads((work.folder(cell) / "result.json").read_text())["scores"]


def test_a_killed_node_costs_no_cell_and_changes_no_figure(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    from ray.cluster_utils import Cluster

    model_folder(tmp_path / "model")
    data_folder(tmp_path / "data", train=160, other=12)
    training = {"epochs": 4, "batch_size": 8, "learning_rate": 0.01}
    cells = cells_of(read_grid(grid_file(tmp_path, tmp_path, seeds=3, shared={"training": training})))
    alone = Work(tmp_path / "alone", time.time())
    run_here(alone, cells)
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    try:
        victim, killed = cluster.add_node(num_cpus=1), []

        def kill(cell: Cell) -> None:
            if not killed:
                killed.append([entry["cell"] for entry in journal(work.root)])
                cluster.remove_node(victim, allow_graceful=False)

        work = Work(tmp_path / "out", time.time())
        run_on_ray(work, cells, address=cluster.address, changed=kill)
    finally:
        import ray

        ray.shutdown()
        cluster.shutdown()
    assert killed
    assert all(is_complete(work, cell) for cell in cells)
    done = Counter(entry["cell"] for entry in journal(work.root) if entry["event"] == "done")
    assert done == Counter({cell.name: 1 for cell in cells})
    assert [scores(work, cell) for cell in cells] == [scores(alone, cell) for cell in cells]
