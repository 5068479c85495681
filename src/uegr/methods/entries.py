"""The methods of the table as entries of a listing: from their docstrings, signatures and measured costs."""

import inspect
import json
from pathlib import Path
from typing import Any

from uegr.methods import METHODS
from uegr.methods.contract import MethodFactory


def entries() -> list[dict[str, Any]]:
    """Every method with its summary, source, passes over the batch and, where it was measured, its cost per step.

    >>> entries()[0]["name"]
    'vanilla'
    """
    record = measured()
    return [entry(name, factory, record) for name, factory in METHODS.items()]


def entry(name: str, factory: MethodFactory, record: dict[str, Any]) -> dict[str, Any]:
    """One method; `cost` is the time of its step, as a multiple of vanilla's."""
    forward, backward = factory().objective.passes
    module = inspect.getdoc(inspect.getmodule(factory)) or ""
    return {
        "name": name,
        "summary": (inspect.getdoc(factory) or "").splitlines()[0],
        "source": source_line(module),
        "forward_passes": forward,
        "backward_passes": backward,
        "cost": record.get("ratios", {}).get(name),
        "options": {key: plain(parameter.default) for key, parameter in inspect.signature(factory).parameters.items()},
    }


def measured() -> dict[str, Any]:
    """What `benchmarks/perf/step_cost.py --record` has kept; empty where nothing was measured."""
    file = Path(__file__).parent / "cost.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def source_line(docstring: str) -> str:
    """The citation: the second paragraph of a method's module docstring, where it has a year or an identifier."""
    paragraphs = docstring.split("\n\n")
    cited = " ".join(paragraphs[1].split()) if len(paragraphs) > 1 else ""
    return cited if any(character.isdigit() for character in cited) and "=" not in cited else ""


def plain(value: Any) -> Any:
    """A default as JSON has it."""
    return list(value) if isinstance(value, tuple) else value
