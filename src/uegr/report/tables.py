"""Settings as tables: the leaderboard, one line a method over all data, and every figure."""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from uegr.report.columns import titles
from uegr.report.figures import Figure
from uegr.report.groups import BASELINE, Block, Group
from uegr.report.statistics import Cell

MARKS = {("better", "seeds"): "▲", ("worse", "seeds"): "▼", ("better", "rows"): "△", ("worse", "rows"): "▽"}


def shown(value: float | None, figure: Figure, sign: bool = False) -> str:
    """A figure's value as text, shares in percent; `sign` for differences.

    >>> shown(0.8125, Figure("", "", "accuracy", 0.8125)), shown(-0.02, Figure("", "", "brier", 0.1), sign=True)
    ('81.2', '−0.020')
    """
    if value is None:
        return "-"
    scaled, places = (100 * value, 1) if figure.share else (value, 3 if abs(figure.value) < 10 else 1)
    rounded = round(scaled, places) + 0.0  # no -0.0
    return f"{rounded:{'+' if sign and rounded else ''},.{places}f}".replace("-", "−")


def view(cell: Cell | None) -> dict[str, Any]:
    """What the page shows of a cell: the mean, its spread or interval, the mark, and the explanation."""
    if cell is None:
        return {"text": "", "spread": "", "mark": "", "kind": "", "title": "", "value": None}
    low, high = cell.interval
    spread = f"± {shown(cell.deviation, cell.figure)}" if cell.deviation is not None else ""
    if not spread and low is not None and high is not None:
        spread = f"{shown(low, cell.figure)}–{shown(high, cell.figure)}"
    return {
        "text": shown(cell.mean, cell.figure),
        "spread": spread,
        "mark": MARKS.get((cell.mark, cell.test), ""),
        "kind": cell.mark,
        "title": explained(cell),
        "value": cell.mean,
    }


def explained(cell: Cell) -> str:
    """The comparison in words."""
    parts = [cell.figure.label, f"{len(cell.values)} seed{'s' * (len(cell.values) > 1)}"]
    if cell.figure.n:
        parts.append(f"{cell.figure.n:,} rows")
    if cell.difference is not None:
        unit = " points" if cell.figure.share else ""
        parts.append(f"{shown(cell.difference, cell.figure, sign=True)}{unit} to {BASELINE}")
    if cell.adjusted is not None:
        parts.append(f"p {probability(cell.p)}, adjusted {probability(cell.adjusted)}")
    elif cell.test == "rows":
        parts.append("intervals apart" if cell.mark else "intervals overlap")
    return "; ".join(parts)


def probability(p: float | None) -> str:
    """A p value.

    >>> probability(0.01234), probability(1e-9)
    ('0.012', '< 0.001')
    """
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def leaderboard(groups: Sequence[Group]) -> dict[str, Any]:
    """A row a setting."""
    columns = titles(key for group in groups for key in group.columns)
    return {
        "columns": columns,
        "rows": [board_row(group, [column.key for column in columns]) for group in groups],
        "datasets": distinct(group.dataset for group in groups),
        "models": distinct(group.model for group in groups),
        "methods": distinct(group.method for group in groups),
        "settings": any(group.settings for group in groups),
    }


def distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def board_row(group: Group, keys: Sequence[str]) -> dict[str, Any]:
    seconds = [run.result.get("training", {}).get("seconds") for run in group.runs]
    known = [value for value in seconds if isinstance(value, int | float)]
    own = group.columns.get("own")
    return {
        "group": group,
        "metric": own.figure.label if own else "",
        "cells": [view(group.columns.get(key)) for key in keys],
        "seconds": fmean(known) if known else None,
    }


def glance(groups: Sequence[Group]) -> dict[str, Any] | None:
    """A line a method: over all data sets and models, how far from vanilla, how often shown better, how often worse."""
    compared = [group for group in groups if group.baseline]
    columns = [c for c in titles(k for g in compared for k in g.columns) if c.key != "improvement"]
    rows = [
        {"method": method, "cells": [tally([g for g in compared if g.method == method], c.key) for c in columns]}
        for method in distinct(group.method for group in compared)
    ]
    return {"columns": columns, "rows": rows} if len(compared) > 1 else None


def tally(groups: Sequence[Group], key: str) -> dict[str, Any] | None:
    cells = [group.columns[key] for group in groups if key in group.columns]
    differences = [cell.difference for cell in cells if cell.difference is not None]
    if not differences:
        return None
    marks = [cell.mark for cell in cells]
    return {
        "difference": shown(fmean(differences), cells[0].figure, sign=True),
        "better": marks.count("better"),
        "worse": marks.count("worse"),
        "of": len(differences),
    }


def every_figure(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """For each data set and model: figures down, settings across."""
    blocks: dict[Block, list[Group]] = {}
    for group in groups:
        blocks.setdefault(group.block, []).append(group)
    return [block_table(block, some) for block, some in blocks.items()]


def block_table(block: Block, groups: Sequence[Group]) -> dict[str, Any]:
    figures = {key: cell.figure for group in groups for key, cell in group.cells.items()}
    rows = [
        {"label": figure.label, "n": figure.n, "cells": [view(group.cells.get(key)) for group in groups]}
        for key, figure in figures.items()
    ]
    return {"dataset": block[0], "model": block[1], "groups": groups, "rows": rows}


def evidence(groups: Sequence[Group]) -> set[str]:
    """Which tests were made: over seeds, over rows, or none."""
    return {cell.test for group in groups for cell in group.columns.values() if cell.test}
