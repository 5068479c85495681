"""The ledger of a grid (`uegr benchmark --ledger results/`): what is in it counts as done, what finishes is added.

A committed cell is the same as one of the grid if all settings that it was trained with are the same. Options that did
not exist at that time must have their defaults now: a new option does not make the study start over, and a default
that has changed does.
"""

import inspect
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from uegr.benchmark.plan import Cell
from uegr.benchmark.search import with_settings
from uegr.benchmark.work import Work
from uegr.errors import InputError, warn
from uegr.ledger.entries import Entry, Reported, entry, read, write
from uegr.ledger.stripping import without_places
from uegr.result import Result
from uegr.runs.prepare import resolved
from uegr.training.config import RunConfig
from uegr.training.factories import factory


def record(work: Work, cell: Cell, result: Result) -> None:
    """Add a finished cell to the ledger, if there is one."""
    if work.study is not None:
        write(work.study, entry_of(work.study, cell, result))


def is_recorded(work: Work, cell: Cell, result: Result) -> bool:
    """Whether the ledger has exactly this result; without a ledger there is nothing to do."""
    if work.study is None:
        return True
    wanted = entry_of(work.study, cell, result)
    path = work.study / f"{wanted.cell}.json"
    return path.is_file() and path.read_bytes() == wanted.to_json().encode()


def entry_of(study: Path, cell: Cell, result: Result) -> Entry:
    """The file of a cell."""
    reported = tuple(Reported(**figure) for figure in cell.reported)
    return entry(study.name, cell.name, result, reported, cell.source if reported else "")


def committed(study: Path, cells: Iterable[Cell]) -> dict[str, Result]:
    """The results in a study's folder that are of these cells, by the cell's name; a damaged file is named, no more."""
    known = list(readable(study))
    found = {}
    for cell in cells:
        alike = (one for one in known if label(one.cell) == label(without_places(cell.name)) and is_same(cell, one))
        if (one := next(alike, None)) is not None:
            found[cell.name] = one.result
    return found


def label(name: str) -> str:
    """A cell's name without the hash.

    >>> label("sst2-minilm-uegr-0-0123456789")
    'sst2-minilm-uegr-0'
    """
    return name.rpartition("-")[0]


def readable(study: Path) -> Iterator[Entry]:
    """The files of a study that can be read."""
    for path in sorted(study.glob("*.json")):
        try:
            yield read(path)
        except InputError as error:
            warn(f"not counted: {error}")


def is_same(cell: Cell, one: Entry) -> bool:
    """Whether an entry is of this cell's settings."""
    named = one.cell == str(without_places(cell.name))
    if named or cell.processes > 1:  # a result does not tell its processes
        return named
    config = cell.config
    if cell.search is not None:
        search = one.result.search
        if search is None or search.asked != plain(cell.search):
            return False
        config = with_settings(config, search.chosen).model_dump(mode="json")
    now = settings(resolved(RunConfig(**config)))
    then = settings(one.result.config.model_dump(mode="json"))
    added = [path for path in now if path not in then]
    return then.items() <= now.items() and all(now[path] == default(now, path) for path in added)


def settings(config: dict[str, Any]) -> dict[tuple[str, ...], Any]:
    """Every setting by its section and name, as a ledger has it."""
    sections = {name: part for name, part in config.items() if isinstance(part, dict)}
    found = {(name, key): value for name, part in sections.items() for key, value in plain(part).items()}
    return found | {(name,): value for name, value in config.items() if name not in sections}


def default(now: dict[tuple[str, ...], Any], path: tuple[str, ...]) -> Any:
    """What an option that is not given is."""
    section, name = path
    if section == "method":
        return plain(inspect.signature(factory(now["method", "name"])).parameters[name].default)
    part: Any = RunConfig.model_fields[section].annotation
    return plain(part.model_fields[name].default)


def plain(value: Any) -> Any:
    """A value as a ledger has it: without the places of a machine, lists in place of tuples."""
    return without_places(json.loads(json.dumps(value)))
