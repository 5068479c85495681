"""Which methods, models and data sets of a grid go together, with which varied settings, and what they start from."""

import inspect
import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from uegr.benchmark.grid import Entry, Grid
from uegr.errors import InputError
from uegr.training.factories import factory


class Combination(NamedTuple):
    """A data set, a model and a method of a grid."""

    dataset: Entry
    model: Entry
    method: Entry

    @property
    def called(self) -> dict[str, str]:
        """Their labels."""
        return {axis: entry.called for axis, entry in self._asdict().items()}

    @property
    def title(self) -> str:
        return " · ".join(self.called.values())


def combinations(grid: Grid) -> Iterator[Combination]:
    """All of them, without what is left out."""
    for one in itertools.starmap(Combination, itertools.product(grid.datasets, grid.models, grid.methods)):
        if not any(left.items() <= one.called.items() for left in grid.leave_out):
            yield one


def points(grid: Grid, one: Combination) -> Iterator[dict[str, Any]]:
    """The combinations of varied settings that mean something for a method; an entry's own win over the grid's."""
    vary = grid.vary | one.dataset.vary | one.model.vary | one.method.vary
    keys = [key for key in vary if not key.startswith("method.") or key[7:] in options_of(one.method)]
    for values in itertools.product(*(vary[key] for key in keys)):
        yield dict(zip(keys, values, strict=True))


def options_of(method: Entry) -> Iterable[str]:
    return inspect.signature(factory(method.name)).parameters


def start_of(grid: Grid, one: Combination) -> Combination | None:
    """What the cells of a combination start from; None: the model's own weights."""
    labels = next_labels(grid, one.called)
    if labels is None:
        return None
    seen = [one.called]
    while labels is not None and labels not in seen:
        seen.append(labels)
        labels = next_labels(grid, labels)
    if labels is not None:
        raise InputError(f"starts: {one.title} starts from itself in the end; leave out one of the starts")
    found = next((other for other in combinations(grid) if other.called == seen[1]), None)
    if found is None:
        raise InputError(f"starts: {one.title} starts from {' · '.join(seen[1].values())}, which is left out")
    return found


def next_labels(grid: Grid, called: dict[str, str]) -> dict[str, str] | None:
    """The labels of what a cell starts from."""
    return next((called | start.start_from for start in grid.starts if start.fits(called)), None)


def point_of(grid: Grid, one: Combination, start: Combination, varied: Mapping[str, Any]) -> dict[str, Any]:
    """The varied settings of a start: as in the cell that starts from it."""
    for theirs in points(grid, start):
        if theirs.items() <= varied.items():
            return theirs
    raise InputError(f"starts: no cell of {start.title} has the varied settings {dict(varied)} of {one.title}")
