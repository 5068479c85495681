"""The main job in small: vanilla and UEGR on movie-review snippets, both measured, on one page."""

import time
from pathlib import Path
from typing import Any

from rich.console import Console

from uegr.report.page import write_page
from uegr.report.terminal import comparison
from uegr.runs import folder as store
from uegr.runs.evaluate import measure
from uegr.runs.train import train
from uegr.training.config import RunConfig

METHODS = ("vanilla", "uegr")
ROWS, EPOCHS, MEASURED = 2000, 1, 500  # rows to train on, epochs, rows of each set that is measured


def demo_config(method: str) -> RunConfig:
    """The same settings for both methods."""
    return RunConfig(
        method={"name": method},
        dataset={"name": "snippets", "train_size": ROWS},
        training={"epochs": EPOCHS, "learning_rate": 1e-4},
    )


def run_demo(folder: Path, *, quiet: bool = False) -> Path:
    """Train what is missing, measure what is not measured, print the table, and return the page's path."""
    started = time.time()
    figures: dict[str, dict[str, Any]] = {}
    for method in METHODS:
        run = folder / method
        result = train(demo_config(method), run, resume=True, quiet=quiet)
        figures[method] = result.get("evaluation") or measure(run, datasets=[], rows=MEASURED, quiet=quiet)
    page = write_page(folder / "report.html", {name: store.read_result(folder / name) for name in METHODS})
    console = Console()
    console.print(comparison(figures))
    console.print(
        f"{time.time() - started:.0f} s; runs in {folder}, one seed each: see the intervals before concluding"
    )
    console.print(f"page: {page.resolve()}", soft_wrap=True)
    return page
