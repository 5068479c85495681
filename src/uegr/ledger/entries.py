"""One file of the ledger: what was measured, what the paper reported, and why the result may be unreliable."""

import json
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError, computed_field, model_validator

from uegr import safe_json
from uegr.errors import InputError
from uegr.files import write_text
from uegr.ledger.doubts import doubts
from uegr.ledger.stripping import stripped, without_places
from uegr.result import Part, Result
from uegr.safe_json import complaint

SCHEMA: Literal[1] = 1
MARK = '{"ledger":'  # what every file starts with
LEFT_OUT = {"tasks": {"__all__": {"columns"}}}  # always empty here, and younger than the first committed files
REMEDY = "restore the file, or delete it and run its cell again"


class Reported(Part):
    """What the paper printed for a cell; percent where the paper has percent."""

    metric: str
    value: float
    sd: float | None = None


class Entry(Part):
    """One finished cell of a study."""

    ledger: Literal[1] = SCHEMA
    study: str
    cell: str  # its name in the grid, which ends with a hash of its settings
    source: str = ""  # of what is reported
    reported: tuple[Reported, ...] = ()
    result: Result

    @model_validator(mode="before")
    @classmethod
    def derive(cls, stored: Any) -> Any:
        """The reasons for doubt are derived from the figures, whatever a file says."""
        return {key: one for key, one in stored.items() if key != "unreliable"} if isinstance(stored, dict) else stored

    @computed_field  # type: ignore[prop-decorator]
    @property
    def unreliable(self) -> list[str]:
        return doubts(self.result)

    def to_json(self) -> str:
        """JSON with one figure per line."""
        content = self.model_dump(mode="json", by_alias=True, exclude={"result"})
        result = self.result.model_dump(mode="json", by_alias=True, exclude=LEFT_OUT)
        head = ",\n".join(f'"{key}": {json.dumps(value, ensure_ascii=False)}' for key, value in content.items())
        return f'{{{head},\n"result": {laid_out(result)}}}\n'


def laid_out(value: Any, indent: str = " ") -> str:
    """JSON in which a mapping or list of plain values takes one line.

    >>> print(laid_out({"a": {"n": 1, "value": 0.5}, "b": 2}))
    {
     "a": {"n": 1, "value": 0.5},
     "b": 2
    }
    """
    values = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    if not any(isinstance(one, dict | list) for one in values):
        return json.dumps(value, ensure_ascii=False)
    inner = [laid_out(one, indent + " ") for one in values]
    if isinstance(value, dict):
        inner = [f"{json.dumps(key, ensure_ascii=False)}: {one}" for key, one in zip(value, inner, strict=True)]
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{start}\n{indent}" + f",\n{indent}".join(inner) + f"\n{indent[:-1]}{end}"


def entry(study: str, cell: str, result: Result, reported: tuple[Reported, ...] = (), source: str = "") -> Entry:
    """The entry of a finished cell, without texts."""
    return Entry(study=study, cell=without_places(cell), source=source, reported=reported, result=stripped(result))


def write(folder: Path, one: Entry) -> Path:
    """The whole file or nothing; its name is the cell's."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{one.cell}.json"
    write_text(path, one.to_json())
    return path


def read(path: Path) -> Entry:
    """The entry of a file; what is not a ledger file, or is damaged, raises one line with its path."""
    try:
        stored = safe_json.load(path.read_bytes(), path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}; {REMEDY}") from None
    if not isinstance(stored, dict) or "ledger" not in stored:
        raise InputError(f"{path}: expected a file of the ledger, got other JSON; {REMEDY}")
    try:
        found = Entry.model_validate(stored)
    except ValidationError as error:
        raise InputError(f"{path}: {complaint(error)}; {REMEDY}") from None
    if found.cell != path.stem:
        raise InputError(f"{path}: expected the cell {path.stem}, got {found.cell!r:.80}; {REMEDY}")
    return found


def looks_like_one(path: Path) -> bool:
    """Whether a file starts as the ledger's do."""
    try:
        with path.open("rb") as file:
            return file.read(len(MARK)) == MARK.encode()
    except OSError:
        return False
