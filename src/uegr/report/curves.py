"""Generalisation against robustness, accuracy under perturbation, and reliability, as drawings."""

from collections.abc import Mapping, Sequence
from math import isfinite, sqrt
from typing import Any

from uegr.report.cells import Cell, over_seeds
from uegr.report.columns import titles
from uegr.report.figures import Entry, quantity
from uegr.report.groups import BASELINE, Group, robustness
from uegr.report.plots import (
    MOST_SETTINGS,
    NEUTRAL,
    Panel,
    Section,
    Style,
    Trace,
    axis,
    bars,
    fading,
    labels,
    safe,
    section,
    spelt,
    spelt_apart,
    trace,
    with_data,
)
from uegr.report.tables import distinct
from uegr.result import Bin, Evaluation

FEWEST = 10  # rows of a bin; a point of one row is at 0 or 100
LONGEST = 36  # letters beside an axis that fit on paper
ACCURACY = quantity("perturbation", "", "accuracy")


def curves(groups: Sequence[Group], looks: Mapping[str, Style], attack: str) -> Section | None:
    """Accuracy against the size of the perturbation."""

    def draw(some: list[Group]) -> Panel | None:
        found = with_data(some, lambda group: points(group, attack))
        sizes = sorted({size for _, cells in found for size in cells})
        if not sizes:
            return None
        step, drawn = apart(len(found), len(sizes)), [group for group, _ in found]
        traces = [
            curve(group, looks[group.method], cells, sizes, (place - (len(found) - 1) / 2) * step)
            | {"opacity": fading(group, drawn)}
            for place, (group, cells) in enumerate(found)
        ]
        ticks = {"tickvals": list(range(len(sizes))), "ticktext": [f"{size:g}" for size in sizes]}
        layout = {"xaxis": axis("epsilon", **ticks), "yaxis": axis("accuracy, %", rangemode="tozero")}
        return Panel("", traces, layout, groups=drawn)

    name, _, relative = attack.partition("_")
    step = {"fgm": "one gradient step", "noise": "one random step", "pgd": "PGD with restarts"}.get(name, name)
    size = "epsilon times the mean norm of the model's word vectors" if relative else "epsilon"
    caption = f"Accuracy when the embedded input moves by {size}, {step}. Sizes are spaced evenly, and methods "
    caption += "are drawn a little apart. {whiskers} {settings}"
    return section(f"curves-{attack}", f"Under perturbation: {perturbed_by(attack)}", caption, groups, draw)


def perturbed_by(attack: str) -> str:
    """What a perturbation is called in a heading.

    >>> perturbed_by("pgd_relative"), perturbed_by("noise")
    ('relative PGD', 'noise')
    """
    name, _, kind = attack.partition("_")
    return f"{kind} {name.upper() if name in ('fgm', 'pgd') else name}".strip()


def apart(curves: int, sizes: int) -> float:
    """How far curves are shifted from the next, sizes being 1 apart: all together 4% of the drawing at most.

    >>> apart(2, 7), apart(8, 2)
    (0.06, 0.005)
    """
    return min(0.06, 0.04 * max(sizes - 1, 1) / curves)


def points(group: Group, attack: str) -> dict[float, Cell]:
    """The accuracy at each epsilon over seeds."""
    return over_seeds([(seed, accuracies(evaluation, attack)) for seed, evaluation in group.evaluations])


def accuracies(evaluation: Evaluation, attack: str) -> dict[float, Entry]:
    """The accuracy at each epsilon of one run."""
    curve = evaluation.perturbation.get(attack)
    return {point.size: Entry(ACCURACY, point.accuracy) for point in curve.points} if curve else {}


def curve(group: Group, style: Style, cells: Mapping[float, Cell], sizes: Sequence[float], aside: float) -> Trace:
    some = [cells[size] for size in sizes if size in cells]
    x = [sizes.index(size) + aside for size in sizes if size in cells]
    texts = [f"{group.label}, epsilon {size:g}: {spelt(cells[size])}" for size in sizes if size in cells]
    return trace(group, style, x, [100 * cell.mean for cell in some], texts, error_y=bars(some))


def tradeoff(groups: Sequence[Group], looks: Mapping[str, Style]) -> Section | None:
    """Generalisation against robustness."""
    key = robustness(groups)
    if key is None:
        return None

    def draw(some: list[Group]) -> Panel | None:
        both = [group for group in some if "own" in group.columns and key in group.columns]
        if len(both) < 2:
            return None
        methods, every = distinct(group.method for group in both), [100 * g.columns["own"].mean for g in both]
        traces = [settings_trace([group for group in both if group.method == m], looks[m], key, every) for m in methods]
        own, hard = both[0].columns["own"].quantity, both[0].columns[key].quantity
        base = [group for group in both if group.method == BASELINE]
        lines = crosshair(base[0], key) if len(base) == 1 else []
        name = hard.label if len(hard.label) <= LONGEST else titles([key])[0].title
        layout = {"xaxis": axis(f"{own.label}, %"), "yaxis": axis(f"{name}, %"), "shapes": lines}
        return Panel("", traces, layout, 380, both)

    caption = "Up is more robust, right is a better clean score. Dotted lines cross at vanilla: above and to "
    caption += "the right of the crossing, nothing was traded. Settings of one method that differ in one option are "
    caption += "joined; where there are many, they have no whiskers. {whiskers}"
    return section("tradeoff", "Generalisation against robustness", caption, groups, draw)


def is_sweep(groups: Sequence[Group]) -> bool:
    """Whether settings of one method differ in one option and nothing else."""
    return len(groups) > 1 and all(len(group.options) == 1 for group in groups)


def settings_trace(groups: Sequence[Group], style: Style, key: str, every: Sequence[float]) -> Trace:
    """All settings of one method as one trace; `every` has the places of all points of the drawing."""
    own, hard = [g.columns["own"] for g in groups], [g.columns[key] for g in groups]
    x = [100 * cell.mean for cell in own]
    named = labels(spelt_apart(groups), x, every, style)
    texts = [f"{g.label}: {spelt(g.columns['own'])}; {spelt(g.columns[key])}" for g in groups]
    whiskers = {"error_x": bars(own), "error_y": bars(hard)} if len(groups) <= MOST_SETTINGS else {}
    return trace(
        groups[0],
        style,
        x,
        [100 * cell.mean for cell in hard],
        texts,
        **whiskers,
        name=safe(groups[0].method),
        **named,
        mode=("lines+markers" if is_sweep(groups) else "markers") + "+text",
        marker={"color": style.colour, "symbol": style.symbol, "size": 11},
        line={"color": style.colour, "dash": "dot", "width": 1},
    )


def crosshair(base: Group, key: str) -> list[dict[str, Any]]:
    """Dotted lines through the baseline."""
    x, y = 100 * base.columns["own"].mean, 100 * base.columns[key].mean
    line = {"type": "line", "layer": "below", "line": {"dash": "dot", "width": 1, "color": NEUTRAL}}
    return [
        {**line, "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1},
        {**line, "y0": y, "y1": y, "xref": "paper", "x0": 0, "x1": 1},
    ]


def reliability(groups: Sequence[Group], looks: Mapping[str, Style]) -> Section | None:
    """How often a confidence is right."""

    def draw(some: list[Group]) -> Panel | None:
        found = with_data(some, bins)
        if not found:
            return None
        traces = [reliability_trace(group, looks[group.method], own) for group, own in found]
        diagonal = {"type": "line", "x0": 0, "y0": 0, "x1": 100, "y1": 100, "layer": "below"}
        shapes = [{**diagonal, "line": {"dash": "dot", "width": 1, "color": NEUTRAL}}]
        x, y = ([max(0, min(min(one[way]) for one in traces) - 5), 104] for way in ("x", "y"))
        layout = {"xaxis": axis("confidence, %", range=x), "yaxis": axis("right, %", range=y), "shapes": shapes}
        return Panel("", traces, layout, groups=[group for group, _ in found])

    caption = "Share that is right among rows of similar confidence, in the bins of the ECE. The dotted diagonal is "
    caption += "perfect; below it a model is overconfident. The area of a point is its share of the rows; rows of "
    caption += f"all seeds are pooled. Bins of fewer than {FEWEST} rows are not drawn. {{settings}}"
    return section("reliability", "Reliability", caption, groups, draw)


def bins(group: Group) -> list[tuple[float, float, int]]:
    """(confidence, share right, rows) of each bin, rows of all seeds together."""
    found: dict[float, list[Bin]] = {}
    for _, evaluation in group.evaluations:
        for one in evaluation.calibration.reliability if evaluation.calibration else ():
            if one.accuracy.n and isfinite(one.accuracy.value):
                found.setdefault(one.start, []).append(one)
    together = [pooled(some) for _, some in sorted(found.items())]
    return [(sure, right, rows) for sure, right, rows in together if rows >= FEWEST]


def pooled(bins: Sequence[Bin]) -> tuple[float, float, int]:
    """(confidence, share right, rows) of bins together, each weighted by its rows."""
    rows = sum(one.accuracy.n for one in bins)
    confidence = sum(one.accuracy.n * one.confidence for one in bins) / rows
    return confidence, sum(one.accuracy.n * one.accuracy.value for one in bins) / rows, rows


def reliability_trace(group: Group, style: Style, own: Sequence[tuple[float, float, int]]) -> Trace:
    rows = sum(n for *_, n in own)
    texts = [f"{group.label}: {100 * sure:.1f}% sure, {100 * right:.1f}% right, {n:,} rows" for sure, right, n in own]
    sizes = [4 + 22 * sqrt(n / rows) for *_, n in own]
    return trace(
        group,
        style,
        [100 * sure for sure, *_ in own],
        [100 * right for _, right, _ in own],
        texts,
        marker={"color": style.colour, "symbol": "circle", "size": sizes, "opacity": 0.75, "line": {"width": 0}},
        line={"color": style.colour, "dash": style.dash, "width": 1.5},
    )
