"""Which method: the studies nearest to a model and a number of rows answer, within a limit of cost.

Near are cells with the same kind of model (pretrained or from scratch) whose rows are within a factor of two of the
nearest, and of these the ones with the model itself, where there are any. Cells with one seed count only where there
are no others. A method can be recommended if

1. it was measured on all data sets that the others were measured on, and nothing there is unreliable (a data set where
   vanilla is at chance tells nothing and is left out);
2. its passes are within the limit;
3. its clean score is not below vanilla's by more than the margin of docs/study.md, and nowhere shown to be lower;
4. its robust score is shown to be higher on at least half of the data sets, and nowhere shown to be lower.

The one with the highest robust score is recommended. Where there is none, it is vanilla, and no gain is claimed.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from uegr.ledger.doubts import AT_CHANCE
from uegr.report.cells import Cell
from uegr.report.contest import MARGIN, matches
from uegr.report.gains import Gain, gain_of
from uegr.report.groups import BASELINE, Group, by_block, grouped
from uegr.report.reading import collect
from uegr.report.verdict import Ranked, main_settings, ranked

KEYS = ("own", "robust")
TRAINING = ("epochs", "learning_rate", "batch_size", "max_length", "precision")  # always told
CLEAN, ROBUST = "Clean", "Robust"
FACTOR = 2.0  # of rows, within which cells are as near as the nearest
FAR = 4.0  # of rows, from which on a reader is told


@dataclass(frozen=True)
class Question:
    """What is asked."""

    model: str
    rows: int  # to train on
    limit: float | None = None  # passes, vanilla = 1; None: any


@dataclass(frozen=True)
class Candidate:
    """One method on the data sets that are near."""

    ranked: Ranked
    groups: list[Group]
    clean: Gain
    robust: Gain
    doubts: list[str]
    refusals: list[str]  # why it is not recommended; empty where it can be


@dataclass(frozen=True)
class Rival:
    """How far the recommended method is above another one that could be recommended too."""

    name: str
    cost: float
    robust: Gain


@dataclass(frozen=True)
class Recommendation:
    """The method, or vanilla where none is shown to be better, with all that was considered."""

    question: Question
    chosen: Candidate | None
    candidates: list[Candidate] = field(default_factory=list)  # the most robust first
    rivals: list[Rival] = field(default_factory=list)

    @property
    def method(self) -> str:
        return self.chosen.groups[0].runs[0].config.method.name if self.chosen else BASELINE

    @property
    def groups(self) -> list[Group]:
        """Everything that it rests on."""
        return [group for candidate in self.candidates for group in candidate.groups]

    @property
    def studies(self) -> list[str]:
        return sorted({grid.folder.name for group in self.groups for run in group.runs for grid in run.run.grids})

    @property
    def datasets(self) -> list[str]:
        return sorted({group.dataset for group in self.groups})

    @property
    def models(self) -> list[str]:
        return sorted({group.model for group in self.groups})

    @property
    def rows(self) -> list[int]:
        """The fewest and the most rows of the cells."""
        found = {rows_of(group) for group in self.groups}
        return sorted({min(found), max(found)}) if found else []

    @property
    def far(self) -> bool:
        """Whether even the nearest cells have a quarter or four times the rows."""
        return bool(self.groups) and min(distance(group, self.question.rows) for group in self.groups) > math.log(FAR)


def read_studies(folders: Iterable[Path]) -> list[Group]:
    """The settings of every study, each compared within its study; rows that chose a method are no evidence for it."""
    found = [collect([folder]) for folder in folders]
    return [group for one in found if not any(grid.chooses for grid in one.grids) for group in grouped(one.runs)]


def recommendation(groups: Sequence[Group], question: Question, scratch: Callable[[str], bool]) -> Recommendation:
    """Choose among the methods of the nearest cells; `scratch` tells which models are not pretrained."""
    told = [group for group in groups if KEYS[1] in group.columns and not at_chance(group.baseline or group)]
    near = nearest(told, question, scratch)
    found = candidates(near, question.limit)
    chosen = next((one for one in found if not one.refusals), None)
    return Recommendation(question, chosen, found, rivals(chosen, found) if chosen else [])


def at_chance(group: Group) -> bool:
    """Whether a run of it has learned nothing that shows."""
    return any(reason.startswith(AT_CHANCE) for reason in group.doubts)


def nearest(groups: Sequence[Group], question: Question, scratch: Callable[[str], bool]) -> list[Group]:
    """The settings of the same kind of model with about the same rows; of these the model's own, then those with
    several seeds, where there are any.
    """
    kind = scratch(question.model)
    same = [group for group in groups if scratch(group.runs[0].config.model.name) == kind]
    reach = min((distance(group, question.rows) for group in same), default=0.0) + math.log(FACTOR)
    near = [group for group in same if distance(group, question.rows) <= reach]
    near = [group for group in near if group.model == question.model] or near
    return [group for group in near if len(group.seeds) > 1] or near


def rows_of(group: Group) -> int:
    """The rows that it was trained on."""
    return group.runs[0].task.rows


def distance(group: Group, rows: int) -> float:
    """How far the number of rows is, on a logarithmic scale."""
    return abs(math.log(rows_of(group) / rows))


def candidates(groups: Sequence[Group], limit: float | None) -> list[Candidate]:
    """The methods, each compared with the vanilla of its study, the most robust first."""
    compared = [group for some in by_block(groups).values() for group in main_settings(some)]
    methods = dict.fromkeys(group.method for group in compared)
    own = [[group for group in compared if group.method == method] for method in methods]
    sets = max(map(len, own), default=0)
    found = [candidate(some, sets, limit) for some in own]
    return sorted((one for one in found if one), key=lambda one: (-one.robust.figure.value, one.ranked.cost or 0.0))


def candidate(groups: list[Group], sets: int, limit: float | None) -> Candidate | None:
    """One method; None where a score is missing."""
    row = ranked(groups, KEYS)
    clean, robust = row.gain(CLEAN), row.gain(ROBUST)
    if clean is None or robust is None:
        return None
    sides = [side for group in groups for side in (group, group.baseline) if side is not None]
    doubts = list(dict.fromkeys(reason for side in sides for reason in side.doubts))
    measured = [f"measured on {robust.of} of {sets} data sets"] if robust.of < sets else []
    return Candidate(row, groups, clean, robust, doubts, [*measured, *refusals(row, clean, robust, doubts, limit)])


def refusals(row: Ranked, clean: Gain, robust: Gain, doubts: Sequence[str], limit: float | None) -> Iterator[str]:
    """Why a method is not recommended."""
    if limit is not None and (row.cost is None or round(row.cost, 1) > limit):
        yield f"costs {row.cost_text}"
    if doubts:
        yield f"unreliable: {doubts[0]}"
    if clean.worse or clean.figure.value < -100 * MARGIN:
        yield "clean score lower"
    if robust.worse:
        yield f"robust score: {robust.words}"
    elif 2 * robust.better < robust.of or not robust.better:
        yield f"robust score higher on {robust.better} of {robust.of}" if robust.better else robust.words


def rivals(chosen: Candidate, found: Sequence[Candidate]) -> list[Rival]:
    """The recommended method against the others that could be, row by row where both were measured in one study."""
    others = [one for one in found if one is not chosen and not one.refusals and one.ranked.cost is not None]
    differences: dict[str, list[tuple[str, Cell]]] = {}
    for own in chosen.groups:
        met = [(one, group) for one in others for group in one.groups if group.baseline is own.baseline]
        for (one, _), match in zip(met, matches(own, [group for _, group in met]), strict=True):
            differences.setdefault(one.ranked.name, []).append((own.dataset, match.robust))
    gains = {name: gain_of(KEYS[1], cells) for name, cells in differences.items()}
    costs = {one.ranked.name: one.ranked.cost or 0.0 for one in others}
    return [Rival(name, costs[name], gain) for name, gain in gains.items() if gain is not None]


def refused(found: Recommendation) -> dict[str, list[str]]:
    """Why methods are not recommended: all reasons of one in a text, with the methods that share them."""
    reasons: dict[str, list[str]] = {}
    for one in found.candidates:
        if one.refusals:
            reasons.setdefault("; ".join(one.refusals), []).append(one.ranked.name)
    return reasons


def settings(chosen: Candidate, defaults: Mapping[str, Any]) -> dict[str, Any]:
    """What the study set, the same on all data sets: the method's options that are not its defaults, the training."""
    flat = [group.runs[0].run.settings for group in chosen.groups]
    same = {path: value for path, value in flat[0].items() if all(one.get(path) == value for one in flat)}
    base = chosen.groups[0].baseline
    plain = base.runs[0].run.settings if base else {}
    found = {}
    for path, value in same.items():
        section, _, key = path.partition(".")
        own = section == "method" and key in defaults and value != defaults[key]
        trained = section == "training" and (key in TRAINING or value != plain.get(path))
        if (own or trained) and value is not None:
            found[path] = value
    return found


def sentence(found: Recommendation) -> str:
    """The answer; where nothing is shown, that."""
    limit = "" if found.question.limit is None else f" within {found.question.limit:g} times the passes of {BASELINE}"
    if not found.candidates:
        return f"No evidence yet for such a model: nothing was measured. Use {BASELINE}: it costs least."
    if found.chosen is None:
        return f"No method{limit} is shown to be better than {BASELINE}. Use {BASELINE}."
    best, row = found.chosen.robust, found.chosen.ranked
    return (
        f"Use {row.name}: the highest robust score{limit}, {best.text} points against {row.against}, "
        f"clean {found.chosen.clean.text}, at {row.cost_text} the passes."
    )


def caveats(found: Recommendation, kind: str) -> Iterator[str]:
    """What a reader should know of the evidence: other rows, another model of the `kind`, the report's own order."""
    if found.far:
        yield f"No study has about {found.question.rows:,} rows: expect another gain, and measure it."
    if found.candidates and found.question.model not in found.models:
        names = ", ".join(found.models)
        yield f"No study near has {found.question.model}: the evidence is from {names}, also {kind}."
    if found.candidates:
        yield "A report may rank otherwise: it takes all data sets and models together, this only what is near."


def basis(found: Recommendation) -> str:
    """The studies, data sets, models, rows and seeds that an answer rests on.

    >>> basis(Recommendation(Question("minilm", 1000), None))
    'nothing'
    """
    if not found.candidates:
        return "nothing"
    seeds = sorted(count for one in found.candidates for count in (one.ranked.seeds, one.ranked.most_seeds))
    rows = " to ".join(f"{count:,}" for count in found.rows)
    counted = f"{'-'.join(map(str, sorted({seeds[0], seeds[-1]})))} seed{'s' * (seeds[-1] > 1)}"
    names = ", ".join(found.datasets)
    return f"{', '.join(found.studies) or 'runs'}: {names} with {', '.join(found.models)}, {rows} rows, {counted}"
