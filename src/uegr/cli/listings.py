"""`uegr list`: methods, models, data sets, attacks and grids, as a table or as JSON."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from uegr.cli import completion
from uegr.cli.options import Json
from uegr.cli.printing import print_json
from uegr.errors import InputError, did_you_mean

COLUMNS = {
    "methods": ("name", "summary", "passes", "cost", "source"),
    "models": ("name", "description", "parameters", "language", "licence"),
    "datasets": ("name", "title", "language", "kind", "splits"),
    "attacks": ("name", "summary", "settings"),
    "grids": ("name", "title", "scales"),
}


def list_(
    what: Annotated[
        str, typer.Argument(help="methods, models, datasets, attacks or grids.", autocompletion=completion.listed)
    ],
    as_json: Json = False,
) -> None:
    """List methods, models, data sets, attacks or grids."""
    kinds = {"methods": methods, "models": models, "datasets": datasets, "attacks": attacks, "grids": grids}
    if what not in kinds:
        raise InputError(f"there is no list of {what}; {did_you_mean(what, kinds)}")
    entries = kinds[what]()
    if as_json:
        print_json(entries)
    else:
        print_table(what, entries)


def methods() -> list[dict[str, Any]]:
    """Every method, from a file that docs/generate.py writes: the methods themselves need torch."""
    file = Path(__file__).parents[1] / "methods" / "listing.json"
    found: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return found


def models() -> list[dict[str, Any]]:
    """Every model alias."""
    from uegr.models import cards

    return [card.model_dump(mode="json", exclude={"sources"}, exclude_none=True) for card in cards().values()]


def datasets() -> list[dict[str, Any]]:
    """Every data-set card."""
    from uegr.data import cards

    keys = ("name", "title", "language", "licence")
    return [
        {key: getattr(card, key) for key in keys} | {"kind": card.kind, "splits": dict(card.splits)}
        for card in cards().values()
    ]


def attacks() -> list[dict[str, Any]]:
    """Every attack."""
    from uegr.attacks.catalogue import entries

    return entries()


def grids() -> list[dict[str, Any]]:
    """Every grid that is part of the package."""
    from uegr.benchmark.named import grids
    from uegr.safe_yaml import load

    found = {name: load(path.read_text(encoding="utf-8"), path.name) for name, path in grids().items()}
    return [
        {"name": name, "title": grid["title"], "scales": list(grid.get("scales") or ())} for name, grid in found.items()
    ]


def print_table(what: str, entries: list[dict[str, Any]]) -> None:
    """A table in the terminal."""
    from rich.table import Table
    from rich.text import Text

    from uegr.console import Console

    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in COLUMNS[what]:
        number = column in ("cost", "parameters")
        justify: Any = "right" if number else "left"
        table.add_column(column, justify=justify, overflow="fold", no_wrap=number or column in ("name", "passes"))
    for entry in entries:
        table.add_row(*(Text(cell(entry, column)) for column in COLUMNS[what]))
    Console().print(table)


def cell(entry: dict[str, Any], column: str) -> str:
    """One cell: a mapping as its pairs, passes forward and backward, cost as a multiple of vanilla's step."""
    if column == "passes":
        return f"{entry['forward_passes']}f {entry['backward_passes']}b"
    value = entry.get(column, "")
    if column == "cost":
        return times(value)
    if column == "settings":
        return ", ".join(f"{key}={listed(default)}" for key, default in value.items())
    if isinstance(value, list):
        return ", ".join(map(str, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {count:,}" for key, count in value.items())
    return str(value)


def listed(default: Any) -> str:
    """A default as `--set` takes it.

    >>> listed(("typos", "contractions")), listed(None)
    ('[typos,contractions]', 'null')
    """
    if isinstance(default, tuple):
        return f"[{','.join(map(str, default))}]"
    return "null" if default is None else str(default)


def times(ratio: float | None) -> str:
    """
    >>> times(2.968), times(None)
    ('2.97x', 'not measured')
    """
    return "not measured" if ratio is None else f"{ratio:.2f}x"
