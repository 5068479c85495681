"""Bytes to text: gzip and byte-order marks are recognised, and what cannot be decoded is named by file and line."""

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TypeVar, cast

from uegr.errors import InputError

Item = TypeVar("Item")

MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def open_bytes(path: Path) -> IO[bytes]:
    """The file's bytes, unpacked if it is gzip, whatever its name ends with."""
    with path.open("rb") as file:
        magic = file.read(2)
    if magic == b"\x1f\x8b":
        return cast(IO[bytes], gzip.open(path, "rb"))
    if magic and path.suffix == ".gz":
        raise InputError(f"{path} is not a gzip file although its name ends with .gz; rename it")
    return path.open("rb")


def detect(path: Path) -> str:
    """The encoding by its mark, or by the zeros between the first letters of unmarked UTF-16; else UTF-8."""
    with open_bytes(path) as file:
        start = file.read(4)
    for mark, name in MARKS:
        if start.startswith(mark):
            return name
    zeros = [byte == 0 for byte in start]
    if zeros == [False, True, False, True]:
        return "utf-16-le"
    return "utf-16-be" if zeros == [True, False, True, False] else "utf-8"


def checked(encoding: str) -> str:
    """An encoding that Python knows, by the user's name for it."""
    try:
        known = codecs.lookup(encoding)
    except LookupError:
        known = None
    if known is None or not known._is_text_encoding:
        raise InputError(f"expected an encoding such as utf-8, utf-16, cp1252 or gb18030, got {encoding!r}")
    return "utf-8-sig" if known.name == "utf-8" else known.name


def open_text(path: Path, encoding: str, newline: str) -> io.TextIOWrapper:
    """Text whose line ends are left as they are; `newline` is what ends a line, as for `open`."""
    return io.TextIOWrapper(open_bytes(path), encoding=encoding, newline=newline)


def guarded(path: Path, encoding: str, rows: Iterator[Item]) -> Iterator[Item]:
    """The rows, with what can go wrong in reading bytes turned into one line."""
    try:
        yield from rows
    except UnicodeDecodeError:
        line, byte = undecodable(path, encoding)
        raise InputError(
            f"{path}, line {line}: byte {byte:#04x} is not {encoding.removesuffix('-sig')}; name the encoding "
            "(--encoding), for instance cp1252 for western Windows files or gb18030 for Chinese ones"
        ) from None
    except UnicodeError as error:  # no single byte is wrong: the mark at the start is missing
        remedy = "leave out --encoding to detect it, or name another, for instance utf-16-le"
        raise InputError(f"{path} is not {encoding} ({error}); {remedy}") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path} is a truncated or damaged gzip file ({error}); copy or download it again") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None


def undecodable(path: Path, encoding: str) -> tuple[int, int]:
    """The line, from 1, and the value of the first byte that cannot be decoded."""
    decoder = codecs.getincrementaldecoder(encoding)()
    lines, ended = 1, False
    with open_bytes(path) as file:
        while not ended:
            piece = file.read(1 << 16)
            ended = not piece
            try:
                lines += decoder.decode(piece, final=ended).count("\n")
            except UnicodeDecodeError as error:
                before = error.object[: error.start].decode(encoding, "replace")
                return lines + before.count("\n"), error.object[error.start]
    return lines, 0
