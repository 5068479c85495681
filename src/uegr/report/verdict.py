"""Which method, at what cost: the methods ranked, in words, before anything else.

Each method is compared with the baseline in its clean score and in one column that stands for robustness. Over several
data sets and models the gains are averaged. The rank is by the sum of both gains, on the data sets and models that the
methods share (report/field.py); methods that lack some of them come last. The words tell what is shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from uegr.ledger.doubts import measured_split
from uegr.report.caveats import (
    caveats,
    choosers,
    elsewhere,
    left_alone,
    only_baselines,
    otherwise,
    uncounted,
    untaught,
)
from uegr.report.cells import Cell
from uegr.report.columns import titles
from uegr.report.cost import cost_of
from uegr.report.field import alone, field, inside, whole
from uegr.report.gains import NOTHING, UNTESTED, Gain, gain_of, spanned
from uegr.report.groups import BASELINE, Block, Group, any_compared, by_block, heading, robustness
from uegr.report.tables import span

NO_VERDICT = f"No verdict: no other method was trained on the same rows with the same model as {BASELINE}."


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
    places: frozenset[Block] = frozenset()  # the data sets and models that its gains rest on

    @property
    def name(self) -> str:
        return f"{self.method} ({self.settings})" if self.settings else self.method

    @property
    def seeds_text(self) -> str:
        return f"{span([self.seeds, self.most_seeds])} seed{'s' * (self.most_seeds > 1)}"

    @property
    def total(self) -> float:
        """The sum of the gains, in points."""
        return sum(gain.figure.value for gain in self.gains)

    def where(self, shared: frozenset[Block]) -> str:
        """What its gains rest on, where these are not all the data sets and models that the ranking rests on.

        >>> one, other = ("sst2", "minilm"), ("imdb", "minilm")
        >>> Ranked("uegr", "", [], "vanilla", 3.0, 3, 3, places=frozenset([one])).where(frozenset([one, other]))
        'only on sst2 · minilm'
        """
        if self.places >= shared:
            return ""
        if len(self.places) == 1:
            return f"only on {heading(next(iter(self.places)))}"
        return f"on {len(self.places)} of {len(shared)}" if self.places & shared else f"on {len(self.places)} others"

    def gain(self, title: str) -> Gain | None:
        """The gain in a column."""
        return next((gain for gain in self.gains if gain.title == title), None)

    @property
    def shown(self) -> list[Gain]:
        """The gains of which something is shown."""
        return [gain for gain in self.gains if gain.better or gain.worse]

    @property
    def gains_only(self) -> bool:
        """Whether it is shown to be better at something, and at nothing worse."""
        return any(gain.better for gain in self.gains) and not any(gain.worse for gain in self.gains)

    @property
    def cost_text(self) -> str:
        return "–" if self.cost is None else f"{self.cost:.1f} ×"

    @property
    def words(self) -> str:
        """What is shown, column by column."""
        words = {gain.words for gain in self.gains}
        if len(words) == 1 and words <= {NOTHING, UNTESTED}:
            return words.pop()
        return "; ".join(f"{gain.title}: {gain.words}" for gain in self.gains)


@dataclass(frozen=True)
class Verdict:
    """The methods, the best first, one sentence, and what a reader must know besides."""

    columns: list[str]
    rows: list[Ranked]
    sentence: str
    notes: str = ""
    shared: frozenset[Block] = frozenset()  # the data sets and models that the ranking rests on
    counted: tuple[Group, ...] = ()  # the settings behind the gains

    @property
    def text(self) -> str:
        """All of it in one line."""
        return " ".join(part for part in (self.sentence, self.notes) if part)

    def rows_of(self, title: str) -> str:
        """The rows that the gains of a column rest on."""
        gains = [gain for row in self.rows if (gain := row.gain(title))]
        return f"{spanned(gains)} rows"


def verdict(found: Sequence[Group]) -> Verdict | None:
    """The methods that have a baseline, ranked; without methods where nothing can be compared, None without runs."""
    groups = rankable(found)
    compared = [group for some in by_block(groups).values() for group in main_settings(some)]
    keys = [key for key in ("own", robustness(compared, compared=True)) if key and any_compared(compared, [key])]
    own = {method: [group for group in compared if group.method == method] for method in methods_of(compared)}
    fair = {method: whole(alone(some), keys) for method, some in own.items()}
    shared = field({method: frozenset(group.block for group in some) for method, some in fair.items()})
    counted = [group for some in fair.values() for group in inside(some, shared)]
    rows = [ranked([group for group in counted if group.method == method], keys) for method in own]
    rows = in_order([row for row in rows if row.gains], shared)
    if not rows:
        why = otherwise(groups) + (left_alone(groups) if any(group.vanillas for group in groups) else "")
        why = why or only_baselines(groups)
        return Verdict([], [], (f"No verdict.{why}" if why else NO_VERDICT) + untaught(found)) if groups else None
    notes = elsewhere(own, counted, shared) + uncounted(compared, counted) + caveats(counted, groups)
    notes += untaught(found) + choosers(found)
    named = [titles([key])[0].title for key in keys]
    return Verdict(named, rows, sentence(rows, kind_of_rows(counted), shared), notes.strip(), shared, tuple(counted))


def methods_of(groups: Sequence[Group]) -> list[str]:
    """Their methods, each once."""
    return list(dict.fromkeys(group.method for group in groups))


def in_order(rows: Sequence[Ranked], shared: frozenset[Block]) -> list[Ranked]:
    """First those that were compared on all of what is shared; of them, and of the others, first those that are shown
    to be better at something and worse at nothing; then by gains.
    """
    return sorted(rows, key=lambda row: (not row.places >= shared, not row.gains_only, -row.total))


def rankable(groups: Sequence[Group]) -> Sequence[Group]:
    """Those whose rows did not choose a method; all where there are no others."""
    return [group for group in groups if not group.chooses] or groups


def main_settings(groups: Sequence[Group]) -> list[Group]:
    """One setting per method of a data set and model: the first of those with the most seeds that was compared."""
    compared = [group for group in groups if any_compared([group])]
    own = [[group for group in compared if group.method == method] for method in methods_of(compared)]
    return [max(some, key=lambda group: len(group.seeds)) for some in own]


def ranked(groups: Sequence[Group], keys: Sequence[str]) -> Ranked:
    """One method over its data sets and models."""
    found = [gain_of(key, column(groups, key)) for key in keys]
    prices = [price for group in groups if (price := cost_of(group).passes) is not None]
    settings = groups[0].settings if len({group.settings for group in groups}) == 1 or groups[0].is_baseline else ""
    bases = {group.baseline.label for group in groups if group.baseline}
    against = bases.pop() if len(bases) == 1 else BASELINE
    seeds = [len(group.seeds) for group in groups]
    gains = [gain for gain in found if gain is not None]
    price = fmean(prices) if prices else None
    lost = dict.fromkeys(key for group in groups for key, cell in group.columns.items() if cell.mark == "worse")
    losses = tuple(column.title for column in titles([key for key in lost if key not in (*keys, "improvement")]))
    places = frozenset(group.block for group in groups)
    return Ranked(groups[0].method, settings, gains, against, price, min(seeds), max(seeds), losses, places)


def column(groups: Sequence[Group], key: str) -> list[tuple[str, Cell]]:
    """The cells of a column that are there, each with its data set."""
    return [(group.dataset, group.columns[key]) for group in groups if key in group.columns]


def kind_of_rows(groups: Sequence[Group]) -> str:
    """What the rows are called that the figures rest on: validation rows are no test rows.

    >>> kind_of_rows([])
    'test rows'
    """
    splits = {str(measured_split(run.task)) for group in groups for run in group.runs}
    held_out = {"validation" if split.startswith("validation") else "test" for split in splits} or {"test"}
    return f"{held_out.pop()} rows" if len(held_out) == 1 else "test or validation rows"


def sentence(rows: Sequence[Ranked], kind: str, shared: frozenset[Block]) -> str:
    """What the ranking shows: its first method that is better at something, or that there is none."""
    best = next((row for row in rows if any(gain.better for gain in row.gains)), None)
    if best is None:
        return nothing_better(rows, kind)
    gains = "; ".join(f"{gain.title} {gain.text} points: {gain.words}" for gain in best.gains)
    price = f", at {best.cost:.1f} times its passes" if best.cost is not None else ""
    worse = f" It is shown to be worse in {', '.join(best.losses)}." if best.losses else ""
    where = f", {text}" if (text := best.where(shared)) else ""
    return f"{best.name} against {best.against}{price}: {gains}. From {basis([best], kind)}{where}.{worse}"


def nothing_better(rows: Sequence[Ranked], kind: str) -> str:
    """No gain is shown, with the columns that were looked at and what they rest on."""
    worse = [row.name for row in rows if row.shown]
    losses = f" Shown to be worse at something: {', '.join(worse)}." if worse else ""
    single = " It takes several seeds to show that." * all(row.most_seeds == 1 for row in rows)
    columns = " or ".join(dict.fromkeys(gain.title for row in rows for gain in row.gains))
    alone = " on any one data set and model" * any(gain.of > 1 for row in rows for gain in row.gains)
    nothing = f"No method is shown to be better than {BASELINE} in {columns}{alone}, from {basis(rows, kind)}."
    return f"{nothing}{single}{pooled(rows)}{losses}"


def basis(rows: Sequence[Ranked], kind: str) -> str:
    """The seeds and the rows that gains rest on; column by column where these differ."""
    fewest, most = min(row.seeds for row in rows), max(row.most_seeds for row in rows)
    gains: dict[str, list[Gain]] = {}
    for gain in (gain for row in rows for gain in row.gains):
        gains.setdefault(gain.title, []).append(gain)
    counts = {title: spanned(some) for title, some in gains.items()}
    told = f"{span([fewest, most])} seed{'s' * (most > 1)}"
    if len(set(counts.values())) == 1:
        return f"{told} and {next(iter(counts.values()))} {kind}"
    return f"{told}, {kind}: " + " and ".join(f"{count} in {title}" for title, count in counts.items())


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
