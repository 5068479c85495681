"""`uegr list`: methods, models and data sets as objects, and as a table."""

import inspect
from typing import Any

from rich.console import Console
from rich.table import Table


def methods() -> list[dict[str, Any]]:
    """Every method with its summary, source and passes over the batch."""
    from uegr.methods import METHODS

    return [method_entry(name, factory) for name, factory in METHODS.items()]


def method_entry(name: str, factory: Any) -> dict[str, Any]:
    """One method, from its docstrings and its signature."""
    forward, backward = factory().objective.passes
    module = inspect.getdoc(inspect.getmodule(factory)) or ""
    return {
        "name": name,
        "summary": (inspect.getdoc(factory) or "").splitlines()[0],
        "source": source_line(module),
        "forward_passes": forward,
        "backward_passes": backward,
        "options": {key: shown(parameter.default) for key, parameter in inspect.signature(factory).parameters.items()},
    }


def source_line(docstring: str) -> str:
    """The citation: the second paragraph of a method's module docstring, where it has a year or an identifier."""
    paragraphs = docstring.split("\n\n")
    cited = " ".join(paragraphs[1].split()) if len(paragraphs) > 1 else ""
    return cited if any(character.isdigit() for character in cited) and "=" not in cited else ""


def shown(value: Any) -> Any:
    """A default as JSON has it."""
    return list(value) if isinstance(value, tuple) else value


def models() -> list[dict[str, Any]]:
    """Every model alias."""
    from uegr.models import cards

    return [card.model_dump(mode="json", exclude={"sources"}, exclude_none=True) for card in cards().values()]


def datasets() -> list[dict[str, Any]]:
    """Every data-set card."""
    from uegr.data import cards

    keys = ("name", "title", "language", "licence")
    return [
        {key: getattr(card, key) for key in keys} | {"task": card.task, "splits": dict(card.splits)}
        for card in cards().values()
    ]


COLUMNS = {
    "methods": ("name", "summary", "forward_passes", "backward_passes", "source"),
    "models": ("name", "description", "parameters", "language", "licence"),
    "datasets": ("name", "title", "language", "task", "splits"),
}


def show(what: str, entries: list[dict[str, Any]]) -> None:
    """A table in the terminal."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in COLUMNS[what]:
        heading = {"forward_passes": "forward", "backward_passes": "backward"}.get(column, column)
        number = column.endswith("passes") or column == "parameters"
        table.add_column(heading, justify="right" if number else "left", no_wrap=column == "name")
    for entry in entries:
        table.add_row(*(cell(entry.get(column, "")) for column in COLUMNS[what]))
    Console().print(table)


def cell(value: Any) -> str:
    """One cell; a mapping as its pairs."""
    if isinstance(value, dict):
        return ", ".join(f"{key} {count:,}" for key, count in value.items())
    return str(value)
