"""Which rows of a test set a model has right, small enough to keep: their number, and one bit per row as hexadecimal
digits. Two models are compared row by row with it, also years later and elsewhere, without a text or an answer."""

from typing import Any

import numpy as np

from uegr.errors import InputError


def packed(right: Any) -> str:
    """The bits of some rows, four to a digit; the last digit is filled up with zeros.

    >>> packed([True, False, False, True, True])
    '5:98'
    """
    bits = np.asarray(right, dtype=bool)
    return f"{len(bits)}:{np.packbits(bits).tobytes().hex()[: (len(bits) + 3) // 4]}"


def unpacked(text: str) -> np.ndarray:
    """Whether each row is right, (rows,).

    >>> unpacked("5:98").tolist()
    [True, False, False, True, True]
    """
    count, _, digits = text.partition(":")
    try:
        rows, content = int(count), bytes.fromhex(digits + "0" * (len(digits) % 2))
    except ValueError:
        raise InputError(f"expected rows as packed() writes them, got {text!r:.40}") from None
    if len(digits) != (rows + 3) // 4:
        raise InputError(f"expected {(rows + 3) // 4} digits for {rows} rows, got {len(digits)}")
    return np.unpackbits(np.frombuffer(content, dtype=np.uint8))[:rows].astype(bool)


def checked_rows(text: str) -> str:
    """The text, if rows can be unpacked from it.

    >>> checked_rows("5:98")
    '5:98'
    """
    unpacked(text)
    return text
