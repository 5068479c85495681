"""One self-contained page that compares runs: no script, no network, every text escaped."""

from pathlib import Path
from typing import Any

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from uegr.files import write_text
from uegr.report.terminal import percent, rows_of

COLOURS = ("#6b7280", "#0f766e", "#b45309", "#7c3aed", "#be123c", "#1d4ed8")
WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 640, 280, 44, 36, 12, 12


def write_page(path: Path, results: dict[str, dict[str, Any]]) -> Path:
    """The page for runs by name, from their result.json alone."""
    environment = Environment(loader=PackageLoader("uegr.report"), autoescape=True, undefined=StrictUndefined)
    figures = {name: dict(rows_of(result["evaluation"])) for name, result in results.items()}
    first = next(iter(results.values()))
    text = environment.get_template("page.html.j2").render(
        title=f"{' and '.join(results)} on {first['config']['dataset']['name']}",
        names=list(results),
        colours=dict(zip(results, COLOURS, strict=False)),
        rows=table_rows(figures),
        chart=chart({name: fgm_points(result) for name, result in results.items()}),
        configs={name: yaml.safe_dump(result["config"], sort_keys=False) for name, result in results.items()},
        results=results,
        machine=first["machine"],
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    return path


def fgm_points(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The one-step curve, where it was measured."""
    points: list[dict[str, Any]] = result["evaluation"].get("perturbation", {}).get("fgm", {}).get("points", [])
    return points


def table_rows(figures: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A row a figure: its cells, whether the first and the other run's intervals overlap, and the rows behind it."""
    first = next(iter(figures.values()))
    rows = []
    for name, base in first.items():
        cells = [figure.get(name) for figure in figures.values()]
        rows.append({"name": name, "n": base["n"], "cells": [cell(figure, base, "ECE" in name) for figure in cells]})
    return rows


def cell(figure: dict[str, Any] | None, base: dict[str, Any], less_is_more: bool) -> dict[str, str]:
    """The figure as text, and as `better` or `worse` only where the two 95% intervals are apart."""
    if figure is None or None in (figure["low"], figure["high"], base["low"], base["high"]):
        return {"text": percent(figure), "mark": ""}
    above, below = figure["low"] > base["high"], figure["high"] < base["low"]
    better, worse = (below, above) if less_is_more else (above, below)
    return {"text": percent(figure), "mark": "better" if better else "worse" if worse else ""}


def chart(curves: dict[str, list[dict[str, Any]]]) -> dict[str, Any] | None:
    """The geometry of accuracy against epsilon, one line a run; the positions of epsilon are evenly spaced."""
    epsilons = sorted({point["epsilon"] for curve in curves.values() for point in curve})
    if not epsilons:
        return None
    across = {
        epsilon: LEFT + i * (WIDTH - LEFT - RIGHT) / max(len(epsilons) - 1, 1) for i, epsilon in enumerate(epsilons)
    }

    def down(share: float) -> float:
        return TOP + (1 - share) * (HEIGHT - TOP - BOTTOM)

    lines = []
    for name, curve in curves.items():
        points = [(across[p["epsilon"]], down(p["accuracy"]), down(p["low"]), down(p["high"])) for p in curve]
        band = [f"{x:.1f},{high:.1f}" for x, _, _, high in points] + [
            f"{x:.1f},{low:.1f}" for x, _, low, _ in points[::-1]
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _, _ in points)
        lines.append({"name": name, "path": path, "band": " ".join(band), "points": points})
    ticks = [{"y": down(share), "label": f"{100 * share:.0f}"} for share in (0, 0.25, 0.5, 0.75, 1)]
    labels = [{"x": x, "label": f"{epsilon:g}"} for epsilon, x in across.items()]
    return {"width": WIDTH, "height": HEIGHT, "left": LEFT, "lines": lines, "ticks": ticks, "labels": labels}
