"""Cells that start from another cell: their order and identity, what waits for what, and a start that fails."""

import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.benchmark.tiny_grid import grid_file, run
from tests.tiny_run import data_folder, model_folder, write_csv
from uegr.benchmark import backends
from uegr.benchmark import run as benchmark_run
from uegr.benchmark.cells import waits
from uegr.benchmark.plan import Cell, cells_of
from uegr.benchmark.reading import read_grid
from uegr.benchmark.work import Work, journal
from uegr.errors import InputError

FROM_BIG = {"cells": {"dataset": "small"}, "start_from": {"dataset": "big"}}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("starts")
    model_folder(folder / "model")
    data_folder(folder / "big", train=48, other=8)
    data_folder(folder / "small", train=16, other=8)
    return folder


def started(folder: Path, home: Path, **settings: Any) -> Path:
    """A grid whose data set `small` comes first and starts from `big`."""
    datasets = [{"name": str(home / name), "label": name} for name in ("small", "big")]
    usual = {"methods": ["vanilla"], "datasets": datasets, "starts": [FROM_BIG]}
    return grid_file(folder, home, **usual | settings)


def planned(folder: Path, home: Path, **settings: Any) -> list[Cell]:
    return cells_of(read_grid(started(folder, home, **settings)))


def names(cells: list[Cell]) -> list[tuple[str, int]]:
    return [(cell.called["dataset"], cell.called["seed"]) for cell in cells]


def test_a_cell_comes_after_its_start_of_the_same_seed_and_method(home: Path, tmp_path: Path) -> None:
    cells = planned(tmp_path, home, methods=["vanilla", "rdrop"], seeds=2)
    assert names(cells) == [("big", 0), ("big", 1), ("small", 0), ("small", 1)] * 2
    by_name = {cell.name: cell for cell in cells}
    for cell in cells:
        if cell.called["dataset"] == "big":
            assert cell.start is None
            continue
        assert cell.start is not None
        assert by_name[cell.start.name].called == cell.called | {"dataset": "big"}
        assert cell.config["training"]["start_from"] == f"../{cell.start.name}"


def test_the_name_of_a_cell_depends_on_its_start(home: Path, tmp_path: Path) -> None:
    def small(**settings: Any) -> Cell:
        return next(cell for cell in planned(tmp_path, home, **settings) if cell.called["dataset"] == "small")

    datasets = [
        {"name": str(home / "small"), "label": "small"},
        {"name": str(home / "big"), "label": "big", "training": {"warmup": 0.5}},
    ]
    plain, other, without = small(), small(datasets=datasets), small(starts=[])
    assert len({plain.name, other.name, without.name}) == 3
    assert without.start is None
    assert small() == plain


def test_starts_may_follow_each_other_and_have_what_is_varied(home: Path, tmp_path: Path) -> None:
    more = [{"name": str(home / name), "label": label} for name, label in (("small", "last"), ("small", "mid"))]
    more[0]["dataset"] = {"train_size": 12}
    datasets = [*more, {"name": str(home / "big"), "label": "big"}]
    starts = [
        {"cells": {"dataset": "last"}, "start_from": {"dataset": "mid"}},
        {"cells": {"dataset": ["mid"]}, "start_from": {"dataset": "big"}},
    ]
    vary = {"training.warmup": [0.1, 0.2]}
    cells = planned(tmp_path, home, datasets=datasets, starts=starts, vary=vary)
    assert [(name, cell.varied["training.warmup"]) for (name, _), cell in zip(names(cells), cells, strict=True)] == [
        (name, warmup) for warmup in (0.1, 0.2) for name in ("big", "mid", "last")
    ]
    assert [cell.start and cell.start.label for cell in cells] == [None, "big", "mid"] * 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"starts": [{"cells": {}, "start_from": {"dataset": "bg"}}]}, "starts: no dataset bg; did you mean big"),
        ({"starts": [FROM_BIG | {"start_from": {"model": "tiny"}}]}, "start_from"),
        ({"starts": [FROM_BIG | {"sells": {}}]}, "unknown key starts.0.sells; did you mean cells"),
        (
            {"starts": [FROM_BIG, {"cells": {"dataset": "big"}, "start_from": {"dataset": "small"}}]},
            "starts from itself in the end",
        ),
        ({"leave_out": [{"dataset": "big"}]}, "small · tiny · vanilla starts from big · tiny · vanilla, which is left"),
        ({"search": {"trials": 1, "space": {"training.epochs": [1]}}}, "expected a start or a search, got both"),
    ],
)
def test_what_cannot_start_is_one_line(settings: dict[str, Any], message: str, home: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        planned(tmp_path, home, **settings)


def test_no_cell_starts_from_itself(home: Path, tmp_path: Path) -> None:
    cells = planned(tmp_path, home, starts=[{"start_from": {"dataset": "big"}}])
    assert [cell.start and cell.start.label for cell in cells] == [None, "big"]


def trainings(root: Path) -> list[str]:
    return [entry["cell"].partition("-")[0] for entry in journal(root) if entry["event"] == "train"]


def test_a_grid_runs_the_start_first_and_only_runs_it_too(home: Path, tmp_path: Path) -> None:
    file, out = started(tmp_path, home), tmp_path / "out"
    code, text, error = run(file, "--output", out, "--only", "small", "--dry-run")
    assert code == 0, error
    assert "from big" in " ".join(text.split())
    assert not out.exists()
    code, text, error = run(file, "--output", out, "--only", "small", "--workers", "0", "--json")
    assert code == 0, error
    rows = json.loads(text)["cells"]
    assert trainings(out) == ["big", "small"]
    assert [row["start"] for row in rows] == [None, {"cell": rows[0]["cell"], "label": "big"}]
    stored = json.loads((out / "cells" / rows[1]["cell"] / "result.json").read_text())
    assert (stored["cell"]["start"], stored["config"]["training"]["start_from"]) == ("big", f"../{rows[0]['cell']}")
    assert run(file, "--output", out, "--workers", "0")[0] == 0
    assert trainings(out) == ["big", "small"]


def test_a_failed_start_fails_what_waits_for_it_in_one_line_and_both_are_tried_again(
    home: Path, tmp_path: Path
) -> None:
    data_folder(tmp_path / "data", train=16, other=8)
    good = (tmp_path / "data" / "train.csv").read_text()
    write_csv(tmp_path / "data" / "train.csv", [("a", "good")])
    datasets = [{"name": str(home / "small"), "label": "small"}, {"name": str(tmp_path / "data"), "label": "big"}]
    file, out = started(tmp_path, home, datasets=datasets), tmp_path / "out"
    code, _, error = run(file, "--output", out, "--workers", "0")
    assert code == 1
    lines = [line for line in error.splitlines() if line.startswith("uegr: failed:")]
    assert len(lines) == 2
    assert "small · tiny · vanilla · 0: it starts from data-model-vanilla-0-" in lines[1]
    assert f", which failed: {lines[0].split(': ', 3)[3].partition(' (details')[0]}" in lines[1]
    assert trainings(out) == ["data"]
    (tmp_path / "data" / "train.csv").write_text(good)
    assert run(file, "--output", out, "--workers", "0")[0] == 0
    assert trainings(out) == ["data", "data", "small"]


def pretended(work: Work, cell: Cell, *, wait: bool = False) -> str:
    """In place of training: the cell's result is there."""
    assert not waits(work, cell)
    work.folder(cell).mkdir(parents=True)
    (work.folder(cell) / "result.json").write_text("{}")
    return "done"


class Immediately:
    """In place of a process: does the cell at once, and has ended when it is asked."""

    exitcode, sentinel = 0, None

    def __init__(self, work: Work, count: int) -> None:
        self.work = work

    def __call__(self, cell: Cell) -> "Immediately":
        pretended(self.work, cell)
        return Immediately(self.work, 1)


def test_processes_begin_with_the_start_whatever_the_order(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "Starter", Immediately)
    monkeypatch.setattr(backends.connection, "wait", lambda *args: [])
    cells = planned(tmp_path, home)
    ended: list[Cell] = []
    backends.run_processes(Work(tmp_path / "out", time.time()), cells[::-1], 2, ended.append)
    assert names(ended) == [("big", 0), ("small", 0)]


class Promise:
    """In place of Ray's reference to a task."""

    def __init__(self, *arguments: Any) -> None:
        self.arguments, self.done = arguments, False

    @property
    def ready(self) -> bool:
        return all(one.done for one in self.arguments if isinstance(one, Promise))


class FakeRay:
    """Runs a task when what it waits for has ended, the last that was submitted first."""

    exceptions = SimpleNamespace(RayError=RuntimeError)

    def remote(self, **resources: Any) -> Any:
        def submitting(body: Any) -> Any:
            self.body = body
            return SimpleNamespace(remote=Promise)

        return submitting

    def wait(self, pending: list[Promise], num_returns: int) -> tuple[list[Promise], list[Promise]]:
        chosen = [one for one in pending if one.ready][-1]
        self.body(*(None if isinstance(one, Promise) else one for one in chosen.arguments))
        chosen.done = True
        return [chosen], []

    def get(self, reference: Promise) -> None:
        assert reference.done


def test_ray_is_told_what_a_cell_waits_for(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "connected", lambda address: FakeRay())
    monkeypatch.setattr(backends, "attempt", pretended)
    ended: list[Cell] = []
    backends.run_on_ray(Work(tmp_path / "out", time.time()), planned(tmp_path, home), changed=ended.append)
    assert names(ended) == [("big", 0), ("small", 0)]


@pytest.mark.slow
def test_two_processes_and_ray_wait_for_the_start(home: Path, tmp_path: Path) -> None:
    file = started(tmp_path, home, seeds=2)
    code, _, error = run(file, "--output", tmp_path / "two", "--workers", "2")
    assert code == 0, error
    ray = pytest.importorskip("ray", reason="Ray is not installed")
    try:
        code, _, error = run(file, "--output", tmp_path / "ray", "--backend", "ray")
    finally:
        ray.shutdown()
    assert code == 0, error
    for root in (tmp_path / "two", tmp_path / "ray"):
        assert sorted(trainings(root)) == ["big"] * 2 + ["small"] * 2
    found = [
        {path.parent.name: figures(path) for path in tmp_path.glob(f"{name}/cells/*/result.json")}
        for name in ("two", "ray")
    ]
    assert found[0] == found[1]


def figures(path: Path) -> Any:
    return [task["scores"] for task in json.loads(path.read_text())["tasks"].values()]


def test_what_an_open_cell_starts_from_is_open_too(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger has no weights."""
    big, small = planned(tmp_path, home)
    monkeypatch.setattr(benchmark_run, "has_everything", lambda result, cell: True)
    for committed, done in (({big.name}, set()), ({small.name}, {small.name}), ({big.name, small.name},) * 2):
        monkeypatch.setattr(benchmark_run, "committed", lambda *_, names=committed: dict.fromkeys(names))
        assert set(benchmark_run.done_before(tmp_path, [big, small])) == done
