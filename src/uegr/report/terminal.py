"""Figures as tables in the terminal."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text


def percent(figure: dict[str, Any] | None) -> str:
    """A share with its 95% interval.

    >>> percent({"value": 0.8, "low": 0.75, "high": 0.84, "n": 300})
    '80.0 (75.0-84.0)'
    """
    if figure is None or figure["value"] is None:
        return "-"
    value = f"{100 * figure['value']:.1f}"
    if figure.get("low") is None or figure.get("high") is None:
        return value
    return f"{value} ({100 * figure['low']:.1f}-{100 * figure['high']:.1f})"


def rows_of(figures: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every figure of a run by a name that a person reads, in the order of measuring."""
    rows = [(f"{metric}, {figures['split']}", figure) for metric, figure in figures["clean"].items()]
    for attack, curve in figures.get("perturbation", {}).items():
        for point in curve["points"]:
            if point["epsilon"] > 0:
                rows.append((f"accuracy, {attack} within {point['epsilon']:g}", point | {"value": point["accuracy"]}))
    for kind in ("shift", "adversarial"):
        for name, scores in figures.get(kind, {}).items():
            rows += [(f"{metric}, {name}", scores[metric]) for metric in figures["clean"] if metric in scores]
    if "calibration" in figures:
        rows.append(("calibration error (ECE)", figures["calibration"]["ece"]))
    for name, scores in figures.get("anomaly", {}).items():
        rows.append((f"AUROC against {name}", scores["auroc"]))
    return rows


def comparison(runs: dict[str, dict[str, Any]], title: str = "") -> Table:
    """Figures down, runs across; percent with 95% intervals."""
    table = Table(title=title or None, title_justify="left", box=None, header_style="bold", pad_edge=False)
    table.add_column("percent (95% interval)")
    for name in runs:
        table.add_column(Text(name), justify="right")
    table.add_column("rows", justify="right")
    columns = [dict(rows_of(figures)) for figures in runs.values()]
    for name, figure in columns[0].items():
        table.add_row(name, *(percent(column.get(name)) for column in columns), f"{figure['n']:,}")
    return table


def show_figures(figures: dict[str, Any]) -> None:
    """One run."""
    Console().print(comparison({"this run": figures}))


def show_scores(result: dict[str, Any], folder: Path) -> None:
    """One line a split of a training's scores, and where the run is."""
    for split, scores in result["scores"].items():
        figures = "  ".join(f"{name} {value:.4f}" for name, value in scores.items() if name != "n")
        print(f"{split:<12} {figures}  ({scores['n']:,} rows)")
    print(f"run          {folder}  ({result['training']['seconds']:.0f} s)")
