"""`uegr data list|show|check|stats`."""

import json
from dataclasses import asdict
from typing import Annotated, Any

import typer

from uegr.data.card import Card, cards
from uegr.data.load import Data, load
from uegr.data.resolve import card_files
from uegr.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Data sets: which there are, what is in them, what is wrong with them.")

Name = Annotated[str, typer.Argument(help="A data set's name, a file, or a folder.")]
Names = Annotated[list[str] | None, typer.Argument(help="Data sets, files or folders; none: all that are here.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON array instead of a table.")]
Split = Annotated[str | None, typer.Option(help="Only this split.")]
TextColumn = Annotated[str | None, typer.Option(help="The column of the text; detected otherwise.")]
PairColumn = Annotated[str | None, typer.Option(help="The column of the second text of a pair.")]
LabelColumn = Annotated[str | None, typer.Option(help="The column of the label; detected otherwise.")]
Delimiter = Annotated[str | None, typer.Option(help="What separates the fields of a csv file; detected otherwise.")]
Quoting = Annotated[str | None, typer.Option(help="standard, or none if quotes are ordinary characters.")]
Encoding = Annotated[str | None, typer.Option(help="Such as utf-16 or gb18030; UTF-8 and marked files are detected.")]
Task = Annotated[str | None, typer.Option(help="classification or regression, where the labels leave it open.")]
PaperSplit = Annotated[bool, typer.Option(help="The split that the papers use, where the card knows one.")]


def one_of(value: str | None, flag: str, *choices: str) -> Any:
    if value is not None and value not in choices:
        raise InputError(f"expected {flag} {' or '.join(choices)}, got {value!r}")
    return value


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """The data sets that have a card, and where each can come from on this machine."""
    if as_json:
        typer.echo(json.dumps([summary(card) for card in cards().values()], ensure_ascii=False, indent=1))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    columns = ["name", "rows", "labels", "from"] + (["language", "title"] if console.width >= 120 else [])
    table = Table(box=None, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column != "title")
    for card in cards().values():
        sizes = " / ".join(f"{size:,}" for size in card.splits.values())
        labels = "number" if card.label_names is None else str(len(card.label_names))
        table.add_row(*[card.name, sizes, labels, origin(card), card.language, card.title][: len(columns)])
    console.print(table)


def origin(card: Card) -> str:
    """Where the rows would come from now."""
    if card.where.package:
        return "package"
    if card_files(card):
        return "$UEGR_DATA" + (" (partial)" if card.partial else "")
    return "hub" if card.where.hub else "not here"


def summary(card: Card) -> dict[str, Any]:
    return {**card.model_dump(mode="json", exclude={"where"}), "task": card.task, "from": origin(card)}


@app.command()
def show(
    name: Name,
    split: Split = None,
    rows: Annotated[int, typer.Option(min=0, help="How many rows of each split.")] = 5,
    as_json: AsJson = False,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    delimiter: Delimiter = None,
    quoting: Quoting = None,
    encoding: Encoding = None,
    task: Task = None,
    paper_split: PaperSplit = False,
) -> None:
    """The first rows of a data set and the balance of its labels."""
    from uegr.data.show import example_rows, print_data

    options = column_options(text_column, pair_column, label_column, delimiter, quoting, encoding, task)
    data = load(name, splits=[split] if split else None, paper_split=paper_split, **options)
    if as_json:
        typer.echo(json.dumps(example_rows(data, rows), ensure_ascii=False, indent=1))
    else:
        print_data(data, rows)


def column_options(
    text: str | None,
    pair: str | None,
    label: str | None,
    delimiter: str | None,
    quoting: str | None,
    encoding: str | None,
    task: str | None,
) -> dict[str, Any]:
    """The options of `load` that the flags say."""
    return {
        "text_column": text,
        "pair_column": pair,
        "label_column": label,
        "delimiter": {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter),
        "quoting": one_of(quoting, "--quoting", "standard", "none"),
        "encoding": encoding,
        "task": one_of(task, "--task", "classification", "regression"),
    }


@app.command("check")
def check_(
    names: Names = None,
    max_words: Annotated[int, typer.Option(help="Longer texts are named.")] = 512,
    noise: Annotated[bool, typer.Option(help="Look for labels that a bag of words would not expect.")] = True,
    strict: Annotated[bool, typer.Option(help="Warnings fail too.")] = False,
    as_json: AsJson = False,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    delimiter: Delimiter = None,
    quoting: Quoting = None,
    encoding: Encoding = None,
    task: Task = None,
) -> None:
    """Sizes against the official ones, repeats, leaks, empty, long and garbled texts, doubtful labels: which rows."""
    from uegr.data.check import check
    from uegr.data.show import print_report

    options = column_options(text_column, pair_column, label_column, delimiter, quoting, encoding, task)
    reports = []
    for name in names or [card.name for card in cards().values() if card.where.package or card_files(card)]:
        reports.append(check(quietly(name, options), max_words, noise))
        if not as_json:
            print_report(reports[-1])
    if as_json:
        typer.echo(json.dumps([report.as_json() for report in reports], ensure_ascii=False, indent=1))
    if not all(report.passed and not (strict and report.findings) for report in reports):
        raise typer.Exit(1)


def quietly(name: str, options: dict[str, Any]) -> Data:
    """Load without the warning about leaks, which the check itself reports."""
    import warnings

    from uegr.errors import DataWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return load(name, **options)


@app.command("stats")
def stats_(
    name: Name,
    split: Split = None,
    as_json: AsJson = False,
    text_column: TextColumn = None,
    pair_column: PairColumn = None,
    label_column: LabelColumn = None,
    delimiter: Delimiter = None,
    quoting: Quoting = None,
    encoding: Encoding = None,
    task: Task = None,
    paper_split: PaperSplit = False,
) -> None:
    """Lengths and labels of every split, drawn."""
    from uegr.data.show import print_stats
    from uegr.data.stats import stats

    options = column_options(text_column, pair_column, label_column, delimiter, quoting, encoding, task)
    data = load(name, splits=[split] if split else None, paper_split=paper_split, **options)
    found = {split: stats(dataset, data.labels) for split, dataset in data.splits.items()}
    if as_json:
        rows = [{"name": data.name, "split": split, **asdict(numbers)} for split, numbers in found.items()]
        typer.echo(json.dumps(rows, ensure_ascii=False, indent=1))
        return
    for split_name, numbers in found.items():
        print_stats(data.name, split_name, numbers)
