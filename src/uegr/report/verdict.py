"""Which method, at what cost: the methods ranked, in words, before anything else.

Each method is compared with the baseline in its clean score and in one column that stands for robustness. Over several
data sets and models the gains are averaged. The rank is by the sum of both gains, after the number of data sets and
models that a method was compared on in both: means over other data are not comparable. The words tell what is shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from uegr.ledger.doubts import measured_split
from uegr.report.caveats import caveats, left_alone, otherwise
from uegr.report.cells import Cell
from uegr.report.columns import titles
from uegr.report.cost import cost_of
from uegr.report.groups import BASELINE, Block, Group, any_compared, by_block, heading, robustness
from uegr.report.tables import span
from uegr.statistics import Figure, mean_of_separate_sets

NOTHING = "no difference shown"
NO_VERDICT = f"No verdict: no other method was trained on the same rows with the same model as {BASELINE}."


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

    @property
    def text(self) -> str:
        """Points with the 95% interval.

        >>> Gain("Clean", Figure(1.25, -0.5, 3.0, 3), 0, 0, 1, 1000).text
        '+1.2 (−0.5 to +3.0)'
        """
        found = self.figure
        value, low, high = (f"{end:+.1f}".replace("-", "−") for end in (found.value, found.low, found.high))
        return f"{value} ({low} to {high})" if found.bounded else value

    @property
    def words(self) -> str:
        """What is shown.

        >>> Gain("PGD", Figure(8.0, 5.0, 11.0, 3), 2, 0, 3, 1000).words
        'better on 2 of 3, no difference shown on 1 of 3'
        >>> Gain("PGD", Figure(3.0, 0.2, 5.8, 3), 0, 0, 1, 1000).words
        'no difference shown (p at least 0.05 after Holm)'
        >>> Gain("PGD", Figure(3.0, 0.2, 5.8, 3), 1, 0, 2, 1000, single=1).words
        'better on 1 of 2, not tested on 1 of 2 (one seed)'
        """
        counts = {"better": self.better, "worse": self.worse, NOTHING: self.of - self.better - self.worse - self.single}
        shown = {word: count for word, count in counts.items() if count}
        if self.one_seed:
            return NOTHING
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


@dataclass(frozen=True)
class Ranked:
    """A method with its gains and its cost."""

    method: str
    settings: str
    gains: list[Gain]
    against: str  # the baseline
    cost: float | None  # passes, baseline = 1
    seeds: int  # the fewest that a setting has
    most_seeds: int
    losses: tuple[str, ...] = ()  # other columns in which it is shown to be worse somewhere
    places: tuple[Block, ...] = ()  # the data sets and models that it was compared on
    whole: int = 0  # of these, where all columns of the verdict were compared
    total: float = 0.0  # the sum of the mean gains there, in points

    @property
    def name(self) -> str:
        return f"{self.method} ({self.settings})" if self.settings else self.method

    @property
    def seeds_text(self) -> str:
        return f"{span([self.seeds, self.most_seeds])} seed{'s' * (self.most_seeds > 1)}"

    def where(self, of: int) -> str:
        """What it was compared on, where that is less than `of` data sets and models.

        >>> Ranked("uegr", "", [], "vanilla", 3.0, 3, 3, places=(("sst2", "minilm"),)).where(2)
        'only on sst2 · minilm'
        """
        if len(self.places) == of:
            return ""
        return f"only on {heading(self.places[0])}" if len(self.places) == 1 else f"on {len(self.places)} of {of}"

    def gain(self, title: str) -> Gain | None:
        """The gain in a column."""
        return next((gain for gain in self.gains if gain.title == title), None)

    @property
    def shown(self) -> list[Gain]:
        """The gains of which something is shown."""
        return [gain for gain in self.gains if gain.better or gain.worse]

    @property
    def cost_text(self) -> str:
        return "–" if self.cost is None else f"{self.cost:.1f} ×"

    @property
    def words(self) -> str:
        """What is shown, column by column."""
        if all(gain.words == NOTHING for gain in self.gains):
            return NOTHING
        return "; ".join(f"{gain.title}: {gain.words}{' (one seed)' * gain.one_seed}" for gain in self.gains)


@dataclass(frozen=True)
class Verdict:
    """The methods, the best first, and one sentence."""

    columns: list[str]
    rows: list[Ranked]
    sentence: str

    @property
    def places(self) -> int:
        """The most data sets and models that a method was compared on."""
        return max(len(row.places) for row in self.rows)

    def counted(self, title: str) -> str:
        """The rows that the gains of a column rest on."""
        gains = [gain for row in self.rows if (gain := row.gain(title))]
        return f"{span([gain.rows for gain in gains])} rows"


def verdict(groups: Sequence[Group]) -> Verdict | None:
    """The methods that have a baseline, ranked; without methods where nothing can be compared, None without runs."""
    compared = [group for some in by_block(groups).values() for group in main_settings(some)]
    keys = [key for key in ("own", robustness(compared, compared=True)) if key and any_compared(compared, [key])]
    methods = dict.fromkeys(group.method for group in compared)
    rows = [ranked([group for group in compared if group.method == method], keys) for method in methods]
    rows = sorted((row for row in rows if row.gains), key=lambda row: (-row.whole, -row.total))
    if not rows:
        told = otherwise(groups) + (left_alone(groups) if any(group.vanillas for group in groups) else "")
        return Verdict([], [], f"No verdict.{told}" if told else NO_VERDICT) if groups else None
    told = sentence(rows, kind_of_rows(compared)) + caveats(compared, groups)
    return Verdict([titles([key])[0].title for key in keys], rows, told)


def main_settings(groups: Sequence[Group]) -> list[Group]:
    """One setting per method of a data set and model: the first of those with the most seeds that was compared."""
    compared = [group for group in groups if any_compared([group])]
    methods = dict.fromkeys(group.method for group in compared)
    own = [[group for group in compared if group.method == method] for method in methods]
    return [max(some, key=lambda group: len(group.seeds)) for some in own]


def ranked(groups: Sequence[Group], keys: Sequence[str]) -> Ranked:
    """One method over its data sets and models."""
    found = [gain_of(key, column(groups, key)) for key in keys]
    prices = [price for group in groups if (price := cost_of(group).passes) is not None]
    settings = groups[0].settings if len(groups) == 1 else ""
    bases = {group.baseline.label for group in groups if group.baseline}
    against = bases.pop() if len(bases) == 1 else BASELINE
    seeds = [len(group.seeds) for group in groups]
    gains = [gain for gain in found if gain is not None]
    price = fmean(prices) if prices else None
    lost = dict.fromkeys(key for group in groups for key, cell in group.columns.items() if cell.mark == "worse")
    losses = tuple(column.title for column in titles([key for key in lost if key not in (*keys, "improvement")]))
    places = tuple(group.block for group in groups)
    whole = [group for group in groups if all(any_compared([group], [key]) for key in keys)]
    standing = (
        len(whole),
        sum(gain.figure.value for key in keys if (gain := gain_of(key, column(whole or groups, key)))),
    )
    return Ranked(groups[0].method, settings, gains, against, price, min(seeds), max(seeds), losses, places, *standing)


def column(groups: Sequence[Group], key: str) -> list[Cell]:
    """The cells of a column that are there."""
    return [group.columns[key] for group in groups if key in group.columns]


def gain_of(key: str, cells: Sequence[Cell]) -> Gain | None:
    """The mean gain over data sets and models, and how often a difference is shown."""
    compared = [cell for cell in cells if cell.difference is not None and cell.quantity.better]
    if not compared:
        return None
    marks = [cell.mark for cell in compared]
    return Gain(
        titles([key])[0].title,
        mean_of_separate_sets([points(cell) for cell in compared]),
        marks.count("better"),
        marks.count("worse"),
        len(compared),
        min(cell.rows for cell in compared),
        sum(cell.difference is not None and cell.difference.n == 1 for cell in compared),
    )


def points(cell: Cell) -> Figure:
    """The difference in points, more is better."""
    found, scale = cell.difference, (100 if cell.quantity.share else 1) * cell.quantity.better
    assert found is not None
    low, high = sorted((scale * found.low, scale * found.high))
    return Figure(scale * found.value, low, high, found.n)


def kind_of_rows(groups: Sequence[Group]) -> str:
    """What the rows are called that the figures rest on: validation rows are no test rows.

    >>> kind_of_rows([])
    'test rows'
    """
    splits = {str(measured_split(run.task)) for group in groups for run in group.runs}
    held_out = {"validation" if split.startswith("validation") else "test" for split in splits} or {"test"}
    return f"{held_out.pop()} rows" if len(held_out) == 1 else "test or validation rows"


def sentence(rows: Sequence[Ranked], kind: str) -> str:
    """What the ranking shows: its first method that is better at something, or that there is none."""
    best = next((row for row in rows if any(gain.better for gain in row.gains)), None)
    if best is None:
        return nothing_better(rows, kind)
    gains = "; ".join(f"{gain.title} {gain.text} points: {gain.words}" for gain in best.gains)
    price = f" It costs {best.cost:.1f} times the passes of {best.against}." if best.cost is not None else ""
    worse = f" It is shown to be worse in {', '.join(best.losses)}." if best.losses else ""
    return f"{best.name} against {best.against}: {gains}, from {basis([best], kind)}.{worse}{price}"


def nothing_better(rows: Sequence[Ranked], kind: str) -> str:
    """No gain is shown, with the columns that were looked at and what they rest on."""
    worse = [row.name for row in rows if row.shown]
    losses = f" Shown to be worse at something: {', '.join(worse)}." if worse else ""
    single = " It takes several seeds to show that." * all(row.most_seeds == 1 for row in rows)
    columns = " or ".join(dict.fromkeys(gain.title for row in rows for gain in row.gains))
    alone = " on any one data set" * any(gain.of > 1 for row in rows for gain in row.gains)
    nothing = f"No method is shown to be better than {BASELINE} in {columns}{alone}, from {basis(rows, kind)}."
    return f"{nothing}{single}{pooled(rows)}{losses}"


def basis(rows: Sequence[Ranked], kind: str) -> str:
    """The seeds and the rows that gains rest on."""
    fewest, most = min(row.seeds for row in rows), max(row.most_seeds for row in rows)
    counts = [gain.rows for row in rows for gain in row.gains]
    return f"{span([fewest, most])} seed{'s' * (most > 1)} and {span(counts)} {kind}"


def pooled(rows: Sequence[Ranked]) -> str:
    """Where data sets show nothing alone, but the interval of their mean is above 0: that, and that it is no test."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for gain in row.gains:
            if gain.of > 1 and not gain.single and gain.apart and gain.figure.low > 0:
                found.setdefault(gain.title, []).append(row.name)
    told = "; ".join(f"{title} for {', '.join(names)}" for title, names in found.items())
    note = "95% interval, not adjusted for several methods"
    return f" The mean over data sets is above 0 in {told} ({note})." if told else ""
