"""All columns of a user's file, to be written again beside what a model answers."""

from pathlib import Path
from typing import Any

from uegr.data.local import Reading, all_columns, split_files


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
    path = Path(source)
    reading = Reading(text_column, pair_column, None, delimiter, quoting, encoding)
    if path.is_file():
        return all_columns(path, reading)
    files = split_files(path) if path.is_dir() else {}
    return all_columns(files[split], reading) if split in files else {}
