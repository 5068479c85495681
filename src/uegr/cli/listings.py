"""`uegr list`: methods, models and data sets as objects, and as a table."""

import inspect
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table


def methods() -> list[dict[str, Any]]:
    """Every method with its summary, source, passes over the batch and, where it was measured, what a step costs."""
    from uegr.methods import METHODS

    record = measured()
    return [method_entry(name, factory, record) for name, factory in METHODS.items()]


def method_entry(name: str, factory: Any, record: dict[str, Any]) -> dict[str, Any]:
    """One method, from its docstrings, signature and measurement; `cost` is the time of its step over vanilla's."""
    forward, backward = factory().objective.passes
    module = inspect.getdoc(inspect.getmodule(factory)) or ""
    return {
        "name": name,
        "summary": (inspect.getdoc(factory) or "").splitlines()[0],
        "source": source_line(module),
        "forward_passes": forward,
        "backward_passes": backward,
        "cost": record.get("ratios", {}).get(name),
        "options": {key: shown(parameter.default) for key, parameter in inspect.signature(factory).parameters.items()},
    }


def measured() -> dict[str, Any]:
    """What `benchmarks/perf/step_cost.py --record` has kept; empty where nothing was measured."""
    from uegr import methods

    file = Path(methods.__file__).parent / "cost.json"
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


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
    "methods": ("name", "summary", "passes", "cost", "source"),
    "models": ("name", "description", "parameters", "language", "licence"),
    "datasets": ("name", "title", "language", "task", "splits"),
}


def show(what: str, entries: list[dict[str, Any]]) -> None:
    """A table in the terminal."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in COLUMNS[what]:
        number = column in ("cost", "parameters")
        table.add_column(column, justify="right" if number else "left", no_wrap=number or column in ("name", "passes"))
    for entry in entries:
        table.add_row(*(cell(entry, column) for column in COLUMNS[what]))
    Console().print(table)


def cell(entry: dict[str, Any], column: str) -> str:
    """One cell: a mapping as its pairs, passes forward and backward, cost as a multiple of vanilla's step."""
    if column == "passes":
        return f"{entry['forward_passes']}f {entry['backward_passes']}b"
    value = entry.get(column, "")
    if column == "cost":
        return times(value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {count:,}" for key, count in value.items())
    return str(value)


def times(ratio: float | None) -> str:
    """
    >>> times(2.968), times(None)
    ('2.97x', 'not measured')
    """
    return "not measured" if ratio is None else f"{ratio:.2f}x"
