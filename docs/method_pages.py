"""The pages of docs/methods, from each method's docstrings and signature, its declared passes and its measured cost."""

import inspect
import json
import re
import types
import typing
from pathlib import Path
from typing import Any, Literal

from uegr.cli.listings import times
from uegr.methods import METHODS
from uegr.methods.entries import entry, measured

NOTES = Path(__file__).parent / "notes"
NOTE = "<!-- Written by docs/generate.py from src/uegr/methods; change it there. -->"


def pages() -> dict[str, str]:
    """File name -> its text, for every method and the index."""
    record = measured()
    entries = [entry(name, factory, record) for name, factory in METHODS.items()]
    return {"README.md": index(entries, record)} | {
        f"{one['name']}.md": page(one, METHODS[one["name"]], record) for one in entries
    }


def index(entries: list[dict[str, Any]], record: dict[str, Any]) -> str:
    """The table of all methods."""
    rows = [
        [
            f"[`{entry['name']}`]({entry['name']}.md)",
            escaped(entry["summary"]),
            passes(entry),
            times(entry["cost"]),
            escaped(entry["source"]),
        ]
        for entry in entries
    ]
    parts = [
        NOTE,
        "# Methods",
        "Choose one with `method=methods.uegr()` in Python, or `uegr train --method uegr --dataset snippets` on the "
        "command line. [own_method.md](../own_method.md) shows how to write your own method.",
        table(["name", "what it does", "passes", "cost", "source"], rows),
        "Passes over the batch, forward (f) and backward (b), are those of the default options; each method declares "
        "them, and [a test](../../tests/methods/test_contract.py) counts them. Cost is the time of a training step, "
        f"relative to vanilla. {conditions(record)}",
    ]
    return "\n\n".join(parts) + "\n"


def page(entry: dict[str, Any], factory: Any, record: dict[str, Any]) -> str:
    """One method."""
    name = entry["name"]
    title, _, *body = paragraphs(inspect.getmodule(factory))
    parts = [
        NOTE,
        f"# {name}",
        escaped(" ".join(title.split())),
        f"**Source:** {escaped(entry['source'])}",
        "## What a step computes",
        *(paragraph(text) for text in body),
        *notes(name),
        "## Options",
        options(name, factory),
        "## Cost",
        cost(entry, record),
        f"Code: [src/uegr/methods/{name}.py](../../src/uegr/methods/{name}.py). [All methods](README.md)",
    ]
    return "\n\n".join(parts) + "\n"


def notes(name: str) -> list[str]:
    """What is too long for a docstring: docs/notes/NAME.md without its first line, if there is one."""
    file = NOTES / f"{name}.md"
    return [file.read_text(encoding="utf-8").partition("\n")[2].strip()] if file.exists() else []


def paragraphs(module: Any) -> list[str]:
    """The docstring in paragraphs: what it is, the citation, then equations (indented) and prose."""
    found = (inspect.getdoc(module) or "").split("\n\n")
    if len(found) < 3 or not any(text.startswith("    ") for text in found):
        raise ValueError(f"expected a title, a citation and an indented equation in the docstring of {module.__name__}")
    return found


def paragraph(text: str) -> str:
    """An equation as a block of code, prose with its deviations marked."""
    if text.startswith("    "):
        return f"```text\n{inspect.cleandoc(text)}\n```"
    return re.sub(r"\b(Deviations(?: and readings)?):", r"**\1:**", linked(escaped(text)))


def linked(text: str) -> str:
    """Names of methods lead to their pages."""
    return re.sub(r"`(\w+)`", lambda found: f"[`{found[1]}`]({found[1]}.md)" if found[1] in METHODS else found[0], text)


def escaped(text: str) -> str:
    """Plain text with `code` in it, as Markdown reads it in a paragraph or a cell."""
    pieces = text.split("`")
    pieces[::2] = [re.sub(r"([*~|\\]|(?<!\w)_)", r"\\\1", piece).replace("<", "&lt;") for piece in pieces[::2]]
    pieces[1::2] = [piece.replace("|", r"\|") for piece in pieces[1::2]]
    return "`".join(pieces)


def options(name: str, factory: Any) -> str:
    """The keyword arguments, and how to set one."""
    parameters = inspect.signature(factory).parameters
    rows = [[f"`{key}`", kind(one.annotation), code(one.default)] for key, one in parameters.items()]
    key, first = next(iter(parameters.items()))
    value = first.default if first.default is not None else 0.1
    return (
        table(["option", "type", "default"], rows) + f"\n\n`methods.{name}({key}={value!r})` in Python, "
        f"`uegr train --method {name} --dataset snippets --set method.{key}={value}` on the command line."
    )


def kind(annotation: Any) -> str:
    """The values that an option takes, in words."""
    if typing.get_origin(annotation) is Literal:
        return ", ".join(code(value) for value in typing.get_args(annotation))
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return " or ".join(kind(part) for part in typing.get_args(annotation))
    if typing.get_origin(annotation) is tuple:
        return sequence(typing.get_args(annotation))
    return "`None`" if annotation is type(None) else f"`{annotation.__name__}`"


def sequence(parts: tuple[Any, ...]) -> str:
    """A tuple of one type: of any length, or of a fixed length."""
    count = "" if parts[-1] is Ellipsis else f"{len(parts)} "
    return f"tuple of {count}{kind(parts[0])}"


def code(value: Any) -> str:
    """A value as Python writes it, in the docstrings' quotes."""
    return f"`{json.dumps(value) if isinstance(value, str) else repr(value)}`"


def cost(entry: dict[str, Any], record: dict[str, Any]) -> str:
    """Passes, and their measured time and memory."""
    memory = record.get("step_memory", {}).get(entry["name"])
    row = [passes(entry), times(entry["cost"]), times(memory)]
    return (
        table(["passes", "time of a step", "memory that a step allocates"], [row])
        + "\n\nPasses over the batch are forward (f) and backward (b), with the default options. Time and memory are "
        f"relative to vanilla. {conditions(record)}"
    )


def conditions(record: dict[str, Any]) -> str:
    """How the measurement was made."""
    if not record:
        return "`python benchmarks/perf/step_cost.py --record` measures it."
    threads = "one thread" if record["threads"] == 1 else f"{record['threads']} threads"
    return (
        f"Measured on `minilm` with batches of {record['batch']} `snippets` and {threads} of a CPU, the median of "
        f"at least {record['rounds']} rounds, alternating with vanilla: `python benchmarks/perf/step_cost.py --record`."
    )


def passes(entry: dict[str, Any]) -> str:
    return f"{entry['forward_passes']}f {entry['backward_passes']}b"


def table(heads: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
