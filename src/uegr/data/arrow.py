"""Rows as a memory-mapped Arrow file in the cache, written in pieces and named by content."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uegr.cache import data_folder, kept
from uegr.data.source import Row, Source
from uegr.errors import InputError

if TYPE_CHECKING:
    from datasets import Dataset

VERSION = 1  # raise it when the same content would give other rows
PIECE = 2_000  # rows that are in memory at a time


def dataset_of(source: Source, key: str, label: str | None, encode: Callable[[Row], Any] | None) -> "Dataset":
    """The source as a `datasets.Dataset`; `label` is the Arrow type of the label column, None for none."""
    path = data_folder() / "rows" / f"{key}.arrow"
    return mapped(kept(path, lambda made: write(made, source, label, encode)), key)


def mapped(path: Path, key: str) -> "Dataset":
    """The file, not read but mapped; its fingerprint is its content key, so that what follows is cached by content."""
    from datasets import Dataset
    from datasets.table import MemoryMappedTable

    return Dataset(MemoryMappedTable.from_file(str(path)), fingerprint=key)


def write(path: Path, source: Source, label: str | None, encode: Callable[[Row], Any] | None) -> None:
    """Convert piece by piece: memory stays flat whatever the number of rows."""
    import pyarrow as pa

    fields = [("text", pa.string())]
    fields += [("pair", pa.string())] if source.paired else []
    fields += [("label", pa.type_for_alias(label))] if label else []
    schema = pa.schema(fields)
    rows = 0
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, schema) as stream:
        for piece in pieces(source.read()):
            stream.write_batch(batch_of(source, piece, schema, encode))
            rows += len(piece)
        if rows == 0:
            raise InputError(f"{source.name} has no rows; expected at least one")


def pieces(rows: Iterator[Row]) -> Iterator[list[Row]]:
    """Lists of `PIECE` rows."""
    piece: list[Row] = []
    for row in rows:
        piece.append(row)
        if len(piece) == PIECE:
            yield piece
            piece = []
    if piece:
        yield piece


def batch_of(source: Source, piece: list[Row], schema: Any, encode: Callable[[Row], Any] | None) -> Any:
    import pyarrow as pa

    columns: dict[str, list[Any]] = {"text": [row.text for row in piece]}
    if source.paired:
        columns["pair"] = [row.pair for row in piece]
    if encode:
        columns["label"] = [encode(row) for row in piece]
    try:
        return pa.record_batch([pa.array(columns[field.name], field.type) for field in schema], schema=schema)
    except UnicodeEncodeError:
        raise not_unicode(source, piece) from None


def not_unicode(source: Source, piece: list[Row]) -> InputError:
    """Half a surrogate pair, which JSON can say and Unicode text cannot hold: name its row."""
    for row in piece:
        try:
            (row.text + (row.pair or "")).encode("utf-8")
        except UnicodeEncodeError as error:
            bad = f"\\u{ord(error.object[error.start]):04x}"
            return InputError(f"{source.at(row.place)}: {bad} is half a surrogate pair, not text; correct the row")
    return InputError(f"{source.name} has text that is not valid Unicode; correct the file")
