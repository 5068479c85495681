"""Settings that were varied on purpose: lines for one number, heat maps for two, and the size of the training set.

All points of a line or a map are means over the same seeds: another seed is another difference.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any, TypeVar

from uegr.report import plots
from uegr.report.cells import Cell
from uegr.report.columns import titles
from uegr.report.figures import number
from uegr.report.groups import Group, by_block, heading, robustness
from uegr.report.settings import short, spoken
from uegr.report.tables import distinct

SIZES = ("dataset.train_size", "dataset.train_fraction")
MOST_PAIRS = 3
Key = TypeVar("Key", bound=Hashable)


def measured_keys(groups: Sequence[Group]) -> list[str]:
    """What is drawn of a sweep: the clean score, and robustness."""
    hard = robustness(groups)
    return [key for key in ("own", hard) if key and any(key in group.columns for group in groups)]


def training_size(groups: Sequence[Group], looks: Mapping[str, plots.Style]) -> plots.Section | None:
    """Figures against the number of training rows, all methods of a data set and model together."""
    panels = []
    for block, some in by_block(groups).items():
        lines = [line for line in alike(some, SIZES) if len({rows_of(group) for group in line}) > 1]
        sized = [group for line in lines for group in line]
        for key in measured_keys(sized):
            traces = [size_trace(line, looks[line[0].method], key) for line in lines]
            ticks = sorted({rows_of(group) for group in sized})
            x = plots.axis("training rows", type="log", tickvals=ticks, ticktext=[f"{rows:,.0f}" for rows in ticks])
            layout = {"xaxis": x, "yaxis": plots.axis(unit(sized, key))}
            title = f"{heading(block)}: {name_of(key)}"
            if drawn := [one for one in traces if one]:
                panels.append(plots.Panel(title, drawn, layout, groups=sized))
    caption = "Figures against the number of rows that were trained on, on a logarithmic scale; all else equal along a "
    caption += "line, seeds too. {whiskers}"
    return plots.finished("sizes", "Training size", caption, panels)


def alike(groups: Sequence[Group], paths: Collection[str]) -> list[list[Group]]:
    """Settings of one method that differ by nothing but these paths."""
    found: dict[str, list[Group]] = {}
    for group in groups:
        found.setdefault(f"{group.block} {group.method} {rest(group, paths)!r}", []).append(group)
    return list(found.values())


def rest(group: Group, paths: Collection[str]) -> list[tuple[str, Any]]:
    """The other options of a setting."""
    return [(path, value) for path, value in group.options if path not in paths]


def on_same_seeds(cells: Mapping[Key, Cell]) -> dict[Key, Cell]:
    """The cells that have the most frequent seed, over the seeds that all of these have."""
    counts = Counter(seed for cell in cells.values() for seed in cell.figures)
    if not counts:
        return {}
    most = min(counts, key=lambda seed: (-counts[seed], seed))
    kept = {key: cell for key, cell in cells.items() if most in cell.figures}
    seeds = sorted(set.intersection(*(set(cell.figures) for cell in kept.values())))
    return {key: replace(cell, figures={seed: cell.figures[seed] for seed in seeds}) for key, cell in kept.items()}


def named(group: Group, paths: Collection[str]) -> str:
    """The method, and what differs besides these paths."""
    others = ", ".join(f"{short(path)} {spoken(value)}" for path, value in rest(group, paths))
    return f"{group.method} ({others})" if others else group.method


def rows_of(group: Group) -> float:
    """The rows of the task that were trained on, mean over seeds."""
    return fmean(run.task.rows for run in group.runs)


def size_trace(groups: Sequence[Group], style: plots.Style, key: str) -> dict[str, Any] | None:
    sized = sorted((group for group in groups if key in group.columns), key=rows_of)
    found = on_same_seeds({place: group.columns[key] for place, group in enumerate(sized)})
    if len(found) < 2:
        return None
    some = [(sized[place], cell) for place, cell in found.items()]
    name = named(sized[0], SIZES)
    texts = [f"{name}, {rows_of(group):,.0f} rows: {plots.spelt(cell)}" for group, cell in some]
    x, y = [rows_of(group) for group, _ in some], [100 * cell.mean for _, cell in some]
    bars = plots.bars([cell for _, cell in some])
    return plots.trace(sized[0], style, x, y, texts, error_y=bars, name=plots.safe(name))


def name_of(key: str) -> str:
    return titles([key])[0].title


def unit(groups: Sequence[Group], key: str) -> str:
    cell = next(group.columns[key] for group in groups if key in group.columns)
    return f"{cell.quantity.label}, %" if cell.quantity.share else cell.quantity.label


def coordinates(group: Group) -> dict[str, float]:
    """The varied numbers of a setting; two different rates are two of them, equal ones are one."""
    found: dict[str, float] = {}
    for path, value in group.options:
        values = value if isinstance(value, list | tuple) else [value]
        if path in SIZES or not values or any(number(one) is None for one in values):
            continue
        if len(set(values)) == 1:
            found[path] = float(values[0])
        elif len(values) == 2:
            found |= {f"{path}.first": float(values[0]), f"{path}.second": float(values[1])}
    return found


def places_of(groups: Sequence[Group]) -> list[dict[str, float]]:
    """Coordinates; where some setting has two different rates, a single rate stands for both."""
    found = [coordinates(group) for group in groups]
    split = {name.removesuffix(".first") for one in found for name in one if name.endswith(".first")}
    for one in found:
        for path in split & set(one):
            value = one.pop(path)
            one |= {f"{path}.first": value, f"{path}.second": value}
    return found


def axis_name(path: str) -> str:
    """What an axis is called.

    >>> axis_name("method.rates.first"), axis_name("method.submodels")
    ('rates, first', 'submodels (K)')
    """
    for end in ("first", "second"):
        if path.endswith(f".{end}"):
            return f"{short(path.removesuffix(f'.{end}'))}, {end}"
    return {"submodels": "submodels (K)"}.get(short(path), short(path))


def sweeps(groups: Sequence[Group], looks: Mapping[str, plots.Style]) -> list[plots.Section]:
    """A section of lines (one varied number) and one of heat maps (two)."""
    lines, maps = [], []
    for some in alike(groups, {path for group in groups for path in coordinates(group)}):
        places = places_of(some)
        names = distinct(name for one in places for name in one)
        names = [name for name in names if len({one[name] for one in places if name in one}) > 1]
        if len(names) == 1:
            lines += line_panels(some, [one.get(names[0]) for one in places], names[0], looks[some[0].method])
        for pair in pairs(names):
            maps += heat_maps(some, places, pair, names)
    caption = "Means over the seeds that all cells have, in percent. Each map has its own scale; darker is more. "
    caption += "Whether one cell is above its neighbours was not tested."
    found = [
        plots.finished("options", "One option varied", "All else equal, seeds too. {whiskers}", lines),
        plots.finished("maps", "Two options varied", caption, maps),
    ]
    return [section for section in found if section is not None]


def title_of(group: Group, key: str) -> str:
    """Data set, model, method and what else differs from other sweeps, and the figure."""
    return f"{heading(group.block)} · {named(group, coordinates(group))}: {name_of(key)}"


def pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    return [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]][:MOST_PAIRS]


def line_panels(
    groups: Sequence[Group], places: Sequence[float | None], name: str, style: plots.Style
) -> list[plots.Panel]:
    """A figure against the one number that varies."""
    panels = []
    for key in measured_keys(groups):
        there = sorted((p, i) for i, p in enumerate(places) if p is not None and key in groups[i].columns)
        found = on_same_seeds({(p, i): groups[i].columns[key] for p, i in there})
        if len({p for p, _ in found}) < 2:
            continue
        texts = [f"{groups[i].label}: {plots.spelt(cell)}" for (_, i), cell in found.items()]
        x, y = [p for p, _ in found], [100 * cell.mean for cell in found.values()]
        drawn = plots.trace(groups[0], style, x, y, texts, error_y=plots.bars(list(found.values())))
        axis = plots.axis(axis_name(name), tickvals=x) if len(x) < 9 else plots.axis(axis_name(name))
        layout = {"xaxis": axis, "yaxis": plots.axis(unit(groups, key))}
        panels.append(plots.Panel(title_of(groups[0], key), [drawn], layout, 300, [groups[i] for _, i in found]))
    return panels


def heat_maps(
    groups: Sequence[Group],
    places: Sequence[Mapping[str, float]],
    pair: tuple[str, str],
    names: Sequence[str],
) -> list[plots.Panel]:
    """A figure over two numbers; others stay at their most frequent values, which the heading names."""
    fixed = {n: Counter(one[n] for one in places if n in one).most_common(1)[0][0] for n in names if n not in pair}
    inside = [
        (group, place) for group, place in zip(groups, places, strict=True)
        if all(n in place for n in pair) and all(place.get(n) == v for n, v in fixed.items())
    ]  # fmt: skip
    note = "".join(f", {axis_name(n)} {spoken(v)}" for n, v in fixed.items())
    panels = []
    for key in measured_keys([group for group, _ in inside]):
        cells = {(place[pair[0]], place[pair[1]]): g.columns[key] for g, place in inside if key in g.columns}
        cells = on_same_seeds(cells)
        if has_neighbours(cells):
            panels.append(heat_map(title_of(groups[0], key) + note, cells, pair))
    return panels


def has_neighbours(cells: Collection[tuple[float, float]]) -> bool:
    """Whether some cells differ in the first number alone, and some in the second alone.

    >>> has_neighbours([(1, 1), (2, 2)]), has_neighbours([(1, 1), (1, 2), (2, 2)])
    (False, True)
    """
    return all(len({cell[side] for cell in cells}) < len(cells) for side in (0, 1))


def heat_map(title: str, cells: Mapping[tuple[float, float], Cell], pair: tuple[str, str]) -> plots.Panel:
    columns, rows = sorted({x for x, _ in cells}), sorted({y for _, y in cells})
    values = [[100 * cells[x, y].mean if (x, y) in cells else None for x in columns] for y in rows]
    texts = [[plots.safe(plots.spelt(cells[x, y])) if (x, y) in cells else "" for x in columns] for y in rows]
    drawn = {
        "type": "heatmap",
        "x": [f"{x:g}" for x in columns],
        "y": [f"{y:g}" for y in rows],
        "z": values,
        "text": texts,
        "texttemplate": "%{z:.1f}",
        "hovertemplate": "%{x}, %{y}: %{text}<extra></extra>",
        "colorscale": [[0, "#eef6f7"], [1, "#0f6f80"]],
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
    }
    layout = {
        "xaxis": plots.axis(axis_name(pair[0]), type="category"),
        "yaxis": plots.axis(axis_name(pair[1]), type="category"),
    }
    return plots.Panel(title, [drawn], layout, max(220, 120 + 44 * len(rows)))
