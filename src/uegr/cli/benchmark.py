"""`uegr benchmark`: run what is missing of a grid."""

import json
import shlex
import sys
import time
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from uegr.cli.options import Json, Quiet
from uegr.cli.printing import print_json
from uegr.errors import InputError

GRID = "grid.yaml"


class Backend(StrEnum):
    local = "local"
    ray = "ray"


def benchmark(
    file: Annotated[Path, typer.Argument(help="A grid, such as benchmarks/quick.yaml.")],
    scale: Annotated[
        str | None, typer.Option(help="smoke, laptop or full; default: laptop, if the grid has it.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The folder; default: runs/FILE-SCALE.")] = None,
    backend: Annotated[Backend, typer.Option(help="This machine, or a Ray cluster.")] = Backend.local,
    address: Annotated[
        str | None, typer.Option(help="The address of the Ray cluster; auto finds one on this machine.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Cells to run at the same time on this machine.", min=1)] = 1,
    cpus: Annotated[float, typer.Option(help="Processors per cell, for Ray.", min=0)] = 1,
    gpus: Annotated[float, typer.Option(help="GPUs per cell, for Ray; 0.5 puts two cells on one GPU.", min=0)] = 0,
    only: Annotated[
        str | None,
        typer.Option(help="Only cells whose name contains this, or matches a pattern such as *uegr*; default: all."),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the cells and run nothing.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a grid of methods, models, data sets and seeds: skip what is done, retry what failed."""
    from uegr.benchmark.grid import read_grid
    from uegr.benchmark.live import Board
    from uegr.benchmark.plan import cells_of
    from uegr.benchmark.work import Work

    if address is not None and backend is not Backend.ray:
        raise InputError("--address is for --backend ray; leave it out, or use both")
    grid = read_grid(file, scale)
    cells = cells_of(grid)
    root = output or Path("runs") / "-".join(filter(None, (file.stem, grid.scale)))
    work = Work(root.resolve(), time.time(), shlex.join(["uegr", *sys.argv[1:]]))
    chosen = [cell for cell in cells if only is None or cell.fits(only)]
    if not chosen:
        raise InputError(f"no cell of {file.name} fits {only!r}; --dry-run shows the names")
    board = Board(work, chosen)
    if not dry_run:
        write_grid(work.root, grid, cells)
        run(board, backend, workers, quiet, address=address, cpus=cpus, gpus=gpus)
    end(board, grid.title, workers, dry_run, as_json, stale(work.root, cells))


def write_grid(root: Path, grid: Any, cells: Sequence[Any]) -> None:
    """grid.yaml: what is run and what the paper printed; a folder belongs to one grid at one scale."""
    import yaml

    from uegr.benchmark.plan import compared_by_name, printed_by_name
    from uegr.files import write_text

    path = root / GRID
    content = {"title": grid.title, "source": grid.source, "scale": grid.scale}
    content |= grid.model_dump(mode="json", exclude_defaults=True) | {"printed": printed_by_name(grid)}
    content |= compared_by_name(grid)
    content["cells"] = [{"folder": f"cells/{cell.name}", **cell.called, "varied": cell.varied} for cell in cells]
    content = json.loads(json.dumps(content))  # no two places share a mapping, or YAML would write references
    before = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    for key in ("title", "scale"):
        if before and before.get(key) != content[key]:
            raise InputError(
                f"{root} holds the {key} {before.get(key)!r}, not {content[key]!r}; choose another --output"
            )
    root.mkdir(parents=True, exist_ok=True)
    write_text(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def run(board: Any, backend: Backend, workers: int, quiet: bool, **cluster: Any) -> None:
    """The cells by a backend, watched."""
    from uegr.benchmark import backends
    from uegr.benchmark.live import report_line, watching

    if all(row["state"] == "done" for row in board.refresh()):
        return
    with watching(board, quiet, workers) as console:

        def changed(cell: Any) -> None:
            report_line(board, cell, console)

        if backend is Backend.ray:
            backends.run_on_ray(board.work, board.cells, changed=changed, **cluster)
        elif workers > 1:
            backends.run_processes(board.work, board.cells, workers, changed)
        else:
            backends.run_here(board.work, board.cells, changed)


def stale(root: Path, cells: Sequence[Any]) -> list[str]:
    """Folders of earlier versions of the grid."""
    names = {cell.name for cell in cells}
    return sorted(path.name for path in (root / "cells").glob("*") if path.name not in names)


def end(board: Any, title: str, workers: int, dry_run: bool, as_json: bool, old: list[str]) -> None:
    """The table or JSON on standard output; exit code 1 where a cell failed."""
    from rich.console import Console
    from rich.text import Text

    from uegr.benchmark.live import estimates, summary, table

    rows = board.refresh()
    expected = estimates(rows, board.cells)
    failed = [row for row in rows if row["state"] == "failed"]
    if as_json:
        content = {"title": title, "output": str(board.work.root), "cells": rows, "expected_seconds": expected}
        print_json(content)
    else:
        console = Console()
        console.print(Text(title, style="bold"), table(rows, expected))
        console.print(Text(summary(rows, expected, workers)), soft_wrap=True)
        console.print(Text(f"in {board.work.root}"), soft_wrap=True)
        if old:
            console.print(Text(f"{len(old)} folders in cells/ are of earlier versions of this grid"), soft_wrap=True)
    for row in failed:
        typer.echo(f"uegr: failed: {row['title']}: {row['error']} (all of it: {row['folder']}/failure.json)", err=True)
    if not dry_run and any(row["state"] != "done" for row in rows):
        raise typer.Exit(1)
