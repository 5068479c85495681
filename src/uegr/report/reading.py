"""Find runs and grids below some folders and read them; what is unfinished or broken is listed, never fatal."""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from uegr.errors import InputError
from uegr.report.figures import Figure, figures_of

RESULT, CONFIG, GRID, FAILURE, CELLS = "result.json", "config.yaml", "grid.yaml", "failure.json", "cells"


@dataclass(frozen=True)
class Grid:
    """A grid that was run: its name, where its paper's figures come from, and these figures as printed."""

    folder: Path
    title: str
    source: str = ""
    printed: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, eq=False)
class Run:
    """A finished run: what its result.json says, taken apart."""

    name: str
    folder: Path | None
    result: Mapping[str, Any]
    figures: dict[str, Figure]
    grids: tuple[Grid, ...] = ()

    @property
    def config(self) -> Mapping[str, Any]:
        return self.result["config"]  # type: ignore[no-any-return]

    @property
    def evaluation(self) -> Mapping[str, Any]:
        return self.result.get("evaluation") or {}

    @property
    def seed(self) -> int:
        return int(self.config.get("seed", 0))


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
            raise InputError(f"expected folders of runs, got {path}, which is {'a file' if path.exists() else 'not'}")
        for folder, grid in run_folders(path, found):
            identity = os.path.realpath(folder)
            if identity not in seen:
                seen.add(identity)
                take(folder, grid, path, found)
    return without_repeats(found)


def run_folders(top: Path, found: Collection) -> Iterator[tuple[Path, Grid | None]]:
    """Each folder that a run has begun in, with the grid that it is a cell of; runs are not searched for others."""
    waiting: list[tuple[Path, Grid | None]] = [(top, grid_above(top))]
    while waiting:
        folder, grid = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            found.left.append(Left(str(folder), "unreadable", error.strerror or str(error)))
            continue
        names = {entry.name for entry in entries}
        if RESULT in names or (grid and FAILURE in names) or (CONFIG in names and begun(folder / CONFIG)):
            yield folder, grid
            continue
        grid = read_grid(folder, found) if GRID in names else grid
        below = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False) and entry.name[0] != "."]
        waiting += [(folder / name, grid) for name in sorted(below, reverse=True)]


def grid_above(folder: Path) -> Grid | None:
    """The grid, where a single cell or its `cells` folder was given."""
    for above in list(folder.resolve().parents)[:2]:
        if (above / GRID).is_file() and CELLS in {folder.resolve().name, folder.resolve().parent.name}:
            return read_grid(above, Collection())
    return None


def begun(path: Path) -> bool:
    """Whether a config.yaml is a run's of this tool: other tools have such files too."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False
    return all(f"\n{section}:" in f"\n{text}" for section in ("method", "model", "dataset"))


def read_grid(folder: Path, found: Collection) -> Grid | None:
    """What grid.yaml says; an unreadable one is listed, and its cells are runs like others."""
    try:
        stored = yaml.safe_load((folder / GRID).read_text(encoding="utf-8")) or {}
        printed = tuple(dict(entry) for entry in stored.get("printed") or ())
        grid = Grid(folder, str(stored.get("title") or folder.name), str(stored.get("source") or ""), printed)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
        found.left.append(Left(str(folder / GRID), "unreadable", " ".join(str(error).split())))
        return None
    found.grids.append(grid)
    return grid


def take(folder: Path, grid: Grid | None, top: Path, found: Collection) -> None:
    """Add a run, or say why not."""
    name = str(folder.relative_to(top)) if folder != top else folder.name or str(folder.resolve())
    if not (folder / RESULT).is_file():
        found.left.append(unfinished(name, folder))
        return
    try:
        found.runs.append(as_run(name, json.loads((folder / RESULT).read_text(encoding="utf-8")), folder, grid))
    except (OSError, ValueError) as error:
        found.left.append(Left(name, "broken", " ".join(str(error).split())))


def unfinished(name: str, folder: Path) -> Left:
    """A run without a result: it goes on, was interrupted, or has failed."""
    try:
        error = json.loads((folder / FAILURE).read_text(encoding="utf-8"))["error"]
    except (OSError, ValueError, KeyError, TypeError):
        return Left(name, "unfinished", f"no {RESULT} yet")
    return Left(name, "failed", " ".join(str(error).split()))


def as_run(name: str, result: Any, folder: Path | None = None, grid: Grid | None = None) -> Run:
    """A result.json taken apart; a ValueError says what is wrong with it."""
    try:
        for section in ("method", "model", "dataset"):
            if not isinstance(result["config"][section]["name"], str):
                raise TypeError(f"the name of the {section} is no text")
        int(result["config"].get("seed", 0))
        return Run(name, folder, result, figures_of(result), (grid,) if grid else ())
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        missing = f"the key {error} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"expected the {RESULT} of a run, got another: {missing}") from error


def without_repeats(found: Collection) -> Collection:
    """The same configuration with the same seed counts once, or n would say more than there is: the newest stays."""
    kept: dict[str, Run] = {}
    for run in found.runs:
        identity = json.dumps(run.config, sort_keys=True, default=str)
        other = kept.setdefault(identity, run)
        if other is not run:
            older, newer = sorted((other, run), key=written)
            kept[identity] = replace(newer, grids=(*other.grids, *run.grids))  # tables may share a cell
            found.left.append(Left(older.name, "repeated", f"the same configuration and seed as {newer.name}"))
    found.runs = list(kept.values())
    return found


def written(run: Run) -> float:
    """When the result was written."""
    return (run.folder / RESULT).stat().st_mtime if run.folder else 0.0
