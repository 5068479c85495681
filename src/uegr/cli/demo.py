"""`uegr demo`: train vanilla and UEGR on movie-review snippets, measure both, and write a page."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from uegr.cli.options import Quiet

if TYPE_CHECKING:
    from uegr.result import Evaluation
    from uegr.training.config import RunConfig

METHODS, DATA = ("vanilla", "uegr"), "snippets"
ROWS, EPOCHS, MEASURED = 2000, 1, 500  # rows to train on, epochs, rows per data set that is measured


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the runs and the page.")] = Path(
        "runs/demo"
    ),
    quiet: Quiet = False,
) -> None:
    """Train vanilla and UEGR on movie-review snippets, measure both, and write a page."""
    from uegr.console import Console
    from uegr.report.page import write_page
    from uegr.report.terminal import comparison, show_verdict
    from uegr.runs import folder as folders

    started, console = time.time(), Console()
    figures = {method: measured(method, output / method, quiet) for method in METHODS}
    results = {name: folders.read(output / name) for name in METHODS}
    page = write_page(output / "report.html", results)
    console.print(comparison(figures))
    seconds = f"{time.time() - started:.0f} s"
    console.print(f"{seconds}; the runs are in {output}")
    console.print(f"page: {page.resolve()}", soft_wrap=True)
    show_verdict(results)


def measured(method: str, place: Path, quiet: bool) -> "Evaluation":
    """Train and measure what is missing; the figures."""
    from uegr.runs import folder
    from uegr.runs.evaluate import evaluate_run
    from uegr.runs.train import train

    train(demo_config(method), place, resume=True, quiet=quiet)
    return folder.read(place).tasks[DATA].evaluation or evaluate_run(place, rows=MEASURED, quiet=quiet)[DATA]


def demo_config(method: str) -> "RunConfig":
    """The same settings for both methods."""
    from uegr.training.config import RunConfig

    return RunConfig.model_validate(
        {
            "method": {"name": method},
            "dataset": {"name": DATA, "train_size": ROWS},
            "training": {"epochs": EPOCHS, "learning_rate": 1e-4},
        }
    )
