"""From a grid to its cells: each a complete configuration, with a name that is the same on every machine.

Settings win in this order: shared, data set, model, method, what is varied. Options of a method that stand outside
its own entry go to the methods that have them, so that `beta: 5` of a data set does not trouble `vanilla`; an option
that no method of the grid has is an error.
"""

import hashlib
import inspect
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from typing import Any

from pydantic import ValidationError

from uegr.benchmark.combinations import Combination, combinations, options_of, point_of, points, start_of
from uegr.benchmark.grid import SECTIONS, Entry, Grid, Measure, Shared, measure_of
from uegr.errors import InputError, did_you_mean
from uegr.runs.prepare import check_names, resolved, side_of
from uegr.training.config import RunConfig, described
from uegr.training.factories import factory

Settings = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Start:
    """The cell that another one starts from."""

    name: str
    label: str  # what it is called where it differs, such as `mnli`


@dataclass(frozen=True)
class Cell:
    """One run of a grid: what is trained, what is measured of it, and what it is called there."""

    name: str  # of its folder: the run's label and the hash of its identity
    config: dict[str, Any]  # as RunConfig takes it
    called: dict[str, Any]  # method, model, dataset by their labels, and the seed
    varied: dict[str, Any] = field(default_factory=dict)
    stands_for: dict[str, str] = field(default_factory=dict)
    measure: dict[str, Any] = field(default_factory=dict)
    search: dict[str, Any] | None = None
    processes: int = 1
    start: Start | None = None
    reported: tuple[dict[str, Any], ...] = ()  # by the paper, of this cell
    source: str = ""  # of what is reported
    transfer: "Cell | None" = None  # the cell whose adversarial texts are scored on this one

    @property
    def title(self) -> str:
        """Its names in one line."""
        varied = "".join(f" {key.partition('.')[2]}={value}" for key, value in self.varied.items())
        dataset, model, method, seed = (self.called[key] for key in ("dataset", "model", "method", "seed"))
        return f"{dataset} · {model} · {method}{varied} · {seed}"

    def fits(self, pattern: str) -> bool:
        """Whether a pattern such as `*uegr*`, or a part of the name, means this cell."""
        names = (self.name, self.title)
        return any(fnmatch(name, pattern) if set(pattern) & set("*?[") else pattern in name for name in names)


def cells_of(grid: Grid) -> list[Cell]:
    """Every cell once, seeds together, in the order of the file; but a cell comes after the one it starts from."""
    check_options(grid)
    measures = [measure_of(grid, entry) for entry in grid.datasets]
    others = [name for measure in measures for name in (*measure.datasets, *measure.sets)]
    check_names(
        models=[entry.name for entry in grid.models],
        datasets=[*(entry.name for entry in grid.datasets), *others],
        attacks={attack.attack: attack.settings for measure in measures for attack in measure.attacks},
    )
    cells: dict[str, Cell] = {}
    for combination in combinations(grid):
        for varied in points(grid, combination):
            for cell in chain(grid, combination, varied):
                other = cells.setdefault(cell.name, cell)
                if other.title != cell.title:
                    raise InputError(f"{other.title} and {cell.title} are the same run; leave out one of them")
    found = list(cells.values())
    return [replace(cell, transfer=transferred(grid, cell, found)) for cell in found]


def transferred(grid: Grid, cell: Cell, cells: Iterable[Cell]) -> Cell | None:
    """The cell of the method whose texts are transferred, on the same data with the same model and seed."""
    label = grid.measure.transfer
    if label is None or cell.called["method"] == label:
        return None
    fixed = {key: value for key, value in cell.varied.items() if not key.startswith("method.")}
    called = cell.called | {"method": label}
    alike = (one for one in cells if one.called == called and fixed.items() <= one.varied.items())
    return next(alike, None)


def chain(grid: Grid, combination: Combination, varied: dict[str, Any]) -> list[Cell]:
    """The cells of one combination, which differ by their seeds, after those that they start from."""
    start = start_of(grid, combination)
    if start is None:
        return list(seeded(grid, combination, varied, {}))
    before = chain(grid, start, point_of(grid, combination, start, varied))
    differs = [label for axis, label in start.called.items() if label != combination.called[axis]]
    starts = {cell.called["seed"]: Start(cell.name, " · ".join(differs)) for cell in before[-len(grid.seeds) :]}
    return [*before, *seeded(grid, combination, varied, starts)]


def check_options(grid: Grid) -> None:
    """An option that stands outside a method's own entry must be an option of at least one method."""
    known = {option for method in grid.methods for option in options_of(method)}
    parts = [grid.shared.method, *(entry.method for entry in (*grid.models, *grid.datasets))]
    said = [key for part in parts for key in part]
    entries = (*grid.methods, *grid.models, *grid.datasets)
    chosen = [
        *grid.vary,
        *(grid.search.space if grid.search else ()),
        *(key for entry in entries for key in entry.vary),
    ]
    said += [key[7:] for key in chosen if key.startswith("method.")]
    for key in said:
        if key not in known:
            raise InputError(f"no method of the grid has an option {key}; {did_you_mean(key, known)}")


def seeded(grid: Grid, combination: Combination, varied: dict[str, Any], starts: Mapping[int, Start]) -> Iterator[Cell]:
    """The cells of one combination, which differ by their seeds; `starts` has what each starts from."""
    dataset, model, method = combination
    settings, search = settings_of(grid, dataset, model, method, varied), searched(grid, method)
    if search and starts:
        raise InputError(f"{combination.title}: expected a start or a search, got both; search what it starts from")
    spelt = checked(settings, combination.title)
    measure = with_sides(measure_of(grid, dataset), dataset.name).model_dump(mode="json")
    for seed in grid.seeds:
        start = starts.get(seed)
        config = begun(settings, start) | {"seed": seed}
        digits = identity(begun(spelt, start) | {"seed": seed}, search, grid.processes)
        yield Cell(
            name=f"{RunConfig(**config).label()}-{digits}",
            config=config,
            called=combination.called | {"seed": seed},
            varied=varied,
            stands_for={axis: one.stands_for for axis, one in combination._asdict().items() if one.stands_for},
            measure=measure,
            search=search,
            processes=grid.processes,
            start=start,
            reported=tuple(reported(grid, combination, settings)),
            source=grid.source,
        )


def with_sides(measure: Measure, dataset: str) -> Measure:
    """What is measured, each attack with the text of a pair that it changes."""
    attacks = [
        attack.model_copy(update={"side": attack.side or side_of(attack.dataset or dataset)})
        for attack in measure.attacks
    ]
    return measure.model_copy(update={"attacks": tuple(attacks)})


def begun(settings: dict[str, Any], start: Start | None) -> dict[str, Any]:
    """The settings of a cell with its start, whose folder is beside its own."""
    return settings | ({"training": settings["training"] | {"start_from": f"../{start.name}"}} if start else {})


def reported(grid: Grid, combination: Combination, settings: Settings) -> Iterator[dict[str, Any]]:
    """What the paper printed of a cell: metric, value and deviation; averages and differences are of several cells."""
    for figure in grid.printed:
        named = all(figure[axis] in entry.names(True) for axis, entry in combination._asdict().items())
        paths = [key.partition(".") for key in figure if "." in key]
        fits = all(settings[section].get(key) == figure[f"{section}.{key}"] for section, _, key in paths)
        if named and fits and "of" not in figure:
            yield {key: figure[key] for key in ("metric", "value", "sd") if key in figure}


def checked(settings: Settings, where: str) -> dict[str, Any]:
    """Everything spelt out; an error names the cell."""
    try:
        return resolved(RunConfig(**settings))
    except ValidationError as error:
        raise InputError(f"{where}: {described(error)}") from None
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def settings_of(grid: Grid, dataset: Entry, model: Entry, method: Entry, varied: Mapping[str, Any]) -> Settings:
    """The sections of a RunConfig."""
    settings: Settings = {section: {} for section in SECTIONS}
    own = [entry.per_dataset[dataset.called] for entry in (model, method) if dataset.called in entry.per_dataset]
    for part in (grid.shared, dataset, model, method, *own):
        for section in SECTIONS:
            settings[section] |= getattr(part, section)
    here = method.per_dataset.get(dataset.called, Shared())
    known = {*options_of(method), *method.method, *here.method}
    settings["method"] = {key: value for key, value in settings["method"].items() if key in known}
    for section, entry in (("method", method), ("model", model), ("dataset", dataset)):
        settings[section]["name"] = entry.name
    for key, value in varied.items():
        section, _, name = key.partition(".")
        settings[section][name] = value
    if method.epochs_like:
        settings["training"]["epochs"] = matched_epochs(grid, dataset, model, method, settings, varied)
    return settings


def matched_epochs(
    grid: Grid, dataset: Entry, model: Entry, method: Entry, settings: Settings, varied: Mapping[str, Any]
) -> float:
    """As many epochs as cost the passes of the method that this one is `epochs_like`."""
    other = next(entry for entry in grid.methods if entry.called == method.epochs_like)
    where = f"{method.called}: epochs_like: {other.called}"
    if other.epochs_like or settings["training"].get("max_steps"):
        raise InputError(f"{where}: expected epochs, got training.max_steps or another epochs_like; leave one out")
    shared = {key: value for key, value in varied.items() if not key.startswith("method.")}
    theirs = settings_of(grid, dataset, model, other, shared)
    epochs = float(checked(theirs, where)["training"]["epochs"])
    return round(epochs * passes(theirs) / passes(settings), 6)


def passes(settings: Settings) -> float:
    """Forward and backward passes over a batch, per step."""
    return sum(RunConfig(**settings).make_method().objective.passes)


def searched(grid: Grid, method: Entry) -> dict[str, Any] | None:
    """The search of a method: its own, or the grid's with the keys that mean something for it."""
    search = method.search or grid.search
    if search is None:
        return None
    content: dict[str, Any] = json.loads(search.model_dump_json())
    if method.search is None:
        known = set(options_of(method))
        space = content["space"].items()
        content["space"] = {key: values for key, values in space if key[:7] != "method." or key[7:] in known}
    return content if content["space"] else None


def identity(resolved: Mapping[str, Any], search: Mapping[str, Any] | None, processes: int) -> str:
    """Ten digits that tell runs apart: everything that decides what is trained, and nothing of what is measured.

    >>> identity({"seed": 0}, None, 1) == identity({"seed": 0}, None, 1) != identity({"seed": 1}, None, 1)
    True
    """
    content: dict[str, Any] = {"config": resolved, **({"search": search} if search else {})}
    content |= {"processes": processes} if processes > 1 else {}
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]


def printed_by_name(grid: Grid) -> list[dict[str, Any]]:
    """The printed figures with names in place of labels; entries of one name are told apart by their settings."""
    return [by_name(grid, figure) for figure in grid.printed]


def by_name(grid: Grid, figure: Mapping[str, Any]) -> dict[str, Any]:
    """One printed figure, and those that it is made of, with names in place of labels."""
    axes = {"method": grid.methods, "model": grid.models, "dataset": grid.datasets}
    entry = dict(figure)
    for axis, entries in axes.items():
        entry |= named(axis, str(figure[axis]), entries)
    return entry | ({"of": [by_name(grid, part) for part in figure["of"]]} if "of" in figure else {})


def compared_by_name(grid: Grid) -> dict[str, dict[str, Any]]:
    """What the others are compared with, by names and settings: the baseline, and the base of the improvement."""
    axes = {"method": grid.methods, "model": grid.models}
    base = {
        key: value for axis, label in grid.base.items() for key, value in named(axis, label, axes[axis], True).items()
    }
    baseline = named("method", grid.baseline, grid.methods) if grid.baseline else {}
    return {key: value for key, value in (("baseline", baseline), ("base", base)) if value}


def named(axis: str, label: str, entries: Iterable[Entry], also_replaced: bool = False) -> dict[str, Any]:
    """The name behind a label, and the settings in which it differs from others of that name."""
    listed = list(entries)
    own = next((entry for entry in listed if label in entry.names(also_replaced)), None)
    if own is None:
        return {}
    twins = [entry for entry in listed if entry.name == own.name]
    keys = dict.fromkeys(key for twin in twins for key in getattr(twin, axis)) if len(twins) > 1 else {}
    return {axis: own.name} | {f"{axis}.{key}": default(axis, own, key) for key in keys}


def default(axis: str, entry: Entry, key: str) -> Any:
    """What an entry sets, or the method's own default."""
    own = getattr(entry, axis)
    if key in own or axis != "method":
        return own.get(key)
    return inspect.signature(factory(entry.name)).parameters[key].default
