"""Columns as a file: csv, tsv, jsonl or parquet by the file's ending."""

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from uegr.errors import InputError
from uegr.files import replacing, write_text
from uegr.terminal import json_text

Table = dict[str, list[Any]]  # columns of the same length
ENDINGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")


def check_format(path: Path) -> None:
    """Raise if the ending names no format."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"expected an output that ends with {', '.join(ENDINGS)}, got {path}; choose another --output")


def write_table(path: Path, table: Table) -> None:
    """The whole file or nothing."""
    check_format(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    ending = path.suffix.lower()
    if ending in (".jsonl", ".ndjson"):
        write_text(path, "".join(f"{line}\n" for line in lines(table)))
    elif ending == ".parquet":
        write_parquet(path, flat(table))
    else:
        write_delimited(path, flat(table), "\t" if ending == ".tsv" else ",")


def lines(table: Table) -> Iterator[str]:
    """Every row as a JSON object.

    >>> list(lines({"text": ["a", "b"], "note": ["", "cut"]}))
    ['{"text": "a", "note": ""}', '{"text": "b", "note": "cut"}']
    """
    for values in zip(*table.values(), strict=True):
        entry = dict(zip(table, values, strict=True))
        yield json_text(json.loads(json.dumps(entry, default=str)))  # parquet has dates


def flat(table: Table) -> Table:
    """A column of mappings becomes a column for each key.

    >>> flat({"row": [1], "probabilities": [{"bad": 0.2, "good": 0.8}]})
    {'row': [1], 'probability_bad': [0.2], 'probability_good': [0.8]}
    """
    result: Table = {}
    for name, column in table.items():
        if name == "probabilities":
            keys = column[0] if column else {}
            result |= {f"probability_{key}": [value[key] for value in column] for key in keys}
        else:
            result[name] = column
    return result


def write_delimited(path: Path, table: Table, delimiter: str) -> None:
    """Quoted where it must be, so that it reads back."""
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(map(written, row) for row in zip(*table.values(), strict=True))
        file.flush()
        os.fsync(file.fileno())


def written(value: Any) -> Any:
    """A value as a field; lists and objects as JSON.

    >>> written({"a": [1, None]}), written(3), written("x")
    ('{"a": [1, null]}', 3, 'x')
    """
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, list | dict) else value


def write_parquet(path: Path, table: Table) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        columns = pa.table(table)
    except pa.ArrowException as error:
        raise InputError(f"{path}: a column has values of several types ({error}); write .jsonl") from None
    with replacing(path) as partial:
        pq.write_table(columns, partial)
