"""The file formats: each gives the names of its columns, and rows of chosen columns with the place of each."""

import csv
import json
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from uegr.cache import box, data_folder
from uegr.data.arrow import PIECE
from uegr.data.encoding import open_bytes, open_text
from uegr.errors import InputError

LOOKED_AT = 1000  # objects of a JSON file for the names of its columns; an object may lack any
Values = tuple[int, list[Any]]  # the place of a row and the values of the wanted columns
LONGEST_FIELD = 1 << 26  # characters; a longer field is a quote that was never closed
QUOTING: dict[str, Literal[0, 3]] = {"standard": csv.QUOTE_MINIMAL, "none": csv.QUOTE_NONE}
QUOTED = re.compile(r'"(?:[^"]|"")*"')


@dataclass(frozen=True)
class Delimited:
    """csv and tsv, by Python's csv module: quotes, and newlines and delimiters between quotes, are understood."""

    path: Path
    encoding: str
    delimiter: str
    quoting: Literal["standard", "none"]
    unit = "line"

    def records(self) -> Iterator[tuple[int, list[str]]]:
        """Every record and the line it begins on; a blank line is not a record."""
        csv.field_size_limit(max(csv.field_size_limit(), LONGEST_FIELD))
        begun = 1
        with open_text(self.path, self.encoding, newline="") as file:
            reader = csv.reader(file, delimiter=self.delimiter, quoting=QUOTING[self.quoting], strict=True)
            try:
                for record in reader:
                    if record:
                        yield begun, record
                    begun = reader.line_num + 1
            except csv.Error as error:
                raise InputError(
                    f"{self.path}, line {begun}: the quotes do not close ({error}); double every quote inside a quoted "
                    "field, or use quoting='none' (--quoting none) if quotes are ordinary characters here"
                ) from None

    def columns(self, most: int | None = None) -> list[str]:
        _, header = next(self.records(), (0, []))
        return [name.strip() for name in header]

    def rows(self, wanted: Sequence[str]) -> Iterator[Values]:
        header = self.columns()
        indices = [header.index(name) for name in wanted]
        records = self.records()
        next(records, None)
        for line, record in records:
            if len(record) != len(header):
                raise InputError(
                    f"{self.path}, line {line}: expected {len(header)} fields as in the header, got {len(record)}; "
                    "quote fields that contain the delimiter, or name the delimiter (--delimiter)"
                )
            yield line, [record[index] for index in indices]


@dataclass(frozen=True)
class Lines:
    """jsonl: one JSON object per line."""

    path: Path
    encoding: str
    unit = "line"

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        with open_text(self.path, self.encoding, newline="\n") as file:
            for place, line in enumerate(file, 1):
                if line.strip():
                    yield place, an_object(parsed(line, f"{self.path}, line {place}"), f"{self.path}, line {place}")

    def columns(self, most: int | None = LOOKED_AT) -> list[str]:
        """Of the first objects, or of all: one alone may lack some."""
        return list(dict.fromkeys(name for _, record in islice(self.records(), most) for name in record))

    def rows(self, wanted: Sequence[str]) -> Iterator[Values]:
        for place, record in self.records():
            yield place, [record.get(name) for name in wanted]


@dataclass(frozen=True)
class Array(Lines):
    """json: one list of objects, read whole; a file of many rows is better as jsonl."""

    unit = "row"

    def records(self) -> Iterator[tuple[int, dict[str, Any]]]:
        with open_text(self.path, self.encoding, newline="") as file:
            items = parsed(file.read(), str(self.path))
        if not isinstance(items, list):
            raise InputError(
                f"{self.path}: expected a list of objects, or one object per line, got {type(items).__name__}"
            )
        for place, item in enumerate(items, 1):
            yield place, an_object(item, f"{self.path}, row {place}")


@dataclass(frozen=True)
class Parquet:
    """parquet, by pyarrow, a piece at a time."""

    path: Path
    unit = "row"

    @contextmanager
    def opened(self) -> Iterator[Any]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            with box(data_folder()) as folder, open_bytes(self.path) as packed:
                plain = self.path
                if not packed.seekable() or self.path.suffix == ".gz":  # parquet is read from its end
                    plain = folder / "plain.parquet"
                    with plain.open("wb") as out:
                        shutil.copyfileobj(packed, out)
                with pq.ParquetFile(plain) as file:
                    yield file
        except pa.ArrowException as error:
            raise InputError(f"{self.path} is not readable parquet ({' '.join(str(error).split())})") from None

    def columns(self, most: int | None = None) -> list[str]:
        with self.opened() as file:
            return list(file.schema_arrow.names)

    def rows(self, wanted: Sequence[str]) -> Iterator[Values]:
        place = 0
        with self.opened() as file:
            for batch in file.iter_batches(batch_size=PIECE, columns=list(wanted)):
                for values in zip(*(batch.column(name).to_pylist() for name in wanted), strict=True):
                    place += 1
                    yield place, list(values)


Format = Delimited | Lines | Array | Parquet


def parsed(text: str, where: str) -> Any:
    """Parsed JSON; an error says where it is not valid."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, a list in a list in a list ...
        raise InputError(f"{where}: not usable JSON ({error})") from None


def an_object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f'{where}: expected a JSON object such as {{"text": ..., "label": ...}}, got {value!r:.60}')
    return value


def is_lines(path: Path, encoding: str) -> bool:
    """Whether a .json file has one object per line, as many have."""
    with open_text(path, encoding, newline="") as file:
        return file.read(4096).lstrip().startswith("{")


def delimiter_of(path: Path, encoding: str, usual: str) -> str:
    """The delimiter in the header line: the format's usual one if it is there, else the most frequent."""
    with open_text(path, encoding, newline="") as file:
        header = QUOTED.sub("", file.readline(LONGEST_FIELD))
    if usual in header:
        return usual
    return max(",;\t|", key=lambda mark: (header.count(mark), mark == usual))
