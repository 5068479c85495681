"""What `uegr data` prints. Rows may contain anything, so control characters never reach the terminal."""

from typing import Any

from rich.table import Table
from rich.text import Text

from uegr.console import Console
from uegr.data.check import Report
from uegr.data.load import Data
from uegr.data.stats import Stats, balance, bar

MARKS = {"complete": "green", "partial": "yellow", "absent": "yellow", "wrong": "red", "unknown": "dim"}


def plain(text: str, longest: int = 300) -> Text:
    """A text on one line, without control characters, not longer than `longest`.

    >>> plain("a\\x1b[31m\\nb").plain
    'a [31m b'
    """
    line = "".join(letter if letter.isprintable() else " " for letter in text[: longest + 1])
    return Text(line if len(text) <= longest else line[:longest] + "…")


def example_rows(data: Data, rows: int) -> list[dict[str, Any]]:
    """One object per split: its size, the balance of its labels, its first rows."""
    return [
        {
            "name": data.name,
            "split": split,
            "kind": data.kind,
            "rows": len(dataset),
            "balance": balance(dataset, data.labels),
            "examples": [named(row, data) for row in dataset.select(range(min(rows, len(dataset))))],
        }
        for split, dataset in data.splits.items()
    ]


def named(row: dict[str, Any], data: Data) -> dict[str, Any]:
    """The row with its label's name in place of the number."""
    return {**row, "label": data.labels[row["label"]]} if data.labels and "label" in row else row


def print_data(data: Data, rows: int) -> None:
    console = Console()
    if data.card:
        console.print(Text(data.card.title, "bold"), Text(f"\n{data.card.licence} · {data.card.language}", "dim"))
        if data.card.note:
            console.print(Text(data.card.note, "dim"))
    for split in example_rows(data, rows):
        console.print(Text(f"\n{data.name} {split['split']}, {split['rows']:,} rows", "bold"))
        print_bars(console, split["balance"])
        table = Table(box=None, header_style="dim")
        there = data.splits[split["split"]].column_names
        columns = [column for column in ("label", "text", "pair") if column in there] if rows else []
        for column in ["row", *columns] if rows else []:
            table.add_column(column, justify="right" if column == "row" else "left", overflow="fold")
        for number, row in zip(data.numbers(split["split"]), split["examples"], strict=False):
            table.add_row(str(number), *(plain(str(row[column])) for column in columns))
        console.print(table)


def print_bars(console: Console, counts: dict[str, int]) -> None:
    """Bars by name, at most thirty of them."""
    table = Table(box=None, show_header=False)
    whole, most = sum(counts.values()), max(counts.values(), default=0)
    for name, count in list(counts.items())[:30]:
        table.add_row(plain(name, 40), f"{count:,}", f"{100 * count / max(whole, 1):.1f}%", bar(count, most))
    console.print(table)
    if len(counts) > 30:
        console.print(Text(f"and {len(counts) - 30} more", "dim"))


def print_report(report: Report) -> None:
    """One line per split and one line per finding."""
    console = Console()
    verdict = Text("passed", "green") if report.passed else Text("failed", "bold red")
    console.print(Text(report.name, "bold"), verdict)
    for size in report.sizes:
        of = "" if size.official in (None, size.rows) else f" of {size.official:,}"
        note = f" ({size.note})" if size.note else ""
        line = f"{size.split}: {size.rows:,}{of} rows{note}"
        console.print(Text(f"  {size.status:11}", MARKS[size.status]), Text(line), soft_wrap=True)
    for finding in report.findings:
        rows = f" (row{'s' * (len(finding.first) > 1)} {', '.join(map(str, finding.first))})" if finding.first else ""
        line = f"{finding.split}: {finding.text}{rows}"
        console.print(Text(f"  {finding.kind:11}", "yellow"), plain(line), soft_wrap=True)


def print_stats(name: str, split: str, numbers: Stats) -> None:
    console = Console()
    console.print(Text(f"{name} {split}, {numbers.rows:,} rows", "bold"))
    of = {0: "shortest", 50: "median", 95: "95%", 99: "99%", 100: "longest"}
    console.print(Text("words: " + ", ".join(f"{of[at]} {n:,}" for at, n in numbers.lengths.items() if at in of)))
    print_bars(console, {f"{low} to {high}" if high > low else f"{low}": n for low, high, n in numbers.histogram})
    if numbers.balance:
        console.print(Text("labels"))
        print_bars(console, numbers.balance)
