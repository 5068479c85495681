"""All columns of a user's file, to be written again beside what a model answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from uegr.data.local import Reading, all_columns, first_of, looked_at, split_files


def carried(
    source: str,
    split: str,
    *,
    text_column: str | None = None,
    pair_column: str | None = None,
    delimiter: str | None = None,
    quoting: Any = None,
    encoding: str | None = None,
    **rest: Any,
) -> dict[str, list[Any]]:
    """Every column of a file, or of one split of a folder, with the rows of `load`; empty for other sources."""
    reading = Reading(text_column, pair_column, None, delimiter, quoting, encoding)
    files = files_of(source)
    path = files.get("", files.get(split))
    return {} if path is None else all_columns(path, reading)


def files_of(source: str) -> dict[str, Path]:
    """The file under an empty name, or the files of a folder by split; none of other sources."""
    path = Path(source)
    return {"": path} if path.is_file() else split_files(path) if path.is_dir() else {}


def as_before(source: str, columns: Sequence[str], **reading: Any) -> dict[str, Any]:
    """How a file is read: by the text columns of an earlier one where it has them, unless `reading` names others."""
    options = dict(zip(("text_column", "pair_column"), columns, strict=False))
    wanted = {option: name for option, name in options.items() if not reading.get(option)}
    files = list(files_of(source).values())
    if not wanted or not files:
        return reading
    layout: dict[str, Any] = {key: reading.get(key) for key in ("delimiter", "quoting", "encoding")}
    names = looked_at(files[0], Reading(**layout))[-1]
    there = {option: name if name in names else first_of((name.lower(),), names) for option, name in wanted.items()}
    return reading if None in there.values() else reading | there
