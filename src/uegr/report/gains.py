"""How far a method is from the baseline in one column, over data sets and models: points, and what they show."""

from collections.abc import Sequence
from dataclasses import dataclass

from uegr.report.cells import Cell
from uegr.report.columns import titles
from uegr.report.tables import span
from uegr.statistics import Figure, mean_over_sets

NOTHING = "no difference shown"
UNTESTED = "not tested (one seed)"


def signed(points: float) -> str:
    """Points with their sign; 0 has none.

    >>> signed(-0.04), signed(0.04), signed(-1.25)
    ('0.0', '0.0', '−1.2')
    """
    rounded = round(points, 1) + 0.0  # no -0.0
    return f"{rounded:{'+' if rounded else ''}.1f}".replace("-", "−")


@dataclass(frozen=True)
class Gain:
    """How far a method is from the baseline in one column; more is better, whatever the column's metric."""

    title: str
    figure: Figure  # points
    better: int  # data sets and models where it is shown
    worse: int
    of: int
    rows: int  # the fewest that a figure rests on
    single: int = 0  # data sets and models with one seed, where nothing was tested
    most_rows: int = 0  # where they are not as many everywhere

    @property
    def text(self) -> str:
        """Points with the 95% interval.

        >>> Gain("Clean", Figure(1.25, -0.5, 3.0, 3), 0, 0, 1, 1000).text
        '+1.2 (−0.5 to +3.0)'
        """
        found = self.figure
        value, low, high = map(signed, (found.value, found.low, found.high))
        return f"{value} ({low} to {high})" if found.bounded else f"{value} (no interval)"

    @property
    def words(self) -> str:
        """What is shown.

        >>> Gain("PGD", Figure(8.0, 5.0, 11.0, 3), 2, 0, 3, 1000).words
        'better on 2 of 3, no difference shown on 1 of 3'
        >>> Gain("PGD", Figure(3.0, 0.2, 5.8, 3), 0, 0, 1, 1000).words
        'no difference shown (p at least 0.05 after Holm)'
        >>> Gain("PGD", Figure(3.0, 0.2, 5.8, 3), 1, 0, 2, 1000, single=1).words
        'better on 1 of 2, not tested on 1 of 2 (one seed)'
        >>> Gain("PGD", Figure(5.9, 1.3, 10.5, 1), 0, 0, 1, 1000, single=1).words
        'not tested (one seed), interval over rows only'
        """
        counts = {"better": self.better, "worse": self.worse, NOTHING: self.of - self.better - self.worse - self.single}
        shown = {word: count for word, count in counts.items() if count}
        if self.one_seed:
            return UNTESTED + ", interval over rows only" * self.apart
        if self.of == 1 or list(shown.values()) == [self.of]:
            return next(iter(shown)) + self.although * (NOTHING in shown)
        told = [f"{word} on {count} of {self.of}" for word, count in shown.items()]
        return ", ".join([*told, *[f"not tested on {self.single} of {self.of} (one seed)"] * (self.single > 0)])

    @property
    def one_seed(self) -> bool:
        """Whether nothing was tested, because there is one seed everywhere."""
        return self.single == self.of

    @property
    def although(self) -> str:
        """Why nothing is shown where the interval beside it excludes 0."""
        if not self.apart:
            return ""
        return " on any of them alone" if self.of > 1 else " (p at least 0.05 after Holm)"

    @property
    def apart(self) -> bool:
        """Whether the interval excludes 0."""
        return self.figure.bounded and not self.figure.low <= 0 <= self.figure.high


def gain_of(key: str, cells: Sequence[tuple[str, Cell]]) -> Gain | None:
    """The mean gain over data sets and models, and how often a difference is shown; each cell with its data set.

    Several models on one data set are scored on the same rows, so that their errors are not independent.
    """
    found = [(dataset, cell) for dataset, cell in cells if cell.difference is not None and cell.quantity.better]
    compared = [cell for _, cell in found]
    if not compared:
        return None
    marks = [cell.mark for cell in compared]
    by_set: dict[str, list[Figure]] = {}
    for dataset, cell in found:
        by_set.setdefault(dataset, []).append(points(cell))
    return Gain(
        titles([key])[0].title,
        mean_over_sets(list(by_set.values())),
        marks.count("better"),
        marks.count("worse"),
        len(compared),
        min(cell.rows for cell in compared),
        sum(cell.difference is not None and cell.difference.n == 1 for cell in compared),
        max(cell.rows for cell in compared),
    )


def points(cell: Cell) -> Figure:
    """The difference in points, more is better."""
    found, scale = cell.difference, (100 if cell.quantity.share else 1) * cell.quantity.better
    assert found is not None
    low, high = sorted((scale * found.low, scale * found.high))
    return Figure(scale * found.value, low, high, found.n)


def spanned(gains: Sequence[Gain]) -> str:
    """The fewest and the most rows that some gains rest on."""
    return span([count for gain in gains for count in (gain.rows, max(gain.rows, gain.most_rows))])
