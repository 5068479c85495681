"""SIGKILL at any moment, and several processes at one folder: no cell is lost, done twice, or half written."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.benchmark.tiny_grid import command, grid_file, run
from tests.forks import end_of, forked
from tests.tiny_run import data_folder, model_folder
from uegr.benchmark.backends import Place, do_cell, run_here
from uegr.benchmark.cells import is_complete
from uegr.benchmark.plan import Cell, cells_of
from uegr.benchmark.reading import read_grid
from uegr.benchmark.work import Work, journal
from uegr.runs import manifest
from uegr.runs.checkpoints import numbered

SAVING = {"epochs": 1, "batch_size": 8, "learning_rate": 0.01, "checkpoint_steps": 3}
MEASURE = {"rows": 4, "figures": [], "attacks": [{"attack": "deepwordbug", "examples": 2}]}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kills")
    model_folder(folder / "model")
    data_folder(folder / "data", train=48, other=12)
    return folder


def working(work: Work, cells: list[Cell]) -> int:
    return forked(lambda: run_here(work, cells))


def trainings(root: Path) -> Counter[str]:
    return Counter(entry["cell"] for entry in journal(root) if entry["event"] == "train")


def check(work: Work, cells: list[Cell], before: dict[str, tuple[bytes, int]]) -> dict[str, tuple[bytes, int]]:
    """What is finished stays as it is; every result.json that is there is whole. Returns what is finished now."""
    begun, now = trainings(work.root), {}
    for cell in cells:
        path = work.folder(cell) / "result.json"
        if path.exists():
            assert json.loads(path.read_bytes())["tasks"]["data"]["scores"]["test"]["accuracy"]["n"] == 12
        if is_complete(work, cell):
            now[cell.name] = (path.read_bytes(), begun[cell.name])
    for name, found in before.items():
        assert now[name] == found, f"{name} was done again"
    return now


def works(work: Work, process: int) -> None:
    """Wait until the process, or one of its own, has begun a cell, or has ended."""
    before = len(journal(work.root))
    while len(journal(work.root)) == before:
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.02)


def survive(work: Work, cells: list[Cell], kills: int, start: Callable[[], int], longest: float) -> None:
    """Kill the process at a random moment of its work, again and again, then let it finish."""
    draw = random.Random(kills)
    finished: dict[str, tuple[bytes, int]] = {}
    for _ in range(kills):
        process = start()
        works(work, process)
        time.sleep(draw.uniform(0, longest))
        os.kill(process, signal.SIGKILL)
        end_of(process)
        finished = check(work, cells, finished)
    assert end_of(start()) == 0
    assert len(check(work, cells, finished)) == len(cells)
    done = Counter(entry["cell"] for entry in journal(work.root) if entry["event"] == "done")
    assert max(done.values()) == 1


def test_killed_three_times(home: Path, tmp_path: Path) -> None:
    file = grid_file(
        tmp_path, home, methods=["vanilla", "rdrop"], seeds=2, shared={"training": SAVING}, measure=MEASURE
    )
    cells, work = cells_of(read_grid(file)), Work(tmp_path / "out", time.time())
    survive(work, cells, 3, lambda: working(work, cells), 3)


@pytest.mark.slow
def test_killed_ten_times_in_processes_of_its_own(home: Path, tmp_path: Path) -> None:
    methods = ["vanilla", "rdrop", {"name": "uegr", "method": {"epsilon": 0.01}}]
    file = grid_file(tmp_path, home, methods=methods, seeds=4, shared={"training": SAVING}, measure=MEASURE)
    cells, work = cells_of(read_grid(file)), Work(tmp_path / "out", time.time())
    arguments = command(file, "--output", work.root, "--quiet")
    survive(work, cells, 10, lambda: os.posix_spawn(arguments[0], arguments, os.environ), 4)


def test_two_processes_at_one_folder_do_no_cell_twice(home: Path, tmp_path: Path) -> None:
    file = grid_file(tmp_path, home, seeds=2)
    cells, work = cells_of(read_grid(file)), Work(tmp_path / "out", time.time())
    both = [working(work, cells), working(work, list(reversed(cells)))]
    for process in both:
        assert end_of(process) == 0
        assert all(is_complete(work, cell) for cell in cells)  # the first to end has waited for the other
    assert trainings(work.root) == Counter({cell.name: 1 for cell in cells})
    assert len({entry["process"] for entry in journal(work.root)}) == 2


def test_a_process_that_dies_frees_its_cell_for_one_that_waits(home: Path, tmp_path: Path) -> None:
    file = grid_file(tmp_path, home, methods=["vanilla"], shared={"training": SAVING})
    cells, work = cells_of(read_grid(file)), Work(tmp_path / "out", time.time())
    first = working(work, cells)
    while not trainings(work.root):
        time.sleep(0.01)
    second = working(work, cells)
    os.kill(first, signal.SIGKILL)
    assert end_of(first) == -signal.SIGKILL
    assert end_of(second) == 0
    assert {entry["process"] for entry in journal(work.root) if entry["event"] == "done"} == {second}


def test_a_cell_that_is_sent_sigterm_writes_a_checkpoint_and_ends(home: Path, tmp_path: Path) -> None:
    file = grid_file(tmp_path, home, methods=["vanilla"], shared={"training": {"epochs": 400, "batch_size": 8}})
    (cell,), work = cells_of(read_grid(file)), Work(tmp_path / "out", time.time())
    place = Place(os.getcwd(), dict(os.environ), list(sys.path), 1)
    process, metrics = forked(lambda: do_cell(work, cell, place)), work.folder(cell) / "metrics.jsonl"
    while not metrics.is_file() or not metrics.read_bytes():
        time.sleep(0.005)
    os.kill(process, signal.SIGTERM)
    assert end_of(process) == 143
    checkpoint = numbered(work.folder(cell))[0]
    assert manifest.damage(checkpoint) is None
    assert int(checkpoint.name.rpartition("-")[2]) >= json.loads(metrics.read_text().splitlines()[-1])["step"]
    assert not is_complete(work, cell)


DEADLY = """
import os
from uegr.methods import Method, Objective, configured

class Deadly(Objective):
    def losses(self, model, batch):
        os.kill(os.getpid(), 9)
        yield {}

@configured
def method() -> Method:
    return Method(Deadly(), name="deadly")
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_process_that_dies_fails_its_cell_and_the_others_are_done(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: int
) -> None:
    (tmp_path / "deadly_method.py").write_text(DEADLY)
    monkeypatch.chdir(tmp_path)
    file = grid_file(tmp_path, home, methods=["deadly_method:method", "vanilla", "rdrop"])
    code, out, error = run(file, "--output", "out", "--workers", workers, "--quiet", "--allow-code")
    assert code == 1
    assert "2 done, 1 failed" in " ".join(out.split())
    assert "its process ended with -9" in error
    assert trainings(Path("out")) == Counter(dict.fromkeys(trainings(Path("out")), 1))
    (failed,) = Path("out").glob("cells/*/failure.json")
    assert json.loads(failed.read_text())["attempts"] == 1
    assert run(file, "--output", "out", "--workers", workers, "--quiet", "--allow-code")[0] == 1
    assert json.loads(failed.read_text())["attempts"] == 2


@pytest.mark.slow
def test_a_cell_may_be_trained_by_several_processes(home: Path, tmp_path: Path) -> None:
    file = grid_file(tmp_path, home, methods=["vanilla"], processes=2)
    code, _, error = run(file, "--output", tmp_path / "out", "--quiet")
    assert code == 0, error
    result = json.loads(next((tmp_path / "out" / "cells").glob("*/result.json")).read_text())
    assert result["training"]["steps"] == 3  # 48 rows, twice 8 a step
    broken = grid_file(tmp_path, home, methods=["vanilla"], processes=2, shared={"training": {"max_steps": 1}})
    (home / "data" / "train.csv").rename(home / "train.csv")
    try:
        code, _, error = run(broken, "--output", tmp_path / "out", "--quiet")
    finally:
        (home / "train.csv").rename(home / "data" / "train.csv")
    assert code == 1
    assert "uegr: error: data has no training split" in error


HUNGRY = """
import torch
from uegr.methods import Method, Objective, configured

class Hungry(Objective):
    def losses(self, model, batch):
        taken = []
        while True:
            taken.append(torch.empty(1 << 28))
        yield {}

@configured
def method() -> Method:
    return Method(Hungry(), name="hungry")
"""
ROOM = 24 << 30  # bytes of addresses: enough for the libraries, and nothing of it is touched


@pytest.mark.slow
def test_a_cell_that_reaches_the_limit_of_memory_fails_alone_and_says_so(home: Path, tmp_path: Path) -> None:
    (tmp_path / "hungry_method.py").write_text(HUNGRY)
    file = grid_file(tmp_path, home, methods=["hungry_method:method", "vanilla", "rdrop"])
    for attempt in (1, 2):
        done = subprocess.run(
            command(file, "--output", "out", "--quiet", "--allow-code"),
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ROOM, ROOM)),
            capture_output=True,
            text=True,
        )
        assert done.returncode == 1
        assert "2 done, 1 failed" in " ".join(done.stdout.split())
        (failed,) = (tmp_path / "out").glob("cells/*/failure.json")
        found = json.loads(failed.read_text())
        assert "memory" in found["error"]
        assert found["error"][:40] in done.stderr
        assert found["attempts"] == attempt
