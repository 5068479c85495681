"""Figures as plotly traces: plain dictionaries that the page carries as JSON and draws itself.

Plotly interprets some markup in texts, so names are escaped here; page.js sets fonts, colours of axes and sizes.
"""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from uegr.report.cells import Cell
from uegr.report.groups import BASELINE, Group
from uegr.report.tables import distinct, shown, spread

ACCENT, NEUTRAL = "#0f8a9d", "#868e96"
COLOURS = ("#c2703d", "#7a6fc2", "#b5588a", "#4d8fd1", "#7f9140", "#c39a1f", "#a05a4a", "#5b7f95", "#3f9b6e")
DASHES = ("solid", "dash", "dot", "dashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "star", "triangle-down", "x")
MOST_SETTINGS = 4  # lines of one method; beyond, only the first setting with the most seeds is drawn
MOST_LABELS = 12  # names beside points; more would cover each other
SETTINGS_NOTE = f"Where a method has more than {MOST_SETTINGS} settings, the one with the most seeds is drawn."
Trace = dict[str, Any]
Data = TypeVar("Data")


@dataclass(frozen=True)
class Style:
    """How a method looks everywhere on the page."""

    colour: str
    dash: str
    symbol: str


@dataclass
class Panel:
    """One drawing with its heading."""

    title: str
    traces: list[Trace]
    layout: dict[str, Any]
    height: int = 340
    groups: Sequence[Group] = ()  # whose figures are in it


@dataclass
class Section:
    """Drawings of one kind: heading, what is seen, and which methods are in it."""

    key: str
    title: str
    caption: str
    panels: list[Panel]
    methods: list[str] = field(default_factory=list)
    off: list[str] = field(default_factory=list)  # of these, not drawn at first


def styles(methods: Sequence[str]) -> dict[str, Style]:
    """Vanilla is grey, UEGR (or else the first method) has the accent, the others a colour each."""
    others = [method for method in methods if method != BASELINE]
    first = "uegr" if "uegr" in others else others[0] if others else None
    found = {BASELINE: Style(NEUTRAL, "solid", "circle")} if BASELINE in methods else {}
    if first:
        found[first] = Style(ACCENT, "solid", "circle")
    for place, method in enumerate(other for other in others if other != first):
        turn, colour = divmod(place, len(COLOURS))
        found[method] = Style(COLOURS[colour], DASHES[(turn + 1) % 4] if turn else "solid", SYMBOLS[1 + place % 7])
    return found


def safe(text: str) -> str:
    """A text that plotly shows as it is.

    >>> safe("<b>{{ x }}</b>")
    '&lt;b&gt;{{ x }}&lt;/b&gt;'
    """
    return html.escape(text, quote=False)


def axis(title: str, **more: Any) -> dict[str, Any]:
    return {"title": {"text": safe(title)}, **more}


def whisker(cell: Cell, scale: float = 100) -> tuple[float, float]:
    """Down and up from the mean: one standard deviation over seeds, or the interval of a single seed, if any."""
    if cell.deviation is not None:
        return scale * cell.deviation, scale * cell.deviation
    figure = cell.figure
    return (scale * (figure.value - figure.low), scale * (figure.high - figure.value)) if figure.bounded else (0, 0)


def bars(cells: Sequence[Cell], scale: float = 100) -> dict[str, Any]:
    """Plotly's error bars."""
    ends = [whisker(cell, scale) for cell in cells]
    down, up = [low for low, _ in ends], [high for _, high in ends]
    return {"type": "data", "symmetric": False, "arrayminus": down, "array": up, "thickness": 1, "width": 0}


def trace(group: Group, style: Style, x: Sequence[Any], y: Sequence[Any], texts: Sequence[str], **more: Any) -> Trace:
    """Points of one setting; `meta` lets the legend find all of a method."""
    return {
        "type": "scatter",
        "x": list(x),
        "y": list(y),
        "hovertext": [safe(text) for text in texts],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "name": safe(group.label),
        "meta": group.method,
        "mode": "lines+markers",
        "line": {"color": style.colour, "dash": style.dash, "width": 2},
        "marker": {"color": style.colour, "symbol": style.symbol, "size": 7},
        **more,
    }


def labels(names: Sequence[str], x: Sequence[float], every_x: Sequence[float], style: Style) -> Trace:
    """Names beside the points of a trace; where the drawing has many points, beside its first and its last only.

    They point inwards, where they are not cut off; of two points alone they point away from each other. The page moves
    those that would cover something.
    """
    ends = (0, len(names) - 1)
    few_points = len(every_x) <= MOST_LABELS
    text = [safe(name) if few_points or place in ends else "" for place, name in enumerate(names)]
    middle, inwards = (min(every_x) + max(every_x)) / 2, len(every_x) > 2
    sides = ["right" if (value <= middle) == inwards else "left" for value in x]
    return {
        "text": text,
        "textposition": [f"top {side}" for side in sides],
        "textfont": {"color": style.colour, "size": 11},
    }


def spelt_apart(groups: Sequence[Group]) -> list[str]:
    """What tells the settings of one method apart: its colour says the method already.

    >>> spelt_apart([])
    []
    """
    if len(groups) > 1:
        return [group.own_settings or group.method for group in groups]
    return [group.method + (f" ({group.own_settings})" if group.own_settings else "") for group in groups]


def few(groups: Sequence[Group]) -> list[Group]:
    """The settings to draw: of a method with many, the first that has the most seeds."""
    found = []
    for method in distinct(group.method for group in groups):
        own = [group for group in groups if group.method == method]
        found += own if len(own) <= MOST_SETTINGS else [max(own, key=lambda group: len(group.runs))]
    return found


def with_data(groups: Sequence[Group], of: Callable[[Group], Data]) -> list[tuple[Group, Data]]:
    """The settings to draw that have data, with it."""
    found = [(group, of(group)) for group in few(groups)]
    return [(group, data) for group, data in found if data]


def fading(group: Group, groups: Sequence[Group]) -> float:
    """Settings of one method have one colour; the later ones are paler."""
    own = [other for other in groups if other.method == group.method]
    return 1 - 0.65 * own.index(group) / len(own)


def section(
    key: str, title: str, caption: str, groups: Sequence[Group], draw: Callable[[list[Group]], Panel | None]
) -> Section | None:
    """A panel for each data set and model that has something to draw; figures on other rows are not put together."""
    panels = []
    places = distinct(group.tested_on for group in groups)
    apart = {place: [group for group in groups if group.tested_on == place] for place in places}
    for place, some in apart.items():
        panel = draw(some)
        if panel is not None:
            panel.title = panel.title or place
            panels.append(panel)
    many = any(len(some) > len(few(some)) for some in apart.values())
    return finished(key, title, caption.replace("{settings}", SETTINGS_NOTE if many else "").strip(), panels)


def finished(key: str, title: str, caption: str, panels: list[Panel]) -> Section | None:
    """The section, if it has panels; `{whiskers}` in the caption is filled in from what was drawn."""
    groups = [group for panel in panels for group in panel.groups]
    methods = sorted(distinct(group.method for group in groups), key=lambda method: method != BASELINE)
    return Section(key, title, caption.replace("{whiskers}", spread_note(groups)), panels, methods) if panels else None


def spread_note(groups: Sequence[Group]) -> str:
    """What the whiskers are."""
    counts = sorted({len(group.seeds) for group in groups}) or [1]
    if counts == [1]:
        return "One seed each; whiskers are 95% intervals over the rows."
    span = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    single = ", or its 95% interval for a single seed" * (counts[0] == 1)
    return f"Means over {span} seeds; whiskers are one standard deviation over seeds{single}."


def spelt(cell: Cell) -> str:
    """A cell in one line."""
    value, between = shown(cell.mean, cell), spread(cell)
    if cell.deviation is not None:
        return f"{value} {between}, {len(cell.figures)} seeds"
    return f"{value} ({between}), 1 seed" if between else value
