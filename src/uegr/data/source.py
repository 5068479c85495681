"""Where rows come from: read one at a time, so that a file is never in memory as a whole."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from uegr.cache import key_of
from uegr.errors import InputError


class Row(NamedTuple):
    """A row as the file has it. `place` is its line in a text file, its number from 1 elsewhere."""

    place: int
    text: str
    pair: str | None = None
    label: Any = None


@dataclass(frozen=True)
class Source:
    """Rows that can be read several times. `key` names their content and how it is read."""

    name: str  # a file's path as the user gave it, for messages
    key: str
    read: Callable[[], Iterator[Row]]
    paired: bool = False
    labelled: bool = True
    unit: str = "row"  # what `place` counts
    columns: tuple[str, ...] = ()  # of a user's file: the text, and the second text of a pair

    def at(self, place: int) -> str:
        return f"{self.name}, {self.unit} {place}"

    def edited(self, edit: Callable[[Iterator[Row]], Iterator[Row]], why: Any) -> "Source":
        """The same source with its rows changed or left out by `edit`; `why` goes into the key."""
        return replace(self, key=key_of(self.key, why), read=lambda: edit(self.read()))


def signs(source: Source, threshold: float) -> Source:
    """Numbers as labels 0 and 1 by their sign; rows nearer to 0 than `threshold` are left out."""

    def edit(rows: Iterator[Row]) -> Iterator[Row]:
        for row in rows:
            value = number(source, row)
            if abs(value) >= threshold:
                yield row._replace(label=int(value > 0))

    return source.edited(edit, ["signs", threshold])


def without(source: Source, labels: tuple[int, ...]) -> Source:
    """Leave out the rows of these labels, such as -1 for "no gold label"."""
    dropped = set(labels) | {str(label) for label in labels}
    return source.edited(
        lambda rows: (row for row in rows if row.label not in dropped),
        ["without", sorted(labels)],
    )


def number(source: Source, row: Row) -> float:
    """The label as a finite number, or an error with its place."""
    try:
        value = float(row.label)
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if value - value != 0:  # NaN and the infinities
        raise InputError(f"{source.at(row.place)}: expected a finite number as label, got {row.label!r}")
    return value
