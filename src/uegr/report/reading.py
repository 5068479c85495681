"""Find runs, grids and ledgers below some folders and read them; what is unfinished or broken is listed, never fatal.

The unit of every figure is one task of one run (`TaskRun`). Most runs have one task.
"""

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from uegr import safe_yaml
from uegr.errors import InputError
from uegr.ledger.entries import looks_like_one
from uegr.ledger.entries import read as read_entry
from uegr.report.figures import Entries, figures_of
from uegr.report.settings import leaves, spoken
from uegr.result import NAME as RESULT
from uegr.result import Config, Evaluation, Result, Task, read
from uegr.statistics import check_perspectives

CONFIG, GRID, FAILURE, CELLS = "config.yaml", "grid.yaml", "failure.json", "cells"


@dataclass(frozen=True)
class Grid:
    """A grid that was run: its name, where its paper's figures come from, and these figures as printed."""

    folder: Path
    title: str
    source: str = ""
    printed: tuple[dict[str, Any], ...] = ()
    baseline: dict[str, Any] = field(default_factory=dict)  # that methods are compared with: its name and settings
    base: dict[str, Any] = field(default_factory=dict)  # that the relative improvement starts from
    chooses: bool = False  # its rows chose what other studies measure


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run and where it is from."""

    name: str
    result: Result
    folder: Path | None = None
    grids: tuple[Grid, ...] = ()

    @property
    def config(self) -> Config:
        return self.result.config

    @cached_property
    def settings(self) -> dict[str, Any]:
        """Every setting by its path; what a cell starts from by its label, which is the same for all seeds."""
        start = {"training.start_from": self.result.cell.start} if self.result.cell and self.result.cell.start else {}
        return dict(leaves(self.config.model_dump())) | start


@dataclass(frozen=True, eq=False)
class TaskRun:
    """One task of one run."""

    run: Run
    name: str

    @property
    def task(self) -> Task:
        return self.run.result.tasks[self.name]

    @property
    def evaluation(self) -> Evaluation | None:
        return self.task.evaluation

    @property
    def config(self) -> Config:
        return self.run.config

    @property
    def method(self) -> str:
        """The method's name, or what a grid calls it, if that says more: `vanilla, passes of uegr`."""
        name, cell = self.config.method.name, self.run.result.cell
        return cell.method if cell is not None and cell.method.startswith(f"{name}, ") else name

    @property
    def fold(self) -> str:
        """Which part of the training rows it was tested on; empty where the data set's own rows were."""
        folds, fold = (self.run.settings.get(f"dataset.{name}") for name in ("folds", "fold"))
        return "" if folds is None else f", fold {spoken(fold)} of {spoken(folds)}"

    @property
    def seed(self) -> int:
        return self.config.seed

    @cached_property
    def figures(self) -> Entries:
        return figures_of(self.task)


def tasks_of(runs: Iterable[Run]) -> list[TaskRun]:
    """Every task of every run."""
    return [TaskRun(run, name) for run in runs for name in run.result.tasks]


@dataclass(frozen=True)
class Left:
    """A run that is not in the figures, and why."""

    folder: str
    state: str
    reason: str


@dataclass
class Collection:
    """Everything that was found."""

    runs: list[Run] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)


def collect(paths: Iterable[Path]) -> Collection:
    """The runs below these folders, in the order of their names; a folder that is given twice counts once."""
    found, seen = Collection(), set()
    for path in paths:
        if not path.is_dir():
            what = "a file" if path.exists() else "no such folder"
            raise InputError(f"expected folders of runs or of a ledger, got {path}: {what}")
        for folder, grid in run_folders(path, found):
            identity = os.path.realpath(folder)
            if identity not in seen:
                seen.add(identity)
                take(folder, grid, path, found)
    return without_repeats(found)


def run_folders(top: Path, found: Collection) -> Iterator[tuple[Path, Grid | None]]:
    """Each folder in which a run was started and each file of a ledger, with the grid that it is a cell of.

    Runs are not searched for others.
    """
    waiting: list[tuple[Path, Grid | None]] = [(top, grid_above(top))]
    while waiting:
        folder, grid = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            found.left.append(Left(str(folder), "unreadable", error.strerror or str(error)))
            continue
        names = {entry.name for entry in entries}
        if RESULT in names or (grid and FAILURE in names) or (CONFIG in names and started(folder / CONFIG)):
            yield folder, grid
            continue
        grid = read_grid(folder, found) if GRID in names else grid
        yield from ((path, grid) for path in ledger_files(folder, names, grid))
        below = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name[0] != "."]
        waiting += [(folder / name, grid) for name in sorted(below, reverse=True)]


def ledger_files(folder: Path, names: Iterable[str], grid: Grid | None) -> list[Path]:
    """The files of a ledger in a folder: in that of a study every JSON file, elsewhere those that start as they do."""
    paths = sorted(folder / name for name in names if name.endswith(".json") and name[0] != ".")
    study = grid is not None and grid.folder == folder and not (folder / CELLS).is_dir()
    return [path for path in paths if study or looks_like_one(path)]


def grid_above(folder: Path) -> Grid | None:
    """The grid, where a single cell or its `cells` folder was given."""
    for above in list(folder.resolve().parents)[:2]:
        if (above / GRID).is_file() and CELLS in {folder.resolve().name, folder.resolve().parent.name}:
            return read_grid(above, Collection())
    return None


def started(path: Path) -> bool:
    """Whether a config.yaml belongs to a run of this tool: other tools have such files too."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return all(f"\n{section}:" in f"\n{text}" for section in ("method", "model", "dataset"))


def read_grid(folder: Path, found: Collection) -> Grid | None:
    """What grid.yaml says; an unreadable one is listed, and its cells are runs like others."""
    try:
        stored = safe_yaml.load((folder / GRID).read_text(encoding="utf-8"), GRID) or {}
        printed = tuple(dict(entry) for entry in stored.get("printed") or ())
        grid = Grid(
            folder,
            str(stored.get("title") or folder.name),
            str(stored.get("source") or ""),
            printed,
            dict(stored.get("baseline") or {}),
            dict(stored.get("base") or {}),
            bool(stored.get("chooses")),
        )
    except (OSError, UnicodeDecodeError, AttributeError, TypeError, ValueError) as error:
        found.left.append(Left(str(folder / GRID), "unreadable", " ".join(str(error).split())))
        return None
    same = next((one for one in found.grids if replace(one, folder=folder) == grid), None)
    if same is None:  # its runs and its part of a ledger are one grid
        found.grids.append(grid)
    return same or grid


def take(place: Path, grid: Grid | None, top: Path, found: Collection) -> None:
    """Add a run or a file of a ledger, or the reason why it is left out."""
    name = str(place.relative_to(top)) if place != top else place.name or str(place.resolve())
    grids, is_run = (grid,) if grid else (), place.is_dir()
    path = place / RESULT if is_run else place
    if not path.is_file():
        found.left.append(unfinished(name, place))
        return
    try:
        result = read(path) if is_run else read_entry(path).result
        found.runs.append(Run(name.removesuffix(".json"), checked(result), place if is_run else None, grids))
    except InputError as error:
        found.left.append(Left(name, "broken", " ".join(str(error).replace(str(path), path.name).split())))


def checked(result: Result) -> Result:
    """The result, if its perspectives are what the relative improvement is made of."""
    for task in result.tasks.values():
        if task.evaluation is not None:
            check_perspectives(task.evaluation.perspectives)
    return result


def unfinished(name: str, folder: Path) -> Left:
    """A run without a result: it is still running, was interrupted, or has failed."""
    try:
        error = json.loads((folder / FAILURE).read_text(encoding="utf-8"))["error"]
    except (OSError, ValueError, KeyError, TypeError):
        return Left(name, "unfinished", f"no {RESULT} yet")
    return Left(name, "failed", " ".join(str(error).split()))


def without_repeats(found: Collection) -> Collection:
    """The same configuration with the same seed counts once, or n would be too large.

    The one with the most figures stays, of several the newest.
    """
    kept: dict[str, Run] = {}
    for run in found.runs:
        identity = json.dumps(run.config.model_dump(), sort_keys=True, default=str)
        other = kept.setdefault(identity, run)
        if other is not run:
            less, more = sorted((other, run), key=lambda one: (measurements(one), written(one)))
            kept[identity] = replace(more, grids=(*other.grids, *run.grids))  # tables may share a cell
            found.left.append(Left(less.name, "repeated", f"the same configuration and seed as {more.name}"))
    found.runs = list(kept.values())
    return found


def measurements(run: Run) -> int:
    """How much was measured after training."""
    return sum((task.evaluation is not None) + len(task.attacks) for task in run.result.tasks.values())


def written(run: Run) -> float:
    """When the result was written."""
    return (run.folder / RESULT).stat().st_mtime if run.folder else 0.0
