"""Settings as tables: the leaderboard, one line per method over all data, and every figure."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from uegr.report.cells import Cell
from uegr.report.columns import Column, titles
from uegr.report.cost import Cost, cost_of
from uegr.report.groups import Group, by_block, heading, robustness

OTHERWISE = "≠"  # measured in another way than the baseline
MARKS = {"better": "▲", "worse": "▼", "": ""}


def shown(value: float | None, cell: Cell, sign: bool = False) -> str:
    """A value of a cell's kind as text, shares in percent; `sign` for differences.

    >>> from uegr.report.figures import Quantity, bare
    >>> accuracy, brier = (Cell(Quantity("", "", name), {0: bare(0.8, 10)}) for name in ("accuracy", "brier"))
    >>> shown(0.8125, accuracy), shown(-0.02, brier, sign=True)
    ('81.2', '−0.020')
    """
    if value is None or math.isnan(value):
        return "-"
    scaled, places = (100 * value, 1) if cell.quantity.share else (value, 3 if abs(cell.mean) < 10 else 1)
    rounded = round(scaled, places) + 0.0  # no -0.0
    return f"{rounded:{'+' if sign and rounded else ''},.{places}f}".replace("-", "−")


@dataclass(frozen=True)
class View:
    """What the page shows of a cell: the mean, its spread or interval, the mark, and the explanation."""

    text: str = ""
    spread: str = ""
    mark: str = ""
    kind: str = ""
    title: str = ""
    value: float | None = None


def view(cell: Cell | None) -> View:
    """A cell as texts; empty where there is none."""
    if cell is None:
        return View()
    mark, kind = (OTHERWISE, "not compared") if cell.otherwise else (MARKS[cell.mark], cell.mark)
    return View(shown(cell.mean, cell), spread(cell), mark, kind, explained(cell), cell.mean)


def column_view(cell: Cell | None) -> View:
    """A column's cell as texts: a share of the gap that is closed has its interval, where it is shown to be one."""
    if cell is None or cell.quantity.metric != "improvement":
        return view(cell)
    if not cell.mark:
        return View("not shown", title=f"{explained(cell)}; {shown(cell.mean, cell, sign=True)}, which shows nothing")
    interval = between(cell)
    return replace(view(cell), spread=interval)


def spread(cell: Cell) -> str:
    """The deviation over seeds, or the interval of a single one."""
    if cell.deviation is not None:
        return f"± {shown(cell.deviation, cell)}"
    return between(cell) if cell.figure.bounded else ""


def between(cell: Cell) -> str:
    """The ends of the interval; in words where one is below 0, since two dashes in a row cannot be read."""
    dash = " to " if cell.figure.low < 0 else "–"
    return f"{shown(cell.figure.low, cell)}{dash}{shown(cell.figure.high, cell)}"


def gain(cell: Cell) -> str:
    """The difference to the baseline with its 95% interval; empty where there is none."""
    if cell.difference is None:
        return ""
    found = cell.difference
    value, low, high = (shown(end, cell, sign=True) for end in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})" if found.bounded else value


def explained(cell: Cell) -> str:
    """The comparison in words."""
    parts = [cell.quantity.label, f"{len(cell.figures)} seed{'s' * (len(cell.figures) > 1)}"]
    if cell.rows:
        parts.append(f"{cell.rows:,} rows")
    if cell.difference is not None:
        unit = " points" if cell.quantity.share else ""
        parts.append(f"{gain(cell)}{unit} to {cell.against}")
    if cell.otherwise:
        parts.append(f"not compared: measured with {cell.otherwise}")
    if cell.adjusted is not None:
        parts.append(f"p {probability(cell.p)}, adjusted {probability(cell.adjusted)}")
    return "; ".join(parts)


def probability(p: float | None) -> str:
    """A p value.

    >>> probability(0.01234), probability(1e-9)
    ('0.012', '< 0.001')
    """
    return "-" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


@dataclass(frozen=True)
class BoardRow:
    """One setting of the leaderboard."""

    group: Group
    metric: str
    cells: list[View]
    cost: Cost


@dataclass(frozen=True)
class Board:
    """The leaderboard, and what its filters offer."""

    columns: list[Column]
    rows: list[BoardRow]
    datasets: list[str]
    models: list[str]
    methods: list[str]
    baselines: list[str]  # those that have settings of their own
    chosen: set[str]  # the columns that are shown at first
    rows_of: dict[str, str]  # how many rows the figures of a column rest on


def leaderboard(groups: Sequence[Group]) -> Board:
    """A row per setting."""
    columns = titles(key for group in groups for key in group.columns)
    return Board(
        columns,
        [board_row(group, [column.key for column in columns]) for group in groups],
        distinct(group.dataset for group in groups),
        distinct(group.model for group in groups),
        distinct(group.method for group in groups),
        distinct(group.baseline.label for group in groups if group.baseline and group.baseline.settings),
        {"own", "improvement", robustness(groups) or ""},
        {column.key: rows_text(groups, column.key) for column in columns},
    )


def rows_text(groups: Sequence[Group], key: str) -> str:
    """The fewest and the most rows that the figures of a column rest on."""
    counts = [cell.rows for group in groups if (cell := group.columns.get(key)) and cell.rows]
    return f"{span(counts)} rows" if counts else ""


def span(counts: Sequence[int]) -> str:
    """The least and the most.

    >>> span([1000, 200]), span([3, 3])
    ('200 to 1,000', '3')
    """
    return " to ".join(f"{count:,}" for count in sorted({min(counts), max(counts)}))


def distinct(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


def board_row(group: Group, keys: Sequence[str]) -> BoardRow:
    own = group.columns.get("own")
    cells = [column_view(group.columns.get(key)) for key in keys]
    return BoardRow(group, own.quantity.label if own else "", cells, cost_of(group))


@dataclass(frozen=True)
class Tally:
    """Over data sets, models and settings: the mean difference, and how often a difference is shown."""

    difference: str
    better: int
    worse: int
    of: int


@dataclass(frozen=True)
class GlanceRow:
    """A method against the baseline."""

    method: str
    cells: list[Tally | None]


@dataclass(frozen=True)
class Glance:
    """One line per method."""

    columns: list[Column]
    rows: list[GlanceRow]
    chosen: tuple[str, ...]  # the columns that are shown at first


def glance(groups: Sequence[Group]) -> Glance | None:
    """Per method, over all data sets and models: how far from vanilla, how often shown better, how often worse."""
    compared = [group for group in groups if group.baseline]
    columns = [c for c in titles(k for g in compared for k in g.columns) if c.key != "improvement"]
    rows = [
        GlanceRow(method, [tally([g for g in compared if g.method == method], c.key) for c in columns])
        for method in distinct(group.method for group in compared)
    ]
    chosen = ("own", robustness(groups) or "", "shift", "ece")
    return Glance(columns, rows, chosen) if len(compared) > 1 else None


def tally(groups: Sequence[Group], key: str) -> Tally | None:
    cells = [group.columns[key] for group in groups if key in group.columns]
    differences = [cell.difference.value for cell in cells if cell.difference is not None]
    if not differences:
        return None
    marks = [cell.mark for cell in cells]
    difference = shown(fmean(differences), cells[0], sign=True)
    return Tally(difference, marks.count("better"), marks.count("worse"), len(differences))


@dataclass(frozen=True)
class FigureRow:
    """One figure of all settings."""

    label: str
    rows: int
    cells: list[View]


@dataclass(frozen=True)
class FigureTable:
    """Figures down, settings across."""

    title: str
    groups: Sequence[Group]
    rows: list[FigureRow]


def every_figure(groups: Sequence[Group]) -> list[FigureTable]:
    """A table for each data set and model."""
    return [block_table(heading(block), some) for block, some in by_block(groups).items()]


def block_table(title: str, groups: Sequence[Group]) -> FigureTable:
    first = {key: cell for group in groups for key, cell in group.cells.items()}
    rows = [
        FigureRow(cell.quantity.label, cell.rows, [view(group.cells.get(key)) for group in groups])
        for key, cell in first.items()
    ]
    return FigureTable(title, groups, rows)


def tested(groups: Sequence[Group]) -> bool:
    """Whether anything was compared over seeds."""
    return any(cell.p is not None for group in groups for cell in group.columns.values())
