"""Figures as tables in the terminal."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from rich.table import Table
from rich.text import Text

from uegr.console import Console
from uegr.report.classes import classes_of, hardest, majority
from uegr.report.figures import Entry, evaluated
from uegr.report.groups import grouped
from uegr.report.reading import Run
from uegr.report.verdict import Verdict, verdict
from uegr.result import Evaluation, Result
from uegr.statistics import Figure, finite
from uegr.statistics.classes import Classes, spelt
from uegr.terminal import echo

TAKEN_FOR = 3  # classes that a class is taken for
KINDS = {"calibration": ("ece", "ece_calibrated"), "anomaly": ("auroc",), "perturbation": ("accuracy",)}  # shown


def percent(figure: Figure | None) -> str:
    """A share with its 95% interval.

    >>> percent(Figure(0.8, 0.75, 0.84, 300)), percent(None)
    ('80.0 (75.0-84.0)', '-')
    """
    if figure is None or finite(figure.value) is None:
        return "-"
    value = f"{100 * figure.value:.1f}"
    return f"{value} ({100 * figure.low:.1f}-{100 * figure.high:.1f})" if figure.bounded else value


def main_figures(evaluation: Evaluation) -> Iterator[Entry]:
    """The figures that fit into a terminal, in the order of measuring."""
    for entry in evaluated(evaluation):
        kind, metric = entry.quantity.key.partition("/")[0], entry.quantity.metric
        own = kind in ("clean", "shift", "adversarial") and metric in evaluation.clean
        if own or metric in KINDS.get(kind, ()):
            yield entry


def comparison(runs: Mapping[str, Evaluation], title: str = "") -> Table:
    """Figures down, runs across; percent with 95% intervals."""
    table = Table(title=title or None, title_justify="left", box=None, header_style="bold", pad_edge=False)
    table.add_column("percent (95% interval)")
    for name in runs:
        table.add_column(Text(name), justify="right")
    table.add_column("rows", justify="right")
    columns = [{one.quantity.label: one.figure for one in main_figures(evaluation)} for evaluation in runs.values()]
    for label in dict.fromkeys(label for column in columns for label in column):
        rows = max(column[label].n for column in columns if label in column)
        table.add_row(Text(label), *(percent(column.get(label)) for column in columns), f"{rows:,}")
    return table


def verdict_table(found: Verdict) -> Table:
    """The methods, the best first: gains with 95% intervals in points, cost, and what is shown."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("method")
    for title in found.columns:
        table.add_column(Text(f"{title}, points"), justify="right")
    table.add_column("cost", justify="right")
    table.add_column("shown")
    for row in found.rows:
        gains = [gain.text if gain else "-" for gain in map(row.gain, found.columns)]
        words = ", ".join(part for part in (row.words, row.where(found.shared)) if part)
        table.add_row(Text(row.name), *gains, row.cost_text, Text(words))
    return table


def show_verdict(results: Mapping[str, Result]) -> None:
    """Print which method is better, at what cost, where the results can be compared."""
    found = verdict(grouped([Run(name, result) for name, result in results.items()]))
    if found is not None and found.rows:
        Console().print(verdict_table(found))
    if found is not None:
        Console().print(Text(found.text))


def show_figures(evaluations: Mapping[str, Evaluation]) -> None:
    """Print everything that was measured of one run, a table per task, and what was left out, with the reason."""
    for task, evaluation in evaluations.items():
        Console().print(comparison({task: evaluation}))
        if evaluation.classes is not None:
            show_classes((evaluation.split, evaluation.classes))
        for line in (*other_figures(evaluation), *left_out(evaluation)):
            echo(line)


def show_classes(found: tuple[str, Classes] | None) -> None:
    """Print precision, recall and F1 of each class, which of them are confused, and the majority baseline."""
    if found is None:
        return
    split, classes = found
    shown = hardest(classes)
    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column(Text(f"class, {split}"))
    for title in ("precision", "recall", "F1", "rows", "taken for"):
        table.add_column(title, justify="left" if title == "taken for" else "right")
    for name, one in shown:
        shares = (f"{100 * share:.1f}" for share in (one.precision, one.recall, one.f1))
        others = {other: count for other, count in classes.confusion.get(name, {}).items() if other != name}
        most = sorted(others.items(), key=lambda pair: -pair[1])[:TAKEN_FOR]
        taken = ", ".join(f"{spelt(other)} {n:,}" for other, n in most)
        table.add_row(Text(spelt(name)), *shares, f"{one.n:,}", Text(taken))
    Console().print(table)
    if len(shown) < len(classes.table):
        echo(f"the {len(shown)} classes with the lowest F1 of {len(classes.table)}")
    echo(majority(classes))


def other_figures(evaluation: Evaluation) -> Iterator[str]:
    """The figures that are not shares, one line each."""
    for entry in evaluated(evaluation):
        if not entry.quantity.share:
            unit = "rows" if entry.quantity.of_rows else "weights"
            yield f"{entry.quantity.label}: {entry.figure.value:.4g}  ({entry.figure.n:,} {unit})"
    if evaluation.drift is not None:
        layers = ", ".join(f"{layer.value:.3f}" for layer in evaluation.drift.cka)
        yield f"similarity to the pretrained model (CKA) by layer: {layers}"


def left_out(evaluation: Evaluation) -> Iterator[str]:
    """What was not measured, and why."""
    return (f"left out: {name}: {why}" for name, why in evaluation.left_out.items())


def show_scores(result: Result, folder: Path) -> None:
    """Print one line per task and split of a training's scores, and where the run is."""
    for name, task in result.tasks.items():
        for split, scores in task.scores.items():
            figures = "  ".join(f"{metric} {figure.value:.4f}" for metric, figure in scores.items())
            rows = max((figure.n for figure in scores.values()), default=0)
            echo(f"{name} {split:<12} {figures}  ({rows:,} rows)")
        show_classes(classes_of(task))
    echo(f"run in {folder}  ({result.training.seconds:.0f} s)")
