"""What the label column holds: names in a stable order, or numbers; anything else is an error of one line."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from uegr.data.source import Row, Source, number
from uegr.errors import InputError

INTEGER = re.compile(r"\s*[+-]?\d+\s*")
MOST_NAMES = 10_000  # more distinct labels than this is a text or an identifier, not a class
Kind = Literal["classification", "regression"]


@dataclass(frozen=True)
class Labelling:
    """How a raw label becomes a number: the index of its name in `names`, or itself if there are none."""

    names: tuple[str, ...] | None  # None: regression

    @property
    def kind(self) -> Kind:
        return "regression" if self.names is None else "classification"

    def encoder(self, source: Source) -> Callable[[Row], int | float]:
        """The function from a row to its label, whose errors name the place of the row."""
        if self.names is None:
            return lambda row: number(source, row)
        ids = {name: index for index, name in enumerate(self.names)}
        by_index = {str(i): i for i in range(len(ids))} if not any(INTEGER.fullmatch(n) for n in ids) else {}

        def encode(row: Row) -> int:
            name = canonical(row.label)
            index = ids.get(name, by_index.get(name))
            if index is None:
                raise unseen(source, row, self.names or ())
            return index

        return encode


def unseen(source: Source, row: Row, names: tuple[str, ...]) -> InputError:
    """The error for a label that is missing or not among the names."""
    if missing(row.label):
        return InputError(
            f"{source.at(row.place)}: the label is missing; expected one of {shown(names)}, "
            "or leave out such rows with --drop-missing"
        )
    return InputError(
        f"{source.at(row.place)}: the label {row.label!r} is not one of the training labels ({shown(names)}); "
        "correct the row, or train on rows that have this label"
    )


def shown(names: tuple[str, ...]) -> str:
    return ", ".join(names[:8]) + (f", and {len(names) - 8} more" if len(names) > 8 else "")


def missing(value: Any) -> bool:
    """No value at all: null, NaN, or nothing but white space."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def canonical(value: Any) -> str:
    """The name of a raw label.

    >>> [canonical(value) for value in (True, 3, " 03 ", "good", 2.0)]
    ['true', '3', '3', 'good', '2.0']
    """
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return str(int(text)) if INTEGER.fullmatch(text) and len(text) < 40 else text


def form(value: Any) -> str:
    """What a raw label looks like; a text file has only strings, so their look decides. The word nan is no number.

    >>> [form(value) for value in ("3", 3, "0.5", 0.5, True, "good", "nan")]
    ['whole numbers', 'whole numbers', 'fractions', 'fractions', 'true/false', 'names', 'names']
    """
    if isinstance(value, bool):
        return "true/false"
    if INTEGER.fullmatch(str(value)):
        return "whole numbers"
    try:
        return "fractions" if isfinite(float(value)) or not isinstance(value, str) else "names"
    except (TypeError, ValueError, OverflowError):
        return "names"


@dataclass
class Seen:
    """What one pass over a label column found."""

    first: dict[str, Row]  # the first row of every form
    names: set[str]
    rows: int = 0
    missing: int = 0
    first_missing: int = 0


def look(source: Source, keep_names: bool = True) -> Seen:
    """Read the label column once, holding only its distinct values."""
    seen = Seen({}, set())
    for row in source.read():
        seen.rows += 1
        if missing(row.label):
            seen.missing += 1
            seen.first_missing = seen.first_missing or row.place
            continue
        seen.first.setdefault(form(row.label), row)
        if keep_names:
            seen.names.add(canonical(row.label))
            if len(seen.names) > MOST_NAMES:
                raise InputError(
                    f"{source.at(row.place)}: more than {MOST_NAMES:,} different labels (this one is {row.label!r}); "
                    "name the right column with label_column (--label-column)"
                    + (
                        ", or use kind='regression' (--kind regression) for numbers"
                        if "names" not in seen.first
                        else ""
                    )
                )
    return seen


def without_label(source: Source) -> list[int]:
    """The numbers, from 1, of the rows that have no label."""
    return [number for number, row in enumerate(source.read(), 1) if missing(row.label)]


def learn(source: Source, kind: Kind | None = None) -> Labelling:
    """The labelling of a training split: whole numbers in numeric order, names sorted, fractions only if asked for."""
    seen = look(source, keep_names=kind != "regression")
    if seen.rows == 0:
        raise InputError(f"{source.name} has no rows; expected at least one")
    if seen.missing:
        raise InputError(
            f"{source.at(seen.first_missing)}: the label is missing ({seen.missing} of {seen.rows} rows have none); "
            "fill it in, or leave out such rows with drop_missing=True (--drop-missing)"
        )
    if kind == "regression":
        return Labelling(None)
    if kind is None:
        refuse_doubtful(source, seen.first)
    return Labelling(ordered(source, seen))


def refuse_doubtful(source: Source, first: dict[str, Row]) -> None:
    """Fractions may be grades or classes, and mixed forms are mostly a mistake: ask rather than guess."""
    if "fractions" in first and set(first) <= {"fractions", "whole numbers"}:
        row = first["fractions"]
        raise InputError(
            f"{source.at(row.place)}: the label {row.label!r} is a fraction; use kind='regression' (--kind regression) "
            "to predict numbers, or kind='classification' if each value is the name of a class"
        )
    if len(first) > 1:
        found = " and ".join(f"{what} ({source.unit} {row.place}: {row.label!r})" for what, row in first.items())
        raise InputError(
            f"{source.name}: the labels mix {found}; make them all alike, "
            "or use kind='classification' (--kind classification) if each value is the name of a class"
        )


def ordered(source: Source, seen: Seen) -> tuple[str, ...]:
    """Numeric order if all are numbers, else the order of code points, which no locale changes."""
    for name in seen.names:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(f"{source.name}: the label {name!r} is not valid Unicode text") from None
    numeric = set(seen.first) <= {"whole numbers", "fractions"}
    return tuple(sorted(seen.names, key=lambda name: (float(name), name) if numeric else name))
