"""The same figures as text: Markdown tables for a pull request or a paper's draft, tidy CSV for a program."""

import csv
import html
import io
from collections.abc import Iterable, Sequence
from typing import Any

from uegr.report.columns import titles
from uegr.report.groups import BASELINE, Group
from uegr.report.page import heading
from uegr.report.plots import by_block
from uegr.report.printed import comparisons
from uegr.report.provenance import summary
from uegr.report.reading import Collection
from uegr.report.statistics import Cell
from uegr.report.tables import evidence, view

FIELDS = ("run", "dataset", "model", "method", "settings", "seed", "figure", "label", "value", "low", "high", "n")
TESTS = {
    "seeds": f"▲ better, ▼ worse than {BASELINE}: paired t over shared seeds, p < 0.05 after Holm's adjustment.",
    "rows": f"△ better, ▽ worse than {BASELINE}: one seed each, 95% intervals over test rows apart.",
}


def tidy_csv(groups: Sequence[Group]) -> str:
    """One row a figure and run: the value as it was measured (shares from 0 to 1), its 95% interval, rows, seed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    for group in groups:
        for run in group.runs:
            names = (run.name, group.dataset, group.model, group.method, group.settings, run.seed)
            for figure in run.figures.values():
                writer.writerow((*names, figure.key, figure.label, figure.value, figure.low, figure.high, figure.n))
    return text.getvalue()


def markdown(collection: Collection, groups: Sequence[Group], title: str | None = None) -> str:
    """The leaderboard of each data set and model, the printed figures, and what is not counted."""
    parts = [f"# {plain(title or heading(collection, groups))}", plain(summary(groups))]
    for block, some in by_block(groups).items():
        parts += [f"## {plain(' · '.join(block))}", board(some)]
    if groups:
        tests = " ".join(TESTS[test] for test in sorted(evidence(groups), reverse=True))
        parts.append(
            f"Percent; mean ± standard deviation over n seeds, or the 95% interval of one seed. {tests}".strip()
        )
    for compared in comparisons(collection.grids, groups):
        parts += [f"## Measured beside printed: {plain(compared['grid'].title)}", plain(compared["verdict"])]
        parts.append(printed_table(compared["rows"]))
    if collection.left:
        rows = [(left.folder, left.state, left.reason) for left in collection.left]
        parts += ["## Not counted", table(("folder", "state", "why"), rows)]
    return "\n\n".join(parts) + "\n"


def board(groups: Sequence[Group]) -> str:
    columns = titles(key for group in groups for key in group.columns)
    rows = [
        [group.label, *(told(group.columns.get(column.key)) for column in columns), len(group.seeds)]
        for group in groups
    ]
    return table(["method", *(column.title for column in columns), "n"], rows)


def told(cell: Cell | None) -> str:
    """A cell on one line."""
    shown = view(cell)
    spread = f" ({shown['spread']})" if "–" in shown["spread"] else f" {shown['spread']}" if shown["spread"] else ""
    return f"{shown['text']}{spread}{' ' + shown['mark'] if shown['mark'] else ''}" if shown["text"] else "–"


def printed_table(rows: Sequence[dict[str, Any]]) -> str:
    heads = ("data set", "model", "method", "metric", "paper", "measured", "difference", "in words")
    lines = []
    for row in rows:
        method = f"{row['names'][2]} ({row['settings']})" if row["settings"] else row["names"][2]
        words = f"{row['answer']} ({row['remark']})" if row["remark"] else row["answer"]
        figures = (row["printed"], told(row["cell"]), row["difference"] or "–")
        lines.append((*row["names"][:2], method, row["metric"], *figures, words))
    return table(heads, lines)


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table of GitHub's Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(plain(str(item)) for item in line) + " |" for line in lines)


def plain(text: str) -> str:
    r"""A text that Markdown shows as it is, on one line.

    >>> plain("a|b <script> `x`")
    'a\\|b &lt;script&gt; \\`x\\`'
    """
    escaped = html.escape(" ".join(text.split()), quote=False)
    for character in "|`*_[]":
        escaped = escaped.replace(character, f"\\{character}")
    return escaped
