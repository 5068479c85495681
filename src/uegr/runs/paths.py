"""Where the data of a run is: a path such as `reviews.csv` starts from the folder in which the run was started.

paths.json has each such path as it is seen from the folder of the run, so that a project that is moved stays whole. It
is no part of the configuration: a run is the same wherever its rows are, and the rows themselves are checked.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from uegr import data as data_room
from uegr import safe_json
from uegr.data import Data
from uegr.data.resolve import NotFound
from uegr.errors import InputError
from uegr.files import write_text
from uegr.runs.folder import CONFIG

FILE = "paths.json"


def remember(place: Path, names: Iterable[str], source: Path | None = None) -> None:
    """Write down where the relative paths among the names of data sets lead to; `source` is a run that knows it."""
    found = {name: Path(located(name, source or place)) for name in names if not Path(name).is_absolute()}
    seen = {name: seen_from(place, path) for name, path in found.items() if path.exists()}
    if seen and seen != known(place):
        write_text(place / FILE, json.dumps(seen, indent=2, ensure_ascii=False) + "\n")


def seen_from(place: Path, path: Path) -> str:
    """The path from the folder of a run, or whole where there is none: on Windows, from one drive to another."""
    whole = path.resolve()
    with suppress(ValueError):
        return Path(os.path.relpath(whole, place.resolve())).as_posix()
    return str(whole)


def known(place: Path) -> dict[str, str]:
    """What was remembered; a received file may hold anything."""
    path = place / FILE
    content: Any = safe_json.load(path.read_bytes(), path) if path.is_file() else {}
    if not isinstance(content, dict) or not all(isinstance(one, str) for one in content.values()):
        raise InputError(f"{path}: expected a path for each name; restore the file, or remove it")
    return content


def recorded(name: str, place: Path) -> Path | None:
    """Where the run has found this data, if that was written down."""
    seen = known(place).get(name)
    return None if seen is None else Path(os.path.normpath(place.resolve() / seen))


def located(name: str, place: Path) -> str:
    """The path at which the data of a run is: where the run found it, else as seen from the working directory."""
    there = recorded(name, place)
    if there is None or (Path(name).exists() and not is_other(name, place)):
        return name
    if there.exists():
        return str(there)
    raise NotFound(
        f"there is no {name}, the data of {place}, at {there} or in {Path.cwd()}; "
        "put it back, or change to the folder that the path starts from"
    )


def is_other(name: str, place: Path) -> bool:
    """Whether the name leads, from the working directory, to another file than that of the run."""
    there = recorded(name, place)
    return there is not None and there.exists() and Path(name).exists() and not there.samefile(name)


def load(name: str, place: Path | None, **reading: Any) -> Data:
    """Data of a run that is in `place`; of one that has not started, the paths start from the working directory."""
    if place is None or not (place / CONFIG).is_file():
        return data_room.load(name, **reading)
    path = located(name, place)
    try:
        return data_room.load(path, **reading)
    except NotFound:
        if Path(path).exists() or not (Path(name).suffix or "/" in name):
            raise
        where, remedy = f" in {Path.cwd()}", "put it back, or change to the folder that the path starts from"
        if Path(name).is_absolute():
            where, remedy = "", "put it back"
        raise NotFound(f"there is no {name}, the data of {place}{where}; {remedy}") from None
