"""Columns as a file: csv, tsv, jsonl or parquet by the file's ending."""

import csv
import json
import os
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from uegr.errors import InputError
from uegr.files import replacing
from uegr.terminal import json_text

Table = dict[str, list[Any]]  # columns of the same length
LINES = (".jsonl", ".ndjson")  # a value may be an object; in the other formats it is written as JSON
ENDINGS = (".csv", ".tsv", *LINES, ".parquet")


def check_format(path: Path) -> None:
    """Raise if the ending names no format."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"expected an output that ends with {', '.join(ENDINGS)}, got {path}; choose another --output")


def check_table(path: Path, table: Table) -> None:
    """Raise, with the name of the column, for what the format of `path` cannot hold; nothing is written."""
    import pyarrow as pa

    for name, column in table.items():
        try:
            write_as(path.suffix.lower(), {name: column}, BytesIO())
        except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
            why = (
                f"expected values of one type that {path.suffix} can hold in the column {name!r}, got others ({error})"
            )
            raise InputError(f"{why}; choose an --output that ends with .jsonl") from None


def write_table(path: Path, table: Table) -> None:
    """The whole file or nothing."""
    check_format(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as partial, partial.open("wb") as file:
        write_as(path.suffix.lower(), table, file)
        file.flush()
        os.fsync(file.fileno())


def write_as(ending: str, table: Table, file: BinaryIO) -> None:
    """The table in the format of an ending, to an open file: pyarrow would delete a path that it fails to write."""
    if ending == ".parquet":
        write_parquet(file, table)
        return
    text = TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    if ending in LINES:
        text.writelines(f"{line}\n" for line in lines(table))
    else:
        write_delimited(text, table, "\t" if ending == ".tsv" else ",")
    text.detach()  # the caller closes the file


def lines(table: Table) -> Iterator[str]:
    """Every row as a JSON object.

    >>> list(lines({"text": ["a", "b"], "note": ["", "cut"]}))
    ['{"text": "a", "note": ""}', '{"text": "b", "note": "cut"}']
    """
    for values in zip(*table.values(), strict=True):
        entry = dict(zip(table, values, strict=True))
        yield json_text(json.loads(json.dumps(entry, default=str)))  # parquet has dates


def write_delimited(file: TextIO, table: Table, delimiter: str) -> None:
    """Quoted where it must be, so that it reads back."""
    writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(map(written, row) for row in zip(*table.values(), strict=True))


def written(value: Any) -> Any:
    """A value as a field; lists and objects as JSON.

    >>> written({"a": [1, None]}), written(3), written("x")
    ('{"a": [1, null]}', 3, 'x')
    """
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else value


def write_parquet(file: BinaryIO, table: Table) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(table), file)
