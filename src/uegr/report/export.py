"""The same figures as text: Markdown tables for a pull request or a paper's draft, tidy CSV for a program."""

import csv
import html
import io
from collections.abc import Iterable, Sequence
from typing import Any

from uegr.report.caveats import at_chance, otherwise
from uegr.report.classes import imbalanced
from uegr.report.columns import titles
from uegr.report.cost import cost_of
from uegr.report.groups import BASELINE, Group, by_block, heading
from uegr.report.headline import Headline, doubted, headlines
from uegr.report.page import default_title
from uegr.report.printed import Row, comparisons
from uegr.report.provenance import summary
from uegr.report.reading import Collection
from uegr.report.tables import OTHERWISE, View, column_view, rows_text, tested, view
from uegr.report.verdict import Verdict, kind_of_rows, verdict
from uegr.statistics import finite

FIELDS = ("run", "dataset", "model", "method", "settings", "seed", "figure", "label", "value", "low", "high", "n")
UNLIKE = f"{OTHERWISE}: measured in another way than {BASELINE}, and not compared."
COSTS = ("passes", "forward + backward per step", "processor, s", "time, s")
OF_CLASSES = ("balanced_accuracy", "macro_f1")
MARKS = f"▲ better, ▼ worse than {BASELINE}: p < 0.05 over seeds and {{rows}}, after Holm's adjustment."


def tidy_csv(groups: Sequence[Group]) -> str:
    """One row per figure and run: the value as it was measured (shares from 0 to 1), its 95% interval, rows, seed."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(FIELDS)
    for group in groups:
        for run in group.runs:
            names = (run.run.name, group.dataset, group.model, group.method, group.settings, run.seed)
            for entry in run.figures.values():
                figure = entry.figure
                numbers = (figure.value, finite(figure.low), finite(figure.high), figure.n)
                writer.writerow((*names, entry.quantity.key, entry.quantity.label, *numbers))
    return text.getvalue()


def markdown(collection: Collection, groups: Sequence[Group], title: str | None = None) -> str:
    """The leaderboard of each data set and model, the printed figures, and what is not counted."""
    parts = [f"# {plain(title or default_title(collection, groups))}", plain(summary(groups))]
    found = verdict(groups)
    parts += verdict_parts(found) if found else []
    parts += [part for one in headlines(groups) for part in headline_parts(one)]
    for block, some in by_block(groups).items():
        parts += [f"## {plain(heading(block))}", board(some), plain(rows_line(some))]
        parts += [*class_parts(some), *chance_parts(some)]
    if groups:
        marks = MARKS.format(rows=kind_of_rows(groups)) if tested(groups) else "One seed is not tested."
        marks += f" {UNLIKE}" if otherwise(groups) else ""
        parts.append(f"Percent; mean ± standard deviation over n seeds, or the 95% interval of one seed. {marks}")
    for compared in comparisons(collection.grids, groups):
        parts += [f"## Measured beside printed: {plain(compared.grid.title)}", plain(compared.verdict)]
        parts.append(printed_table(compared.rows))
    if collection.left:
        rows = [(left.folder, left.state, left.reason) for left in collection.left]
        parts += ["## Not counted", table(("folder", "state", "why"), rows)]
    return "\n\n".join(parts) + "\n"


def headline_parts(found: Headline) -> list[str]:
    """The headline of a data set and model: a heading, a table, and the reasons to doubt it."""
    heads = ["method", *(column.title for column in found.columns), *found.gains, "n", "passes"]
    rows = []
    for one in found.lines:
        price = one.cost.in_block_text
        gains = [text or "–" for text in one.gains]
        rows.append([one.group.label, *map(told, one.views), *gains, len(one.group.seeds), price])
    reasons = [f"- {plain(reason)} ({plain(', '.join(names))})" for reason, names in doubted(found).items()]
    doubts = ["Reasons to doubt, derived from the figures:\n\n" + "\n".join(reasons)] if reasons else []
    return [f"## Headline: {plain(found.title)}", table(heads, rows), *doubts]


def board(groups: Sequence[Group]) -> str:
    columns = titles(key for group in groups for key in group.columns)
    rows = [
        [
            group.label,
            *(told(column_view(group.columns.get(column.key))) for column in columns),
            len(group.seeds),
            *costs(group),
        ]
        for group in groups
    ]
    return table(["method", *(column.title for column in columns), "n", *COSTS], rows)


def class_parts(groups: Sequence[Group]) -> list[str]:
    """What accuracy hides where classes are imbalanced: nothing where they are not."""
    rows = []
    for group in groups:
        if (known := imbalanced(group)) is not None:
            split, found = known
            cells = (group.cells.get(f"clean/{split}/{metric}") for metric in OF_CLASSES)
            always = f"{100 * found.majority_accuracy:.1f} ({found.majority})"
            rows.append([group.label, split, *(told(view(cell)) for cell in cells), always])
    heads = ("method", "split", *(metric.replace("_", " ") for metric in OF_CLASSES), "accuracy of the majority label")
    return ["Imbalanced classes:", table(heads, rows)] if rows else []


def chance_parts(groups: Sequence[Group]) -> list[str]:
    """The settings that are not shown to be above chance."""
    lines = "\n".join(f"- {plain(line)}" for line in at_chance(groups))
    return [f"Reasons to doubt, derived from the figures:\n\n{lines}"] if lines else []


def rows_line(groups: Sequence[Group]) -> str:
    """How many rows the figures of each column rest on."""
    columns = titles(key for group in groups for key in group.columns)
    counts = [f"{column.title} {text}" for column in columns if (text := rows_text(groups, column.key))]
    return f"Rows: {'; '.join(counts)}.".replace(" rows", "")


def costs(group: Group) -> list[str]:
    """The cost columns: passes relative to the baseline, per step, processor and wall time."""
    cost = cost_of(group)
    return [cost.in_block_text, cost.per_step, f"{cost.processor:,.0f}", f"{cost.seconds:,.0f} ({cost.beside})"]


def verdict_parts(found: Verdict) -> list[str]:
    """The verdict as a sentence and a table."""
    rows = []
    for row in found.rows:
        gains = [gain.text if gain else "–" for gain in map(row.gain, found.columns)]
        words = ", ".join(part for part in (row.words, row.where(found.shared)) if part)
        rows.append([row.name, *gains, row.cost_text, row.seeds_text, words])
    heads = ["method", *(f"{title}, points ({found.rows_of(title)})" for title in found.columns)]
    heads += ["cost", "from", "in words"]
    parts = [plain(found.sentence), *([table(heads, rows)] if rows else []), plain(found.notes)]
    return ["## Verdict", *(part for part in parts if part)]


def told(shown: View) -> str:
    """A cell on one line."""
    if not shown.text:
        return "–"
    spread = f"({shown.spread})" if shown.spread and "±" not in shown.spread else shown.spread
    return " ".join(part for part in (shown.text, spread, shown.mark) if part)


def printed_table(rows: Sequence[Row]) -> str:
    heads = ("data set", "model", "method", "metric", "paper", "measured", "difference", "in words")
    lines = []
    for row in rows:
        dataset, model, method = row.names
        settings = row.printed.settings_text
        method = f"{method} ({settings})" if settings else method
        words = f"{row.answer} ({row.remark})" if row.remark else row.answer
        figures = (row.printed.text(row.cell), told(view(row.cell)), row.difference or "–")
        lines.append((dataset, model, method, row.printed.metric, *figures, words))
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
