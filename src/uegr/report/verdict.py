"""Which method, at what cost: the methods ranked, in words, before anything else.

Each method is compared with the baseline in its clean score and in one column that stands for robustness. Over several
data sets and models the gains are averaged. The rank is by the sum of both gains, after the number of data sets and
models that a method was compared on in both: means over other data are not comparable. The words tell what is shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from uegr.ledger.doubts import measured_split
from uegr.report.caveats import caveats, choosers, left_alone, only_baselines, otherwise, untaught
from uegr.report.cells import Cell
from uegr.report.columns import titles
from uegr.report.cost import cost_of
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
        return f"{spanned(gains)} rows"


def verdict(found: Sequence[Group]) -> Verdict | None:
    """The methods that have a baseline, ranked; without methods where nothing can be compared, None without runs."""
    groups = rankable(found)
    compared = [group for some in by_block(groups).values() for group in main_settings(some)]
    keys = [key for key in ("own", robustness(compared, compared=True)) if key and any_compared(compared, [key])]
    methods = dict.fromkeys(group.method for group in compared)
    rows = [ranked([group for group in compared if group.method == method], keys) for method in methods]
    rows = in_order([row for row in rows if row.gains])
    if not rows:
        why = otherwise(groups) + (left_alone(groups) if any(group.vanillas for group in groups) else "")
        why = why or only_baselines(groups)
        return Verdict([], [], (f"No verdict.{why}" if why else NO_VERDICT) + untaught(found)) if groups else None
    told = sentence(rows, kind_of_rows(compared)) + caveats(compared, groups) + untaught(found) + choosers(found)
    return Verdict([titles([key])[0].title for key in keys], rows, told)


def in_order(rows: Sequence[Ranked]) -> list[Ranked]:
    """First those that are shown to be better at something and worse at nothing; then by data sets, then by gains."""
    return sorted(rows, key=lambda row: (not row.gains_only, -row.whole, -row.total))


def rankable(groups: Sequence[Group]) -> Sequence[Group]:
    """Those whose rows did not choose a method; all where there are no others."""
    return [group for group in groups if not group.chooses] or groups


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
    settings = groups[0].settings if len({group.settings for group in groups}) == 1 or groups[0].is_baseline else ""
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
