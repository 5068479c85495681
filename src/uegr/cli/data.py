"""`uegr data list|show|check|stats`: look at data sets."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from uegr.cli.completion import datasets
from uegr.cli.groups import with_groups
from uegr.cli.options import FILES, LABELS, Json
from uegr.cli.printing import print_json

if TYPE_CHECKING:
    from uegr.data.card import Card
    from uegr.data.load import Data

app = typer.Typer(no_args_is_help=True, help="Look at data sets: list, show, check, stats.")

Reading = dict[str, Any]  # options of `uegr.data.load`
Name = Annotated[str, typer.Argument(help="A data set, a file or a folder.", autocompletion=datasets)]
Names = Annotated[
    list[str] | None,
    typer.Argument(help="Data sets, files or folders; default: all on this machine.", autocompletion=datasets),
]
Split = Annotated[str | None, typer.Option(help="Only this split; default: all.")]


@app.command("list")
def list_(as_json: Json = False) -> None:
    """List the data sets that have a card, and where each can come from on this machine."""
    from uegr.data.card import cards

    if as_json:
        print_json([summary(card) for card in cards().values()])
    else:
        print_cards(list(cards().values()))


def print_cards(cards: "list[Card]") -> None:
    """A table, with languages and titles where the terminal is wide."""
    from rich.table import Table

    from uegr.console import Console

    console = Console()
    columns = ["name", "rows", "labels", "from"] + (["language", "title"] if console.width >= 120 else [])
    table = Table(box=None, header_style="bold")
    for column in columns:
        table.add_column(column, no_wrap=column != "title")
    for card in cards:
        sizes = " / ".join(f"{size:,}" for size in card.splits.values())
        labels = "number" if card.label_names is None else str(len(card.label_names))
        table.add_row(*[card.name, sizes, labels, origin(card), card.language, card.title][: len(columns)])
    console.print(table)


def origin(card: "Card") -> str:
    """Where the rows would come from now."""
    from uegr.data.resolve import card_files

    if card.where.package:
        return "package"
    if card_files(card):
        return "$UEGR_DATA" + (" (partial)" if card.partial else "")
    return "hub" if card.where.hub else "not here"


def summary(card: "Card") -> dict[str, Any]:
    """A card as JSON, with where its rows would come from."""
    return {**card.model_dump(mode="json", exclude={"where"}), "kind": card.kind, "from": origin(card)}


@app.command()
@with_groups(files=FILES, labels=LABELS)
def show(
    name: Name,
    files: Reading,
    labels: Reading,
    split: Split = None,
    rows: Annotated[int, typer.Option(min=0, help="How many rows per split.")] = 5,
    as_json: Json = False,
) -> None:
    """Show the first rows of a data set and the balance of its labels."""
    from uegr.data.load import load
    from uegr.data.show import example_rows, print_data

    data = load(name, splits=[split] if split else None, **files, **labels)
    if as_json:
        print_json(example_rows(data, rows))
    else:
        print_data(data, rows)


@app.command("check")
@with_groups(files=FILES, labels=LABELS)
def check_(
    files: Reading,
    labels: Reading,
    names: Names = None,
    max_words: Annotated[int, typer.Option(help="Report texts that are longer.")] = 512,
    noise: Annotated[bool, typer.Option(help="Look for labels that a bag of words would not expect.")] = True,
    strict: Annotated[bool, typer.Option("--strict", help="Warnings fail too.")] = False,
    as_json: Json = False,
) -> None:
    """Check sizes, repeats, leaks, empty, long and garbled texts, and doubtful labels; name the rows."""
    from uegr.data.check import check
    from uegr.data.show import print_report

    reports = []
    for name in names or available():
        reports.append(check(loaded_quietly(name, files | labels), max_words, noise))
        if not as_json:
            print_report(reports[-1])
    if as_json:
        print_json([report.as_json() for report in reports])
    if not all(report.passed and not (strict and report.findings) for report in reports):
        raise typer.Exit(1)


def available() -> list[str]:
    """The data sets whose rows are on this machine."""
    from uegr.data.card import cards
    from uegr.data.resolve import card_files

    return [card.name for card in cards().values() if card.where.package or card_files(card)]


def loaded_quietly(name: str, reading: Reading) -> "Data":
    """Load without the warnings of leaks and missing labels, which the check itself reports."""
    import warnings

    from uegr.data.load import load
    from uegr.errors import FindingWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FindingWarning)
        return load(name, **reading)


@app.command("stats")
@with_groups(files=FILES, labels=LABELS)
def stats_(name: Name, files: Reading, labels: Reading, split: Split = None, as_json: Json = False) -> None:
    """Draw the lengths and labels of every split."""
    from dataclasses import asdict

    from uegr.data.load import load
    from uegr.data.show import print_stats
    from uegr.data.stats import stats

    data = load(name, splits=[split] if split else None, **files, **labels)
    found = {split: stats(dataset, data.labels) for split, dataset in data.splits.items()}
    if as_json:
        print_json([{"name": data.name, "split": split, **asdict(numbers)} for split, numbers in found.items()])
        return
    for split_name, numbers in found.items():
        print_stats(data.name, split_name, numbers)
