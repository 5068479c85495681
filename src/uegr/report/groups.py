"""Runs that differ by their seed alone are one setting; settings of one data set and model are compared."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from uegr.ledger.doubts import ONE_SEED, REPLAYED, doubts
from uegr.report.cells import Cell, Mark, compared, marked, over_seeds
from uegr.report.columns import columns_of
from uegr.report.perspectives import improvement
from uegr.report.reading import Grid, Run, TaskRun, tasks_of
from uegr.report.settings import leaves, short, shown_names, spoken
from uegr.result import Evaluation

BASELINE = "vanilla"
PERSPECTIVES = ("own", "shift", "adversarial", "ece", "anomaly")  # the columns of what an improvement is the mean of
ROBUSTNESS = ("pgd", "fgm", "adversarial")  # before these, the first word attack
Block = tuple[str, str]  # data set with its fold, model
CHOOSE_ROWS = ("dataset.holdout", "dataset.validation_as_test")  # to test on


@dataclass(eq=False)
class Group:
    """One setting of one task over its seeds."""

    dataset: str
    model: str
    method: str
    options: tuple[tuple[str, Any], ...]  # what varies on this data set and model
    runs: list[TaskRun]
    vanillas: list["Group"] = field(default_factory=list)  # on the same rows, whatever their training
    baseline: "Group | None" = None  # of these, the one that it is compared with
    base: "Group | None" = None  # that its relative improvement starts from
    units: list["Group"] = field(default_factory=list)  # the baselines of its data set and model
    cells: dict[str, Cell] = field(default_factory=dict)  # every figure
    columns: dict[str, Cell] = field(default_factory=dict)  # the summaries of the leaderboard

    @property
    def block(self) -> Block:
        return self.dataset, self.model

    @property
    def is_baseline(self) -> bool:
        return self.method == BASELINE

    @property
    def settings(self) -> str:
        """What varies, as text; empty where nothing does."""
        return ", ".join(f"{short(path)} {spoken(value)}" for path, value in self.options)

    @property
    def own_settings(self) -> str:
        """The same without those that choose the rows to test on."""
        return ", ".join(f"{short(path)} {spoken(value)}" for path, value in self.options if path not in CHOOSE_ROWS)

    @property
    def tested_on(self) -> str:
        """Its data set and model, and the settings that choose the rows to test on."""
        chosen = [f"{short(path)} {spoken(value)}" for path, value in self.options if path in CHOOSE_ROWS]
        rows = [text for text in chosen if not text.endswith(("default", "False"))]
        return ", ".join([heading(self.block), *rows])

    @property
    def unlike_baseline(self) -> list[str]:
        """How its training differs from that of its baseline, apart from the method."""
        base = dict(self.baseline.options) if self.baseline else {}
        both = [(path, value) for path, value in self.options if path in base and not path.startswith("method.")]
        differ = [(short(path), spoken(value), spoken(base[path])) for path, value in both if value != base[path]]
        return [f"{name} {own} instead of {other}" for name, own, other in differ]

    @property
    def chooses(self) -> bool:
        """Whether its rows chose a method for other studies: they are no evidence for the choice."""
        return any(grid.chooses for grid in grids_of(self))

    @property
    def label(self) -> str:
        return f"{self.method} ({self.settings})" if self.settings else self.method

    @property
    def evaluations(self) -> list[tuple[int, Evaluation]]:
        """What was measured, with the seed."""
        return [(run.seed, run.evaluation) for run in self.runs if run.evaluation is not None]

    @property
    def seeds(self) -> list[int]:
        return sorted({run.seed for run in self.runs})

    @property
    def doubts(self) -> list[str]:
        """Why its figures may be unreliable."""
        found = dict.fromkeys(reason for run in self.runs for reason in doubts(run.run.result))
        return [*found, *([ONE_SEED] if len(self.seeds) == 1 else [])]


def grouped(runs: Sequence[Run]) -> list[Group]:
    """The settings with their figures over seeds, each compared with its baseline."""
    groups = [group for block, parts in blocks_of(tasks_of(runs)).items() for group in settings(block, parts)]
    for group in groups:
        group.vanillas = vanillas_of(group, groups)
        group.baseline = closest(group, group.vanillas)
        group.base = base_of(group, groups)
    for some in by_block(groups).values():
        for group in some:
            group.units = [one.baseline for one in some if one.baseline] or [one for one in some if one.is_baseline]
    fill(groups)
    return sorted(groups, key=lambda group: (*group.block, group.method != BASELINE, group.method, rank(group)))


def blocks_of(parts: Sequence[TaskRun]) -> dict[Block, list[TaskRun]]:
    """What is on the same data set with the same model, by the names that are shown."""
    datasets = shown_names({part.task.dataset for part in parts})
    models = shown_names({part.config.model.name for part in parts})
    blocks: dict[Block, list[TaskRun]] = defaultdict(list)
    for part in parts:
        dataset = datasets[part.task.dataset] + part.fold
        blocks[dataset, models[part.config.model.name]].append(part)
    return blocks


def rank(group: Group) -> list[tuple[bool, Any]]:
    """Settings in the order of their numbers."""
    return [(isinstance(value, str), value) if isinstance(value, int | float | str) else (True, spoken(value))
            for _, value in group.options]  # fmt: skip


def settings(block: Block, parts: Sequence[TaskRun]) -> list[Group]:
    """A group for each combination of what varies: among all methods, or among the options of one.

    A method that a grid calls `vanilla, passes of uegr` is one of its own: its name says how its training differs.
    """
    plain = [part for part in parts if part.method == part.config.method.name]
    found: dict[str, Group] = {}
    for method in dict.fromkeys(part.method for part in parts):
        own = [part for part in parts if part.method == method]
        peers = plain if own[0] in plain else own
        common = [path for path in varied(peers) if not path.startswith("method.")]
        paths = [*(path for path in varied(own) if path.startswith("method.")), *common]
        for part in own:
            options = tuple((path, part.run.settings.get(path)) for path in paths)
            found.setdefault(f"{method} {options!r}", Group(*block, method, options, [])).runs.append(part)
    return list(found.values())


def varied(parts: Sequence[TaskRun]) -> list[str]:
    """The paths whose values differ; values that a search chose do not count."""
    flat = [part.run.settings for part in parts]
    searches = [part.run.result.search for part in parts]
    chosen = {path for search in searches if search is not None for path in dict(leaves(search.chosen))}
    paths = [path for path in dict.fromkeys(path for one in flat for path in one) if path not in chosen]
    return [path for path in paths if len({repr(one.get(path)) for one in flat}) > 1]


def shared(group: Group, *sections: str) -> dict[str, Any]:
    """The settings of some sections, of the group's first run."""
    return {path: value for path, value in group.runs[0].run.settings.items() if path.partition(".")[0] in sections}


def vanillas_of(group: Group, groups: Sequence[Group]) -> list[Group]:
    """The vanilla runs with the same rows, or what the grid names in their place; of a baseline itself none."""
    same = [other for other in groups if other.block == group.block]
    same = [other for other in same if shared(other, "dataset", "model") == shared(group, "dataset", "model")]
    for grid in grids_of(group):
        if grid.baseline and (named := [other for other in same if is_meant(other, grid.baseline)]):
            return [] if group in named else named
    return [] if group.method == BASELINE else [other for other in same if other.method == BASELINE]


def closest(group: Group, candidates: Sequence[Group]) -> Group | None:
    """The candidate with the same training, otherwise with the same options of the method; of several the plainest.

    None where candidates that are alike in that have another training each: which of them is meant would be a guess.
    """
    exact = [other for other in candidates if shared(other, "training") == shared(group, "training")]
    if exact:
        return min(exact, key=lambda other: (own_options(other), other.label))
    alike = [other for other in candidates if same_method(group, other)] or candidates
    fewest = min(map(own_options, alike), default=0)
    plainest = [other for other in alike if own_options(other) == fewest]
    return plainest[0] if len(plainest) == 1 else None


def own_options(group: Group) -> int:
    """How many of the settings that vary are set."""
    return sum(value is not None for _, value in group.options)


def same_method(group: Group, other: Group) -> bool:
    """Whether what varies of the other's method is the same in the group."""
    have = group.runs[0].run.settings
    return all(have.get(path) == value for path, value in other.options if path.startswith("method."))


def base_of(group: Group, groups: Sequence[Group]) -> Group | None:
    """What the relative improvement starts from: what the grid names, on the same rows; otherwise the baseline."""
    for grid in grids_of(group):
        if grid.base:
            own = {"model": group.runs[0].config.model.name, "method": BASELINE}
            same = [other for other in groups if shared(other, "dataset") == shared(group, "dataset")]
            named = [other for other in same if other.dataset == group.dataset and is_meant(other, own | grid.base)]
            return closest(group, named)
    return group.baseline


def grids_of(group: Group) -> list[Grid]:
    """The grids that its runs are cells of."""
    return list({grid.folder: grid for run in group.runs for grid in run.run.grids}.values())


def is_meant(group: Group, wanted: Mapping[str, Any]) -> bool:
    """Whether the setting has these names (`method: vanilla`) and settings (`method.dropout: 0.0`)."""
    config, settings = group.runs[0].config, group.runs[0].run.settings
    have = {**settings, "method": group.method, "model": config.model.name}
    return all(have.get(key) == value for key, value in wanted.items())


def by_block(groups: Sequence[Group]) -> dict[Block, list[Group]]:
    """The settings of each data set and model."""
    blocks: dict[Block, list[Group]] = {}
    for group in groups:
        blocks.setdefault(group.block, []).append(group)
    return blocks


def any_compared(groups: Sequence[Group], keys: Sequence[str] | None = None) -> bool:
    """Whether some figure, of these columns, has a difference to that of a baseline."""
    cells = [cell for group in groups for key, cell in group.columns.items() if keys is None or key in keys]
    return any(cell.difference is not None for cell in cells)


def heading(block: Block) -> str:
    """A data set and a model in a line."""
    return " · ".join(block)


def robustness(groups: Sequence[Group], *, compared: bool = False) -> str | None:
    """The column that stands for robustness: words and PGD together, a word attack, else PGD, FGM, adversarial sets.

    With `compared`, it is one that some setting and its baseline both have.
    """
    present = {key for group in groups for key, cell in group.columns.items() if not compared or cell.difference}
    words = sorted(key for key in present if key.startswith("attack ") and not key.endswith(REPLAYED))
    return next((key for key in ("robust", *words, *ROBUSTNESS) if key in present), None)


def fill(groups: Sequence[Group]) -> None:
    """Every figure over seeds, and the comparisons within each data set and model."""
    for some in by_block(groups).values():
        metric = common_metric(some)
        for group in some:
            group.cells = over_seeds([(run.seed, run.figures) for run in group.runs])
            group.columns = over_seeds([(run.seed, columns_of(run, metric)) for run in group.runs])
        compare(some, lambda group: group.cells)
        compare(some, lambda group: group.columns)
    for group in groups:
        add_improvement(group)


def common_metric(groups: Sequence[Group]) -> str | None:
    """The metric that all of them were told to use: runs are compared by one and the same."""
    told = {str(run.config.training.get("metric")) for group in groups for run in group.runs}
    return told.pop() if len(told) == 1 else None


def add_improvement(group: Group) -> None:
    """Table III's number as one more column, each seed against the base's run of that seed."""
    if group.base is None:
        return
    base, name = dict(group.base.evaluations), base_name(group, group.base)
    found = []
    for seed, evaluation in group.evaluations:
        if seed in base and (entry := improvement(evaluation, base[seed], name)):
            found.append((seed, {entry.quantity.key: entry}))
    group.columns |= {key: judged(cell, group) for key, cell in over_seeds(found).items()}


def judged(cell: Cell, group: Group) -> Cell:
    """An improvement, marked where seeds and rows show it: its interval over seeds excludes 0, and one of the columns
    that it is the mean of is marked likewise. Against a base that is not the baseline, the seeds alone tell.
    """
    side: Mark = "better" if cell.figure.low > 0 else "worse" if cell.figure.high < 0 else ""
    marks = {group.columns[key].mark for key in PERSPECTIVES if key in group.columns}
    return replace(cell, mark=side if side in marks or group.base is not group.baseline else "")


def base_name(group: Group, base: Group) -> str:
    """What the base is called; its model where that is another one."""
    return base.label if base.model == group.model else f"{base.label} of {base.model}"


def compare(groups: Sequence[Group], of: Callable[[Group], dict[str, Cell]]) -> None:
    """Fill in differences and marks; only figures that one can be better at are tested."""
    for key in {key for group in groups for key in of(group)}:
        pairs = [(group, group.baseline) for group in groups if group.baseline and key in of(group)]
        pairs = [(group, base) for group, base in pairs if key in of(base)]
        cells = [compared(of(group)[key], of(base)[key], base.label) for group, base in pairs]
        tested = [cell if cell.quantity.better else Cell(cell.quantity, cell.figures) for cell in cells]
        for (group, _), cell in zip(pairs, marked(tested), strict=True):
            of(group)[key] = cell
