"""What was measured beside what the paper printed, and the difference said plainly.

A printed figure names method, model, data set and metric; any further key is a setting, such as `submodels: 3`. The
metric is a metric of the own data (`accuracy`, `matthews`), a column of the leaderboard (`shift`, `pgd`, `ece`,
`improvement`), a word attack (`pwws`: the accuracy under it), or the path of a figure (`clean/validation/accuracy`,
`shift/snippets_tweets/accuracy`). Figures above 1 are percent, as papers print them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from uegr.report.figures import number
from uegr.report.groups import Group, leaves, short, spoken
from uegr.report.reading import Grid
from uegr.report.statistics import Cell
from uegr.report.tables import shown

NAMES = ("method", "model", "dataset", "metric", "value")
OTHER_NAMES = {"relative_improvement": "improvement"}  # table III's number
REMARKS = ("note", "source", "sd", "unit", "n", "page", "table")


def comparisons(grids: Iterable[Grid], groups: Sequence[Group]) -> list[dict[str, Any]]:
    """A table a grid that has printed figures."""
    tables = []
    for grid in grids:
        own = [group for group in groups if any(grid.folder == g.folder for run in group.runs for g in run.grids)]
        percent = percent_metrics(grid)
        rows = [row(entry, own, str(entry.get("metric")) in percent) for entry in grid.printed if usable(entry)]
        if rows:
            tables.append({"grid": grid, "rows": rows, "verdict": verdict(rows)})
    return tables


def usable(entry: Mapping[str, Any]) -> bool:
    return number(entry.get("value")) is not None and all(key in entry for key in NAMES)


def percent_metrics(grid: Grid) -> set[str]:
    """Metrics whose printed figures are percent: one of them is above 1."""
    return {str(e["metric"]) for e in grid.printed if usable(e) and abs(float(e["value"])) > 1}


def row(entry: Mapping[str, Any], groups: Sequence[Group], percent: bool) -> dict[str, Any]:
    """One printed figure and what answers it."""
    settings = {key: value for key, value in entry.items() if key not in NAMES and key not in REMARKS}
    group, remark = answering(entry, settings, groups)
    cell = None if group is None else measured(group, str(entry["metric"]))
    value = float(entry["value"]) / (100 if percent else 1)
    common = {
        "names": [str(entry[key]) for key in ("dataset", "model", "method")],
        "settings": ", ".join(f"{short(key)} {spoken(v)}" for key, v in settings.items()),
        "metric": str(entry["metric"]),
        "remark": "; ".join(text for text in (remark, str(entry.get("note") or "")) if text),
    }
    deviation = number(entry.get("sd"))
    spread = "" if deviation is None else f" ± {deviation:g}"
    if cell is None:
        text = (f"{100 * value:.1f}" if percent else f"{value:g}") + spread
        nothing = {"cell": None, "difference": "", "gap": "", "answer": "not measured", "kind": "missing"}
        return common | nothing | {"printed": text, "value": value}
    difference = cell.mean - value
    answer, kind = said(cell, value)
    return common | {
        "printed": shown(value, cell.figure) + spread,
        "value": value,
        "gap": difference,
        "cell": cell,
        "difference": shown(difference, cell.figure, sign=True),
        "answer": answer,
        "kind": kind,
    }


def answering(
    entry: Mapping[str, Any], settings: Mapping[str, Any], groups: Sequence[Group]
) -> tuple[Group | None, str]:
    """The setting that a printed figure is about; another model in its place is said."""
    fitting = [group for group in groups if has(group, settings)]
    same = [group for group in fitting if all(is_called(group, axis, entry[axis]) for axis in ("method", "dataset"))]
    exact = [group for group in same if is_called(group, "model", entry["model"])]
    if exact:
        return exact[0], in_place(exact[0], entry)
    models = {group.model for group in same}
    if len(models) == 1:
        return same[0], f"measured with {models.pop()} in place of {entry['model']}"
    return None, ""


def is_called(group: Group, axis: str, name: Any) -> bool:
    """By its own name, or by that of the paper's entry that it stands for in a smaller grid."""
    cell = group.runs[0].result.get("cell") or {}
    return name in (getattr(group, axis), cell.get(axis), (cell.get("stands_for") or {}).get(axis))


def in_place(group: Group, entry: Mapping[str, Any]) -> str:
    """What stands for something else of the paper."""
    stands_for = (group.runs[0].result.get("cell") or {}).get("stands_for") or {}
    others = [axis for axis in ("dataset", "model", "method") if stands_for.get(axis) == entry[axis]]
    said = [
        f"{getattr(group, axis)} in place of {entry[axis]}" for axis in others if getattr(group, axis) != entry[axis]
    ]
    return f"measured with {' and '.join(said)}" if said else ""


def has(group: Group, settings: Mapping[str, Any]) -> bool:
    """Whether the setting has these values, by the whole path or its last word."""
    known = dict(leaves(group.runs[0].config))
    return all(any(named(path, key) and equal(have, value) for path, have in known.items())
               for key, value in settings.items())  # fmt: skip


def named(path: str, key: str) -> bool:
    return path == key or path.rpartition(".")[2] == key


def equal(have: Any, want: Any) -> bool:
    """Equal; a number and a list of it alone are too."""
    if isinstance(have, list) and not isinstance(want, list):
        return bool(have) and all(item == want for item in have)
    return bool(have == want)


def measured(group: Group, metric: str) -> Cell | None:
    """The figure that a metric's name means."""
    metric = OTHER_NAMES.get(metric, metric)
    own = group.columns.get("own")
    split = own.figure.label.partition(", ")[2] if own else ""
    for key in (f"clean/{split}/{metric}", metric):
        if key in group.cells:
            return group.cells[key]
    return group.columns.get(metric) or group.columns.get(f"attack {metric}")


def said(cell: Cell, value: float) -> tuple[str, str]:
    """How far the printed figure is from ours, and whether our interval allows for it."""
    low, high = cell.interval
    seeds = len(cell.values)
    basis = f"95% interval over {seeds} seeds" if seeds > 1 else "95% interval of one seed"
    if low is None or high is None:
        return "one seed and no interval: cannot say", "unknown"
    if low <= value <= high:
        return f"agrees: within our {basis}", "agrees"
    side = "below" if cell.mean < value else "above"
    return f"differs: ours is {side} it, beyond our {basis}", "differs"


def verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    """One sentence over a whole table."""
    counts = {kind: sum(row["kind"] == kind for row in rows) for kind in ("agrees", "differs", "unknown", "missing")}
    parts = [f"Of {len(rows)} printed figures, within our 95% interval: {counts['agrees']}"]
    parts += [f"beyond it: {counts['differs']}"]
    parts += [f"undecided: {counts['unknown']}"] * bool(counts["unknown"])
    parts += [f"not measured: {counts['missing']}"] * bool(counts["missing"])
    others = sum("in place of" in row["remark"] for row in rows)
    parts += [f"with another model or data set than the paper's, so that agreement means little: {others}"] * bool(
        others
    )
    return "; ".join(parts) + "."
