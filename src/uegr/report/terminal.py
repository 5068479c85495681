"""Figures as tables in the terminal."""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from uegr.result import Evaluation, Result
from uegr.statistics import Figure


def percent(figure: Figure | None) -> str:
    """A share with its 95% interval.

    >>> percent(Figure(0.8, 0.75, 0.84, 300))
    '80.0 (75.0-84.0)'
    """
    if figure is None or not math.isfinite(figure.value):
        return "-"
    value, low, high = (f"{100 * end:.1f}" for end in (figure.value, figure.low, figure.high))
    return f"{value} ({low}-{high})" if math.isfinite(figure.low) and math.isfinite(figure.high) else value


def rows_of(found: Evaluation) -> Iterator[tuple[str, Figure]]:
    """Every figure of a task by a name that a person reads, in the order of measuring."""
    yield from ((f"{metric}, {found.split}", figure) for metric, figure in found.clean.items())
    for attack, curve in found.perturbation.items():
        for point in curve.points:
            if point.epsilon > 0:
                yield f"accuracy, {attack} within {point.epsilon:g}", point.accuracy
    for sets in (found.shift, found.adversarial):
        for name, scores in sets.items():
            yield from ((f"{metric}, {name}", scores[metric]) for metric in found.clean if metric in scores)
    if found.calibration is not None:
        yield "calibration error (ECE)", found.calibration.ece
    for name, scores in found.anomaly.items():
        yield f"AUROC against {name}", scores["auroc"]


def comparison(runs: Mapping[str, Evaluation], title: str = "") -> Table:
    """Figures down, runs across; percent with 95% intervals."""
    table = Table(title=title or None, title_justify="left", box=None, header_style="bold", pad_edge=False)
    table.add_column("percent (95% interval)")
    for name in runs:
        table.add_column(Text(name), justify="right")
    table.add_column("rows", justify="right")
    columns = [dict(rows_of(found)) for found in runs.values()]
    for name, figure in columns[0].items():
        table.add_row(Text(name), *(percent(column.get(name)) for column in columns), f"{figure.n:,}")
    return table


def show_figures(tasks: Mapping[str, Evaluation]) -> None:
    """Print the figures of one run, a table per task."""
    for task, found in tasks.items():
        Console().print(comparison({task: found}))


def show_scores(result: Result, folder: Path) -> None:
    """Print one line per task and split of a training's scores, and where the run is."""
    for task, one in result.tasks.items():
        for split, scores in one.scores.items():
            figures = "  ".join(f"{name} {figure.value:.4f}" for name, figure in scores.items())
            rows = max((figure.n for figure in scores.values()), default=0)
            print(f"{task} {split:<12} {figures}  ({rows:,} rows)")
    print(f"run in {folder}  ({result.training.seconds:.0f} s)")
