"""What was measured beside what the paper printed, and the difference in plain words.

A printed figure names method, model, data set and metric; any further key is a setting, such as `submodels: 3`. The
metric is a metric of the own data (`accuracy`, `matthews`), a column of the leaderboard (`shift`, `pgd`, `ece`,
`improvement`), a word attack (`pwws`: the accuracy under it), or the path of a figure (`clean/validation/accuracy`,
`shift/snippets_tweets/accuracy`). Figures above 1 are percent, as papers print them. A figure with `of` is an average
of others, or a difference: it is measured as the same sum of theirs, seed by seed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from uegr.report.cells import Cell
from uegr.report.figures import Quantity, bare, number
from uegr.report.groups import Group, base_name
from uegr.report.reading import Grid
from uegr.report.settings import short, spoken
from uegr.report.tables import between, shown

AXES = ("dataset", "model", "method")
NAMES = (*AXES, "metric", "value")
OTHER_NAMES = {"relative_improvement": "improvement"}  # table III's number
REMARKS = ("note", "source", "sd", "unit", "n", "page", "table", "of", "weight")
Kind = Literal["agrees", "differs", "unknown", "missing"]


@dataclass(frozen=True)
class Printed:
    """One figure of a paper."""

    names: Mapping[str, str]  # of data set, model and method
    metric: str
    value: float  # shares from 0 to 1
    percent: bool
    deviation: float | None  # as printed
    note: str
    settings: Mapping[str, Any]
    parts: tuple[tuple[float, "Printed"], ...] = ()  # the figures that it is the weighted sum of

    @property
    def discrepancy(self) -> str:
        """How the paper's own figures contradict it; empty where they do not."""
        scale = 100 if self.percent else 1
        total = scale * sum(weight * part.value for weight, part in self.parts)
        digits = max((decimals(scale * part.value) for _, part in self.parts), default=0)
        if not self.parts or abs(total - scale * self.value) <= 10**-digits:  # a sum of rounded figures, rounded
            return ""
        return f"the paper prints {scale * self.value:.{digits}f}, its own figures give {total:.{digits}f}"

    @property
    def settings_text(self) -> str:
        return ", ".join(f"{short(key)} {spoken(value)}" for key, value in self.settings.items())

    def text(self, cell: Cell | None) -> str:
        """As ours is shown, or as the paper has it."""
        spread = "" if self.deviation is None else f" ± {self.deviation:g}"
        bare = f"{100 * self.value:.1f}" if self.percent else f"{self.value:g}"
        return (bare if cell is None else shown(self.value, cell)) + spread


def decimals(value: float) -> int:
    """How many digits behind the point a printed number has, at most four.

    >>> decimals(90.0), decimals(90.5), decimals(90.54)
    (0, 1, 2)
    """
    return next((places for places in range(4) if abs(round(value, places) - value) < 1e-9), 4)


@dataclass(frozen=True)
class Row:
    """A printed figure and what answers it."""

    printed: Printed
    cell: Cell | None
    answer: str
    kind: Kind
    remark: str

    @property
    def names(self) -> list[str]:
        return [self.printed.names[axis] for axis in AXES]

    @property
    def gap(self) -> float | None:
        """Measured minus printed."""
        return None if self.cell is None else self.cell.mean - self.printed.value

    @property
    def difference(self) -> str:
        return "" if self.cell is None else shown(self.gap, self.cell, sign=True)


@dataclass(frozen=True)
class Comparison:
    """The printed figures of one grid."""

    grid: Grid
    rows: list[Row]
    verdict: str

    @property
    def sifted(self) -> bool:
        """Whether those that were not measured are shown on request only: a table of them alone stays."""
        return len({row.kind == "missing" for row in self.rows}) > 1


def comparisons(grids: Iterable[Grid], groups: Sequence[Group]) -> list[Comparison]:
    """A table per grid that has printed figures."""
    tables = []
    for grid in grids:
        folders = [(group, {own.folder for run in group.runs for own in run.run.grids}) for group in groups]
        rows = [row(one, [group for group, own in folders if grid.folder in own]) for one in printed_figures(grid)]
        if rows:
            tables.append(Comparison(grid, rows, verdict(rows)))
    return tables


def printed_figures(grid: Grid) -> list[Printed]:
    """The entries of a grid that are figures; a metric is in percent where one of its figures is above 1."""
    usable = [e for e in grid.printed if number(e.get("value")) is not None and all(key in e for key in NAMES)]
    percent = {str(entry["metric"]) for entry in usable if abs(float(entry["value"])) > 1}
    return [printed_figure(entry, str(entry["metric"]) in percent) for entry in usable]


def printed_figure(entry: Mapping[str, Any], percent: bool) -> Printed:
    return Printed(
        names={axis: str(entry[axis]) for axis in AXES},
        metric=str(entry["metric"]),
        value=float(entry["value"]) / (100 if percent else 1),
        percent=percent,
        deviation=number(entry.get("sd")),
        note=str(entry.get("note") or ""),
        settings={key: value for key, value in entry.items() if key not in NAMES and key not in REMARKS},
        parts=tuple((float(part["weight"]), printed_figure(part, percent)) for part in entry.get("of") or ()),
    )


def row(printed: Printed, groups: Sequence[Group]) -> Row:
    """One printed figure and what answers it."""
    if printed.parts:
        return derived_row(printed, groups)
    group, remark = answering(printed, groups)
    cell = None if group is None else measured(group, printed.metric)
    answer, kind = judged(cell, printed.value)
    texts = (remark, start(group, cell), printed.note)
    return Row(printed, cell, answer, kind, "; ".join(text for text in texts if text))


def derived_row(printed: Printed, groups: Sequence[Group]) -> Row:
    """An average or a difference, measured as the same sum of what answers its parts."""
    rows = [row(part, groups) for _, part in printed.parts]
    cells = [one.cell for one in rows if one.cell is not None]
    cell = weighted([weight for weight, _ in printed.parts], cells) if len(cells) == len(rows) else None
    answer, kind = judged(cell, printed.value)
    remarks = dict.fromkeys([printed.discrepancy, *(one.remark for one in rows), printed.note])
    return Row(printed, cell, answer, kind, "; ".join(text for text in remarks if text))


def weighted(weights: Sequence[float], cells: Sequence[Cell]) -> Cell | None:
    """The weighted sum of some figures in each seed that all have; None where there is no such seed."""
    seeds = sorted(set.intersection(*(set(cell.figures) for cell in cells)))
    sums = {
        seed: sum(weight * cell.figures[seed].value for weight, cell in zip(weights, cells, strict=True))
        for seed in seeds
    }
    rows = min(cell.rows for cell in cells)
    quantity = Quantity("sum", "weighted sum of figures", cells[0].quantity.metric)
    return Cell(quantity, {seed: bare(value, rows) for seed, value in sums.items()}) if sums else None


def start(group: Group | None, cell: Cell | None) -> str:
    """What a relative improvement starts from."""
    if group is None or group.base is None or cell is None or cell.quantity.metric != "improvement":
        return ""
    return f"over {base_name(group, group.base)}"


def answering(printed: Printed, groups: Sequence[Group]) -> tuple[Group | None, str]:
    """The setting that a printed figure is about, and a remark where it stands for something else of the paper."""
    fitting = [group for group in groups if has(group, printed.settings)]
    exact = [group for group in fitting if all(is_called(group, axis, printed) for axis in printed.names)]
    return (exact[0], in_place(exact[0], printed)) if exact else (None, "")


def own_names(group: Group) -> dict[str, str]:
    return {"dataset": group.dataset, "model": group.model, "method": group.method}


def is_called(group: Group, axis: str, printed: Printed) -> bool:
    """By its own name, or by that of the paper's entry that it stands for in a smaller grid."""
    cell = group.runs[0].run.result.cell
    known = {own_names(group)[axis]}
    if cell is not None:
        known |= {str(getattr(cell, axis)), cell.stands_for.get(axis, "")}
    return printed.names[axis] in known


def in_place(group: Group, printed: Printed) -> str:
    """What stands for something else of the paper."""
    cell = group.runs[0].run.result.cell
    stands_for = cell.stands_for if cell is not None else {}
    found = [
        f"{own} in place of {printed.names[axis]}"
        for axis, own in own_names(group).items()
        if stands_for.get(axis) == printed.names[axis] != own
    ]
    return f"measured with {' and '.join(found)}" if found else ""


def has(group: Group, settings: Mapping[str, Any]) -> bool:
    """Whether the setting has these values, by the whole path or its last word."""
    known = group.runs[0].run.settings
    return all(
        any(key in (path, path.rpartition(".")[2]) and equal(have, value) for path, have in known.items())
        for key, value in settings.items()
    )


def equal(have: Any, want: Any) -> bool:
    """Equal; a number and a list of it alone are too."""
    if isinstance(have, list | tuple) and not isinstance(want, list):
        return bool(have) and all(item == want for item in have)
    return bool(have == want)


def measured(group: Group, metric: str) -> Cell | None:
    """The figure that a metric's name means."""
    metric = OTHER_NAMES.get(metric, metric)
    own = group.columns.get("own")
    split = own.quantity.label.partition(", ")[2] if own else ""
    for key in (f"clean/{split}/{metric}", metric):
        if key in group.cells:
            return group.cells[key]
    return group.columns.get(metric) or group.columns.get(f"attack {metric}")


def judged(cell: Cell | None, value: float) -> tuple[str, Kind]:
    """How far the printed figure is from ours, and whether our interval includes it."""
    if cell is None:
        return "not measured", "missing"
    seeds, ours = len(cell.figures), cell.figure
    basis = f"95% interval over {seeds} seeds" if seeds > 1 else "95% interval of one seed"
    if not ours.bounded:
        return f"no {basis}: cannot decide", "unknown"
    if ours.low <= value <= ours.high:
        return f"not told apart: within our {basis}, {between(cell)}", "agrees"
    side = "below" if ours.value < value else "above"
    return f"differs: ours is {side} it, outside our {basis}", "differs"


def verdict(rows: Sequence[Row]) -> str:
    """One sentence over a whole table."""
    counts = {kind: sum(row.kind == kind for row in rows) for kind in ("agrees", "differs", "unknown", "missing")}
    parts = [f"Of {len(rows)} printed figures, within our 95% interval: {counts['agrees']}"]
    parts += [f"outside it: {counts['differs']}"]
    parts += [f"undecided: {counts['unknown']}"] * bool(counts["unknown"])
    parts += [f"not measured: {counts['missing']}"] * bool(counts["missing"])
    others = sum("in place of" in row.remark for row in rows)
    note = "with another model or data set than the paper's, so that agreement means little"
    return "; ".join(parts + [f"{note}: {others}"] * bool(others)) + "."
