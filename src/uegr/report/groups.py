"""Runs that differ by their seed alone are one setting; settings of one data set and model are compared."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from uegr.report.columns import columns_of, improvement
from uegr.report.figures import Figure
from uegr.report.reading import Run
from uegr.report.statistics import Cell, compared, marked

BASELINE = "vanilla"
NOT_A_SETTING = {"seed", "method.name", "model.name", "dataset.name", "training.report_to", "training.checkpoint_steps"}
Block = tuple[str, str]  # data set, model


@dataclass(eq=False)
class Group:
    """One setting over its seeds."""

    dataset: str
    model: str
    method: str
    options: tuple[tuple[str, Any], ...]  # what varies among the settings of this data set, model and method
    runs: list[Run]
    baseline: "Group | None" = None
    cells: dict[str, Cell] = field(default_factory=dict)  # every figure
    columns: dict[str, Cell] = field(default_factory=dict)  # the summaries of the leaderboard

    @property
    def block(self) -> Block:
        return self.dataset, self.model

    @property
    def settings(self) -> str:
        """What varies, as text; empty where nothing does."""
        return ", ".join(f"{short(path)} {spoken(value)}" for path, value in self.options)

    @property
    def label(self) -> str:
        return f"{self.method} ({self.settings})" if self.settings else self.method

    @property
    def seeds(self) -> list[int]:
        return sorted({run.seed for run in self.runs})


def short(path: str) -> str:
    """The last word of a path.

    >>> short("method.divergence_weight")
    'divergence weight'
    """
    return path.rpartition(".")[2].replace("_", " ")


def spoken(value: Any) -> str:
    """A setting's value.

    >>> spoken([0.1, 0.3]), spoken(None), spoken(0.50)
    ('0.1/0.3', 'default', '0.5')
    """
    if value is None:
        return "default"
    if isinstance(value, list | tuple):
        return "/".join(spoken(item) for item in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def grouped(runs: Sequence[Run]) -> list[Group]:
    """The settings with their figures over seeds, each compared with its baseline."""
    names = {kind: shown_names({run.config[kind]["name"] for run in runs}) for kind in ("dataset", "model")}
    buckets: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for run in runs:
        shown = (names[kind][run.config[kind]["name"]] for kind in ("dataset", "model"))
        buckets[(*shown, run.config["method"]["name"])].append(run)
    groups = [group for key, some in buckets.items() for group in split(key, some)]
    for group in groups:
        group.baseline = baseline_of(group, groups)
    fill(groups)
    return sorted(groups, key=lambda group: (*group.block, group.method != BASELINE, group.method, rank(group)))


def rank(group: Group) -> list[tuple[bool, Any]]:
    """Settings in the order of their numbers."""
    return [(isinstance(value, str), value) if isinstance(value, int | float | str) else (True, spoken(value))
            for _, value in group.options]  # fmt: skip


def shown_names(names: set[str]) -> dict[str, str]:
    """Files and folders by their last part, unless that would make two the same."""
    last = {name: PurePath(name).name or name for name in names}
    unique = len(set(last.values())) == len(names)
    return {name: last[name] if unique and name.startswith(("/", ".", "~")) else name for name in names}


def leaves(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The settings of a nested configuration by their paths."""
    for key, value in config.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{prefix}{key}.")
        elif f"{prefix}{key}" not in NOT_A_SETTING:
            yield f"{prefix}{key}", value


def split(key: tuple[str, str, str], runs: Sequence[Run]) -> list[Group]:
    """A group for each combination of what varies; values that a search chose are no such thing."""
    flat = [dict(leaves(run.config)) for run in runs]
    chosen = {path for run in runs for path in dict(leaves(run.result.get("search", {}).get("chosen", {})))}
    paths = [path for path in dict.fromkeys(path for one in flat for path in one) if path not in chosen]
    varied = [path for path in paths if len({repr(one.get(path)) for one in flat}) > 1]
    found: dict[str, Group] = {}
    for run, one in zip(runs, flat, strict=True):
        options = tuple((path, one.get(path)) for path in varied)
        found.setdefault(repr(options), Group(*key, options, [])).runs.append(run)
    return list(found.values())


def shared(group: Group, *sections: str) -> dict[str, Any]:
    """The settings of some sections, of the group's first run."""
    config = group.runs[0].config
    return {path: value for section in sections for path, value in leaves(config.get(section, {}), f"{section}.")}


def baseline_of(group: Group, groups: Sequence[Group]) -> Group | None:
    """The vanilla runs on the same rows by the same training; where only the training differs, if there is one such."""
    if group.method == BASELINE:
        return None
    same = [other for other in groups if other.method == BASELINE and other.block == group.block]
    same = [other for other in same if shared(other, "dataset", "model") == shared(group, "dataset", "model")]
    exact = [other for other in same if shared(other, "training") == shared(group, "training")]
    return exact[0] if exact else same[0] if len(same) == 1 else None


def fill(groups: Sequence[Group]) -> None:
    """Every figure over seeds, and the comparisons within each data set and model."""
    for group in groups:
        group.cells = over_seeds([(run.seed, run.figures) for run in group.runs])
        group.columns = over_seeds([(run.seed, columns_of(run)) for run in group.runs])
    blocks: dict[Block, list[Group]] = defaultdict(list)
    for group in groups:
        blocks[group.block].append(group)
    for some in blocks.values():
        compare(some, "cells")
        compare(some, "columns")
    for group in groups:
        add_improvement(group)


def add_improvement(group: Group) -> None:
    """Table III's number as one more column, each seed against the baseline's run of that seed."""
    base = {run.seed: run.evaluation.get("perspectives", {}) for run in group.baseline.runs} if group.baseline else {}
    for run in group.runs:
        gained = improvement(run.evaluation.get("perspectives", {}), base.get(run.seed, {}))
        if gained is not None:
            label = f"closed of the gap, mean over {', '.join(gained[1])}".replace("_", " ")
            figure = Figure("improvement", label, "improvement", gained[0])
            cell = group.columns.setdefault("improvement", Cell(figure, {}))
            group.columns["improvement"] = Cell(cell.figure, {**cell.values, run.seed: gained[0]})


def over_seeds(figures: Sequence[tuple[int, Mapping[str, Figure]]]) -> dict[str, Cell]:
    """Each figure's values by seed."""
    values: dict[str, dict[int, float]] = defaultdict(dict)
    first: dict[str, Figure] = {}
    for seed, some in figures:
        for key, figure in some.items():
            values[key][seed] = figure.value
            first.setdefault(key, figure)
    return {key: Cell(first[key], values[key]) for key in first}


def compare(groups: Sequence[Group], kind: str) -> None:
    """Fill in differences and marks; only figures that one can be better at are tested."""
    for key in {key for group in groups for key in getattr(group, kind)}:
        against = [(group, group.baseline) for group in groups if group.baseline and key in getattr(group, kind)]
        with_base = [(group, base) for group, base in against if key in getattr(base, kind)]
        cells = [compared(getattr(group, kind)[key], getattr(base, kind)[key]) for group, base in with_base]
        tested = [cell if cell.figure.better else Cell(cell.figure, cell.values) for cell in cells]
        for (group, _), cell in zip(with_base, marked(tested), strict=True):
            getattr(group, kind)[key] = cell
