"""docs/api.md: what users may import, from docstrings and source."""

import ast
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from method_pages import escaped

from uegr.methods import METHODS

NOTE = "<!-- Written by docs/generate.py from docstrings; change it there. -->"
MODULES = (
    "uegr",
    "uegr.methods",
    "uegr.attacks",
    "uegr.evaluation",
    "uegr.data",
    "uegr.models",
    "uegr.result",
    "uegr.statistics",
    "uegr.testing",
)
INTERNAL = {"Named", "Part", "complaint", "figure_of", "parsed"}  # of uegr.result
INTRODUCTION = f"""{NOTE}

# Public API

These names may be imported. Everything else in the package may change at any time.

## Stability

- Public is what this page lists: the names that these modules export, their keyword arguments, and the fields of their
  classes. Public are also the commands and flags of `uegr`, the keys of the YAML files, and the files of a run
  ([runs.md](runs.md)).
- The version is `MAJOR.MINOR.PATCH`. Before 1.0 a minor version may change public names. A name that will be removed or
  renamed still works for one minor version and raises a `DeprecationWarning` that names its replacement. The changelog
  lists every change.
- `result.json` has a schema number. A version reads its own schema only; a file of another schema is refused with one
  line that names the file and the remedy.
- Names with a leading underscore, names in submodules that are not listed here, and the order of positional arguments
  after the first are private: use keywords."""


def page() -> str:
    """The whole page."""
    return "\n\n".join([INTRODUCTION, contents(), *(section(name) for name in MODULES)]) + "\n"


def contents() -> str:
    """Links to the modules."""
    return "\n".join(f"- [`{name}`](#{name.replace('.', '')})" for name in MODULES)


def section(name: str) -> str:
    """One module: what it is for, then each name that it exports."""
    module = importlib.import_module(name)
    rooms = [one for one in names(module) if inspect.ismodule(getattr(module, one))]
    elsewhere = {one: home for one in names(module) if (home := owner(one, getattr(module, one))) != name}
    parts = [f"## {name}", *blocks(inspect.getdoc(module) or "")]
    if rooms:
        parts.append(f"Modules, imported on first use: {', '.join(f'[`{one}`](#{name}{one})' for one in rooms)}.")
    if name == "uegr.methods":
        parts.append(f"The methods: {', '.join(f'[`{one}`](methods/{one}.md)' for one in METHODS)}.")
    if also := [one for one in elsewhere if one not in rooms]:
        parts.append(f"Described below: {', '.join(f'[`{one}`](#{one.lower()})' for one in also)}.")
    own = [one for one in names(module) if one not in {*rooms, *elsewhere, *METHODS}]
    return "\n\n".join(parts + [entry(module, one) for one in own])


def owner(name: str, value: Any) -> str:
    """The last of the modules that export this object under this name: `uegr` and `evaluation` pass others' on."""
    found = [importlib.import_module(one) for one in MODULES]
    return [one.__name__ for one in found if name in names(one) and getattr(one, name) is value][-1]


def names(module: ModuleType) -> list[str]:
    """What the module exports; without `__all__`, the classes and functions that it defines."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__, key=str.lower)
    values = vars(module).items()
    defined = [name for name, value in values if getattr(value, "__module__", None) == module.__name__]
    return sorted((name for name in defined if not name.startswith("_") and name not in INTERNAL), key=str.lower)


def entry(module: ModuleType, name: str) -> str:
    """One name: how it is written, and its docstring."""
    home, node = definition(module, name)
    if isinstance(node, ast.ClassDef):
        text = [*blocks(ast.get_docstring(node) or ""), *methods_of(node)]
        return "\n\n".join([f"### `{name}`", fenced(class_code(home, node)), *text])
    if isinstance(node, ast.FunctionDef):
        return "\n\n".join([f"### `{name}`", fenced(signature(node)), *blocks(ast.get_docstring(node) or "")])
    return "\n\n".join([f"### `{name}`", value_text(getattr(module, name), home, node)])


def definition(module: ModuleType, name: str) -> tuple[str, ast.stmt]:
    """The source and the statement that defines a name, followed through imports."""
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return source, node
        if isinstance(node, ast.Assign | ast.AnnAssign) and name in targets(node):
            return source, node
        if isinstance(node, ast.ImportFrom) and any((alias.asname or alias.name) == name for alias in node.names):
            return definition(importlib.import_module(str(node.module)), name)
    raise ValueError(f"expected a definition of {name} in {module.__name__}, got none")


def targets(node: ast.Assign | ast.AnnAssign) -> set[str]:
    """The names that a statement assigns."""
    found = node.targets if isinstance(node, ast.Assign) else [node.target]
    return {target.id for target in found if isinstance(target, ast.Name)}


def signature(node: ast.FunctionDef) -> str:
    """The function without its body and decorators, on one line or one argument per line."""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{node.name}({ast.unparse(node.args)}){returns}"
    if len(line) <= 100:
        return line
    arguments = "".join(f"    {argument},\n" for argument in split_arguments(ast.unparse(node.args)))
    return f"{node.name}(\n{arguments}){returns}"


def split_arguments(written: str) -> list[str]:
    """Arguments at the commas that are outside of brackets and quotes.

    >>> split_arguments("a: dict[str, int], *, b: str='x, y'")
    ['a: dict[str, int]', '*', "b: str='x, y'"]
    """
    parts, depth, quote = [""], 0, ""
    for character in written:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def class_code(source: str, node: ast.ClassDef) -> str:
    """The head of a class with its public fields as they are written, or with the arguments of `__init__`."""
    bases = f"({', '.join(ast.unparse(base) for base in node.bases)})" if node.bases else ""
    lines = source.splitlines()
    public = [
        one for one in node.body if isinstance(one, ast.AnnAssign) and not ast.unparse(one.target).startswith("_")
    ]
    fields = [line for one in public for line in lines[one.lineno - 1 : one.end_lineno]]
    starts = [one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"]
    made = signature(starts[0]).replace("self, ", "").replace("    self,\n", "").splitlines() if starts else []
    body = fields + [f"    {'' if number else 'def '}{line}" for number, line in enumerate(made)]
    return "\n".join([f"class {node.name}{bases}{':' if body else ''}", *body])


def methods_of(node: ast.ClassDef) -> list[str]:
    """A list of the public methods and properties that have a docstring, with its first paragraph."""
    lines = []
    for one in node.body:
        if not isinstance(one, ast.FunctionDef) or one.name.startswith("_") or not ast.get_docstring(one):
            continue
        decorators = {ast.unparse(decorator) for decorator in one.decorator_list}
        arguments = ast.unparse(one.args).removeprefix("self").removeprefix("cls").removeprefix(", ")
        written = one.name if decorators & {"property", "cached_property"} else f"{one.name}({arguments})"
        summary = str(ast.get_docstring(one)).split("\n\n")[0].replace("\n", " ")
        lines.append(f"- `{written}`: {escaped(summary)}")
    return ["\n".join(lines)] if lines else []


def value_text(value: Any, source: str, node: ast.stmt) -> str:
    """A table by its keys, anything else as it is written."""
    if isinstance(value, dict):
        return f"A mapping with the keys {', '.join(f'`{key}`' for key in value)}."
    lines = source.splitlines()[node.lineno - 1 : node.end_lineno]
    return fenced("\n".join(lines))


def blocks(text: str) -> list[str]:
    """A docstring in Markdown: indented paragraphs and doctests as code, everything else as prose."""
    found = []
    for paragraph in text.split("\n\n"):
        if re.match(r"\s{4}|>>> ", paragraph):
            found.append(fenced(inspect.cleandoc(paragraph)))
        else:
            found.append(escaped(paragraph))
    return found


def fenced(code: str) -> str:
    return f"```text\n{code}\n```" if not code.startswith(">>>") else f"```pycon\n{code}\n```"
