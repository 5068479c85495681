"""JSON from anyone: numbers that can be computed with, and texts that can be written."""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from uegr.errors import InputError

LARGEST = 1e100  # of the numbers: the square of each is finite too


def number(written: str) -> float:
    """A number that can be computed with: not infinite, and its square is not either.

    >>> number("0.5")
    0.5
    """
    if not abs(value := float(written)) < LARGEST:  # NaN is refused too
        raise ValueError(f"expected numbers below {LARGEST:g}, got {written}")
    return value


def load(text: str | bytes, where: Path) -> Any:
    """The values in a text; one line names `where` it came from if it cannot be read."""
    try:
        stored = json.loads(text, parse_float=number, parse_constant=number)
        json.dumps(stored, ensure_ascii=False).encode("utf-8")  # half a surrogate pair cannot be written anywhere
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(f"{where} is not valid JSON: {place}: {error.msg[:1].lower()}{error.msg[1:]}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where} is not valid JSON: {error}") from None
    return stored


def complaint(error: ValidationError) -> str:
    """The first thing that pydantic found, with the field it is about."""
    first = error.errors()[0]
    return (
        f"{'.'.join(map(str, first['loc']))}: {first['msg'][0].lower()}{first['msg'][1:]}, got {first['input']!r:.60}"
    )
