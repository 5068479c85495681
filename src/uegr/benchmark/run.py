"""A grid in its folder: the plan, running what is missing, and what is left of earlier versions of the grid."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import yaml

from uegr.benchmark import backends
from uegr.benchmark.cells import has_everything
from uegr.benchmark.grid import Grid
from uegr.benchmark.live import Board, report_line, watching
from uegr.benchmark.mending import mend, mend_grid
from uegr.benchmark.named import grid_file
from uegr.benchmark.plan import Cell, cells_of, compared_by_name, printed_by_name
from uegr.benchmark.reading import read_grid
from uegr.benchmark.recording import committed, record
from uegr.benchmark.sharing import elsewhere
from uegr.benchmark.work import Work
from uegr.errors import InputError
from uegr.files import write_text
from uegr.ledger.stripping import without_places
from uegr.result import Result

GRID = "grid.yaml"


@dataclass(frozen=True)
class Benchmark:
    """A grid, all of its cells, and a board with those that were chosen; `taken` from other studies of the ledger."""

    grid: Grid
    cells: list[Cell]
    board: Board
    taken: dict[str, Result]

    @property
    def root(self) -> Path:
        return self.board.work.root

    def stale(self) -> list[str]:
        """The folders of earlier versions of the grid."""
        names = {cell.name for cell in self.cells}
        return sorted(path.name for path in (self.root / "cells").glob("*") if path.name not in names)


def planned(
    file: Path,
    *,
    scale: str | None = None,
    output: Path | None = None,
    only: str | None = None,
    ledger: Path | None = None,
    allow_code: bool = False,
    command: str = "",
) -> Benchmark:
    """The cells of a grid, by file or by name; with `only`, those on the board have this in their name, or match it.

    What these cells start from is on the board, too. What is in the `ledger`, a folder with a folder for each study,
    counts as done, also where it is in another study; what finishes is added to it.
    """
    file = grid_file(file)
    grid = read_grid(file, scale, allow_code=allow_code)
    cells = cells_of(grid)
    name = "-".join(filter(None, (file.stem, grid.scale)))
    chosen = [cell for cell in cells if only is None or cell.fits(only)]
    if not chosen:
        raise InputError(f"no cell of {file.name} fits {only!r}; --dry-run shows the names")
    study = ledger.resolve() / name if ledger is not None else None
    work = Work((output or Path("runs") / name).resolve(), time.time(), command, study)
    board = with_starts(chosen, cells)
    own = done_before(study, board) if study else {}
    started = {cell.start.name for cell in board if cell.start}  # a ledger has no weights
    others = [cell for cell in board if cell.name not in {*own, *started}]
    taken = elsewhere(study, others) if study else {}
    return Benchmark(grid, cells, Board(work, board, own | taken), taken)


def done_before(study: Path, cells: Sequence[Cell]) -> dict[str, Result]:
    """The cells of which the study has everything that is asked for."""
    found = committed(study, cells)
    known = [cell for cell in cells if cell.name in found and has_everything(found[cell.name], cell)]
    done = {cell.name: found[cell.name] for cell in known}
    for cell in reversed(cells):  # a ledger has no weights: what an open cell starts from is open, too
        if cell.start and cell.name not in done:
            done.pop(cell.start.name, None)
    return done


def with_starts(chosen: Sequence[Cell], cells: Sequence[Cell]) -> list[Cell]:
    """Some of the cells, and those that they start from; these are earlier in the list of all."""
    names = {cell.name for cell in chosen}
    for cell in reversed(cells):
        if cell.name in names and cell.start:
            names.add(cell.start.name)
    return [cell for cell in cells if cell.name in names]


def run_missing(
    plan: Benchmark,
    *,
    backend: Literal["local", "ray"] = "local",
    workers: int = 1,
    quiet: bool = False,
    cluster: dict[str, Any] | None = None,
) -> None:
    """Run the cells that are not done, and show their states meanwhile; `cluster` as `backends.run_on_ray` takes it.

    Every cell is run in a process of its own. `workers` 0 runs them in this process, for a debugger.
    """
    board = plan.board
    write_grid(plan.root, described(plan.grid, plan.cells))
    if board.work.study is not None:
        write_grid(board.work.study, without_places(described(plan.grid)))
        for cell in board.cells:
            if cell.name in plan.taken:
                record(board.work, cell, plan.taken[cell.name])
    mend(board.work, board.open)
    if all(row["state"] == "done" for row in board.refresh()):
        return
    work = replace(board.work, workers=max(1, workers))
    with watching(board, quiet, workers) as console:

        def changed(cell: Cell) -> None:
            report_line(board, cell, console)

        if backend == "ray":
            backends.run_on_ray(work, board.open, changed=changed, **(cluster or {}))
        elif workers:
            backends.run_processes(work, board.open, workers, changed)
        else:
            backends.run_here(work, board.open, changed)


def write_grid(root: Path, content: dict[str, Any]) -> None:
    """grid.yaml: what is run and what the paper printed; a folder belongs to one grid at one scale."""
    path, flag = root / GRID, "--output" if "cells" in content else "--ledger"
    before = mend_grid(path)
    for key in ("title", "scale"):
        if before and before.get(key) != content[key]:
            raise InputError(f"{root} holds the {key} {before.get(key)!r}, not {content[key]!r}; choose another {flag}")
    root.mkdir(parents=True, exist_ok=True)
    write_text(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def listed(cell: Cell) -> dict[str, Any]:
    """A cell in grid.yaml."""
    start = {"start": f"cells/{cell.start.name}"} if cell.start else {}
    return {"folder": f"cells/{cell.name}", **cell.called, "varied": cell.varied, **start}


def described(grid: Grid, cells: Sequence[Cell] | None = None) -> dict[str, Any]:
    """The grid as plain values, with what the paper printed and, in its own folder, its cells."""
    content: dict[str, Any] = {"title": grid.title, "source": grid.source, "scale": grid.scale}
    content |= grid.model_dump(mode="json", exclude_defaults=True) | {"printed": printed_by_name(grid)}
    content |= compared_by_name(grid)
    if cells is not None:
        content["cells"] = [listed(cell) for cell in cells]
    plain: dict[str, Any] = json.loads(json.dumps(content))  # no two places share a mapping: YAML would link them
    return plain
