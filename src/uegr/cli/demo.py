"""`uegr demo`: vanilla and what the study recommends, three seeds each, compared on a page with the verdict."""

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from uegr.cli.options import Quiet

GRID = Path("quick")  # benchmarks/quick.yaml
WORKERS = 2  # cells at the same time, where there are as many cores


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the runs and the page.")] = Path(
        "runs/demo"
    ),
    quiet: Quiet = False,
) -> None:
    """Compare vanilla with freelb, as the study recommends, on movie-review snippets over three seeds; write a page."""
    from uegr.benchmark.run import planned, run_missing
    from uegr.console import Console
    from uegr.report.build import Report
    from uegr.report.terminal import show_verdict
    from uegr.runs import folder

    started, console = time.time(), Console()
    plan = planned(GRID, output=output, command="uegr demo")
    run_missing(plan, workers=min(WORKERS, os.cpu_count() or 1), quiet=quiet)
    rows = plan.board.refresh()
    if failed := [row for row in rows if row["state"] != "done"]:
        console.print(f"failed: {failed[0]['title']}: {failed[0]['error']}", soft_wrap=True, markup=False)
        raise typer.Exit(1)
    page = output / "report.html"
    Report([output], page, title="The demo").build()
    console.print(f"{time.time() - started:.0f} s; the runs are in {output}", soft_wrap=True, markup=False)
    console.print(f"page: {page.resolve()}", soft_wrap=True, markup=False)
    show_verdict({row["title"]: folder.read(Path(row["folder"])) for row in rows})
