"""`uegr benchmark`: run what is missing of a grid."""

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uegr.cli.completion import grids
from uegr.cli.groups import Group, with_groups
from uegr.cli.options import AllowCode, Json, Quiet
from uegr.cli.printing import print_json
from uegr.errors import InputError
from uegr.terminal import echo, one_line

if TYPE_CHECKING:
    from uegr.benchmark.run import Benchmark


class Backend(StrEnum):
    local = "local"
    ray = "ray"


def machine_options(
    backend: Annotated[Backend, typer.Option(help="This machine, or a Ray cluster.")] = Backend.local,
    workers: Annotated[
        int,
        typer.Option(
            help="Cells to run at the same time on this machine, each in a process of its own; 0 runs them in this "
            "process, for a debugger.",
            min=0,
        ),
    ] = 1,
    address: Annotated[
        str | None, typer.Option(help="The address of the Ray cluster; auto finds one on this machine.")
    ] = None,
    cpus: Annotated[float, typer.Option(help="Processors per cell, for Ray.", min=0)] = 1,
    gpus: Annotated[float, typer.Option(help="GPUs per cell, for Ray; 0.5 puts two cells on one GPU.", min=0)] = 0,
) -> dict[str, Any]:
    """Where the cells run, as `run_missing` takes it."""
    if address is not None and backend is not Backend.ray:
        raise InputError("--address is for --backend ray; leave it out, or use both")
    cluster = {"address": address, "cpus": cpus, "gpus": gpus}
    return {"backend": backend.value, "workers": workers, "cluster": cluster}


@with_groups(machine=Group("Machine", machine_options))
def benchmark(
    file: Annotated[
        Path, typer.Argument(help="A file, or a grid of `uegr list grids`, such as quick.", autocompletion=grids)
    ],
    machine: dict[str, Any],
    scale: Annotated[
        str | None, typer.Option(help="smoke, laptop or full; default: laptop, if the grid has it.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The folder; default: runs/FILE-SCALE.")] = None,
    only: Annotated[
        str | None,
        typer.Option(help="Only cells whose name contains this, or matches a pattern such as *uegr*; default: all."),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(
            help="A folder of committed results: take the cells in it as done, and add each cell that finishes, "
            "as a small file of numbers."
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the cells and run nothing.")] = False,
    allow_code: AllowCode = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run a grid of methods, models, data sets and seeds: skip what is done, retry what failed."""
    from uegr.benchmark.run import planned, run_missing

    command = shlex.join(["uegr", *sys.argv[1:]])
    chosen: dict[str, Any] = {"scale": scale, "output": output, "only": only, "ledger": ledger}
    plan = planned(file, **chosen, allow_code=allow_code, command=command)
    if not dry_run:
        run_missing(plan, quiet=quiet, **machine)
    rows = plan.board.refresh()
    print_state(plan, rows, machine["workers"], as_json)
    for row in rows:
        if row["state"] == "failed":
            where = f"{row['folder']}/failure.json"
            echo(one_line(f"uegr: failed: {row['title']}: {row['error']} (details: {where})"), error=True)
    if not dry_run and any(row["state"] != "done" for row in rows):
        raise typer.Exit(1)


def print_state(plan: "Benchmark", rows: list[dict[str, Any]], workers: int, as_json: bool) -> None:
    """The cells and their states on standard output, as a table or JSON."""
    from rich.text import Text

    from uegr.benchmark.estimates import estimates, in_all
    from uegr.benchmark.live import summary, table
    from uegr.console import Console

    title, expected = plan.grid.title, estimates(rows, plan.board.cells)
    if as_json:
        print_json({"title": title, "output": str(plan.root), "cells": rows, "expected_seconds": expected})
        return
    console = Console()
    console.print(Text(title, style="bold"), table(rows, expected))
    console.print(Text(summary(rows, expected, workers, in_all(rows, plan.board.cells))), soft_wrap=True)
    console.print(Text(f"in {plan.root}"), soft_wrap=True)
    if old := plan.stale():
        console.print(Text(f"{len(old)} of the folders in cells/ are of earlier versions of this grid"), soft_wrap=True)
