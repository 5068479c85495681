"""What training did to the layers, and what the gains cost, as drawings."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from uegr.report.cells import Cell, over_seeds
from uegr.report.columns import titles
from uegr.report.cost import Cost, cost_of
from uegr.report.figures import Entry, Quantity, bare
from uegr.report.groups import Block, Group, by_block, heading, robustness
from uegr.report.plots import (
    SYMBOLS,
    Panel,
    Section,
    Style,
    axis,
    bars,
    finished,
    labels,
    section,
    spelt,
    spelt_apart,
    trace,
    with_data,
)
from uegr.report.reading import TaskRun
from uegr.report.tables import distinct, gain

GLYPHS = "●■◆▲✚★▼✖"  # as plotly's symbols in SYMBOLS
CKA = Quantity("drift/cka", "CKA", "cka")


def similarity(groups: Sequence[Group], looks: Mapping[str, Style]) -> Section | None:
    """CKA of each layer with the pretrained model."""

    def draw(some: list[Group]) -> Panel | None:
        found = with_data(some, layers)
        traces = [layer_trace(group, looks[group.method], cells) for group, cells in found]
        layout = {"xaxis": axis("layer (0: embeddings)", dtick=1), "yaxis": axis("CKA")}
        return Panel("", traces, layout, groups=[group for group, _ in found]) if found else None

    caption = "Linear CKA of each layer's states with those of the pretrained model on the same rows: 1 is unchanged "
    caption += "up to rotation and scale. {whiskers} {settings}"
    return section("cka", "Drift from pretraining, layer by layer", caption, groups, draw)


def over_epochs(groups: Sequence[Group], looks: Mapping[str, Style]) -> Section | None:
    """CKA of each layer with the model before training, mean over epochs, at each strength of the perturbation."""
    strengths = sorted({strength for group in groups for run in group.runs for strength in logged(run)})
    panels = [
        panel
        for some in by_block(groups).values()
        for strength in strengths
        if (panel := epochs_panel(some, looks, strength)) is not None
    ]
    caption = "Linear CKA of each layer's states with those of the model before training, mean over the epochs, on "
    caption += "validation rows; both models see the same input, moved by delta along the gradient of the trained one. "
    caption += "{whiskers}"
    return finished("cka-epochs", "Drift from pretraining, mean over epochs", caption, panels)


def epochs_panel(groups: list[Group], looks: Mapping[str, Style], strength: float) -> Panel | None:
    """One strength on one data set and model."""
    found = with_data(groups, lambda group: mean_layers(group, strength))
    traces = [layer_trace(group, looks[group.method], cells) for group, cells in found]
    layout = {"xaxis": axis("layer (0: embeddings)", dtick=1), "yaxis": axis("CKA")}
    title = f"{heading(groups[0].block)}: " + (f"delta {strength:g}" if strength else "clean")
    return Panel(title, traces, layout, groups=[group for group, _ in found]) if found else None


def logged(run: TaskRun) -> Mapping[float, Sequence[Sequence[float | None]]]:
    """What a run has logged: strength -> epochs -> layers."""
    return run.run.result.training.drift


def mean_layers(group: Group, strength: float) -> dict[int, Cell]:
    """The mean over epochs of the similarity of each layer, over seeds; where it is undefined, nothing."""
    return over_seeds([(run.seed, mean_of_epochs(logged(run).get(strength, ()))) for run in group.runs])


def mean_of_epochs(epochs: Sequence[Sequence[float | None]]) -> dict[int, Entry]:
    """Each layer's mean over the epochs in which it is defined."""
    found: dict[int, list[float]] = {}
    for epoch in epochs:
        for layer, value in enumerate(epoch):
            if value is not None:
                found.setdefault(layer, []).append(value)
    return {layer: Entry(CKA, bare(fmean(values), 0)) for layer, values in sorted(found.items())}


def layers(group: Group) -> dict[int, Cell]:
    """The similarity of each layer over seeds; where it is undefined, nothing."""
    drifts = [(seed, evaluation.drift) for seed, evaluation in group.evaluations]
    found = [(seed, {place: Entry(CKA, one) for place, one in enumerate(drift.cka)}) for seed, drift in drifts if drift]
    return over_seeds(found)


def layer_trace(group: Group, style: Style, cells: Mapping[int, Cell]) -> dict[str, Any]:
    texts = [f"{group.label}, layer {layer}: {spelt(cell)}" for layer, cell in cells.items()]
    some = list(cells.values())
    return trace(group, style, list(cells), [cell.mean for cell in some], texts, error_y=bars(some, 1))


def cost(groups: Sequence[Group], looks: Mapping[str, Style]) -> Section | None:
    """Passes relative to vanilla, against what was gained."""
    priced = [(group, cost_of(group)) for group in groups if group.baseline is not None]
    known = [(group, price) for group, price in priced if price.passes is not None]
    hard = robustness(groups)
    keys = [key for key in ("own", hard) if key and any(key in group.columns for group, _ in known)]
    blocks = list(dict.fromkeys(group.block for group, _ in known))
    panels = [panel for key in keys if (panel := cost_panel(known, key, looks, blocks)) is not None]
    caption = "Cost is the number of forward and backward passes over a batch in the whole training, vanilla = 1. The "
    caption += "dotted line is vanilla. " + symbols_note(blocks)
    return finished("cost", "Cost against gain", caption, panels)


def symbols_note(blocks: Sequence[Block]) -> str:
    """Which symbol is which data set and model, while there are enough symbols."""
    if len(blocks) == 1 or len(blocks) > len(GLYPHS):
        return "Each point is a setting of one data set and model, which it tells on hover." if len(blocks) > 1 else ""
    return "; ".join(f"{glyph} {heading(block)}" for glyph, block in zip(GLYPHS, blocks, strict=False)) + "."


def cost_panel(
    priced: Sequence[tuple[Group, Cost]], key: str, looks: Mapping[str, Style], blocks: Sequence[Block]
) -> Panel | None:
    """One point per setting; the symbol is the data set and model."""
    some = [(g, price, cell) for g, price in priced if (cell := g.columns.get(key)) and cell.difference is not None]
    if not some:
        return None
    traces = []
    for method in distinct(group.method for group, *_ in some):
        own = [one for one in some if one[0].method == method]
        texts = [told(group, price, cell) for group, price, cell in own]
        symbols = [SYMBOLS[blocks.index(group.block) if len(blocks) <= len(GLYPHS) else 0] for group, *_ in own]
        colour = looks[method].colour
        marker = {"color": colour, "symbol": symbols, "size": 10, "opacity": 0.85}
        prices = [price.passes or 0.0 for _, price, _ in own]
        every = [0.9, *(price.passes or 0.0 for _, price, _ in some)]  # the axis starts there
        names = [group.method if single(group, own) else spelt_apart([group])[0] for group, *_ in own]
        named = labels(names, prices, every, looks[method])
        look = {"mode": "markers+text", "marker": marker, **named}
        gains = [100 * cell.difference.value * (cell.quantity.better or 1) for *_, cell in own if cell.difference]
        traces.append(trace(own[0][0], looks[method], prices, gains, texts, **look))
    name = titles([key])[0].title
    line = {"dash": "dot", "width": 1, "color": "#868e96"}
    zero = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": 0, "y1": 0, "layer": "below", "line": line}
    most = max(price.passes or 0 for _, price, _ in some)
    x = axis("passes over a batch, vanilla = 1", range=[0.9, 1.05 * most])
    layout = {"xaxis": x, "yaxis": axis("gain, points"), "shapes": [zero]}
    return Panel(f"Gain: {name}", traces, layout, 360, [group for group, *_ in some])


def single(group: Group, points: Sequence[tuple[Group, Cost, Cell]]) -> bool:
    """Whether it is the only one of these points on its data set and model: its method is name enough."""
    return [other.block for other, *_ in points].count(group.block) == 1


def told(group: Group, price: Cost, cell: Cell) -> str:
    times = "" if price.processor_ratio is None else f", {price.processor_ratio:.2f} times its processor time"
    costs = f"{price.passes:.2f} times vanilla's passes{times}"
    return f"{heading(group.block)}, {group.label}: {costs}, {gain(cell)} points"
