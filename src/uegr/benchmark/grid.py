"""A grid file: methods x models x data sets x seeds, what is varied and measured, and what the paper printed.

The file says the paper's setting; `scales` override it, so that the same file runs in minutes on a laptop
(docs/benchmarks.md describes the format).
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, field_validator, model_validator

from uegr.errors import did_you_mean
from uegr.training.config import Strict

Scale = Literal["smoke", "laptop", "full"]
SCALES: tuple[str, ...] = get_args(Scale)
Wanted = Literal["fgm", "noise", "pgd", "shift", "adversarial", "anomaly", "landscape", "drift"]
SECTIONS = ("method", "model", "dataset", "training")
Axis = Literal["method", "model", "dataset"]
FIXED = {"title", "source", "printed", "scales"}  # what a scale does not change


class Range(Strict):
    """Numbers from `low` to `high`; whole ones if both are."""

    low: int | float
    high: int | float
    log: bool = False


class Search(Strict):
    """Settings that are chosen on validation rows before the cell is trained."""

    trials: int = Field(ge=1)
    space: dict[str, tuple[Any, ...] | Range] = Field(min_length=1)
    metric: str | None = None  # of the validation split, more is better; None: the data set's first
    seed: int = Field(0, ge=0)
    # how a trial differs: fewer epochs, fewer rows
    trial: dict[Literal["dataset", "training"], dict[str, Any]] = Field(default_factory=dict)

    @field_validator("space")
    @classmethod
    def known_sections(cls, space: dict[str, Any]) -> dict[str, Any]:
        return {dotted(key): values for key, values in space.items()}


class Shared(Strict):
    """Settings of every cell."""

    method: dict[str, Any] = Field(default_factory=dict)
    model: dict[str, Any] = Field(default_factory=dict)
    dataset: dict[str, Any] = Field(default_factory=dict)
    training: dict[str, Any] = Field(default_factory=dict)


class AttackSpec(Strict):
    """One word attack on held-out rows."""

    attack: str = "pwws"
    examples: int = Field(200, ge=1)
    dataset: str | None = None
    surface: str = "default"
    side: Literal["first", "second"] | None = None  # None: as the data card says
    budget: int | None = Field(None, ge=1)
    seed: int = Field(0, ge=0)
    calibrate: bool = True  # attack probabilities after a temperature
    settings: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def from_name(cls, value: Any) -> Any:
        return {"attack": value} if isinstance(value, str) else value

    @property
    def called(self) -> str:
        return self.attack if self.dataset is None else f"{self.attack} on {self.dataset}"


class CalibrationSpec(Strict):
    """How calibration is measured."""

    bins: int = Field(15, ge=2)
    temperature: bool = False  # fit one on validation rows first


class RadiiSpec(Strict):
    """The sizes of perturbations, as `uegr.evaluation.Radii` has them; None: those of the paper."""

    fgm: tuple[float, ...] | None = None
    pgd: tuple[float, ...] | None = None
    relative: tuple[float, ...] = ()


class Measure(Strict):
    """What is measured of a trained cell beside the scores of its splits."""

    evaluate: bool = True
    figures: tuple[Wanted, ...] = ("fgm", "shift")
    rows: int | None = Field(None, ge=1)
    costly_rows: int = Field(200, ge=1)  # of PGD, input gradients and sharpness
    datasets: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()  # of those that cards name for the task, only these; default: all
    calibration: CalibrationSpec = CalibrationSpec()
    radii: RadiiSpec = RadiiSpec()
    attacks: tuple[AttackSpec, ...] = ()
    transfer: str | None = None  # the method, by its label, whose adversarial texts are scored on every other

    @field_validator("figures", mode="before")
    @classmethod
    def every_figure(cls, value: Any) -> Any:
        return get_args(Wanted) if value == "all" else value

    @model_validator(mode="after")
    def transfers_something(self) -> "Measure":
        if self.transfer and not self.attacks:
            raise ValueError(f"expected attacks whose texts of {self.transfer} are transferred, got none; add some")
        return self

    @field_validator("attacks")
    @classmethod
    def named_once(cls, attacks: tuple[AttackSpec, ...]) -> tuple[AttackSpec, ...]:
        names = [attack.called for attack in attacks]
        if len(set(names)) < len(names):
            raise ValueError(f"expected each attack once on a data set, got {', '.join(names)}")
        return attacks


class Entry(Strict):
    """A method, model or data set by name, what is set for it alone, and its name in the paper's table."""

    name: str
    label: str | None = None
    stands_for: str | None = None  # the entry of the paper in whose place a smaller one is used
    method: dict[str, Any] = Field(default_factory=dict)
    model: dict[str, Any] = Field(default_factory=dict)
    dataset: dict[str, Any] = Field(default_factory=dict)
    training: dict[str, Any] = Field(default_factory=dict)
    vary: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    search: Search | None = None
    epochs_like: str | None = None  # of a method: as many passes over the rows as the method of this label
    per_dataset: dict[str, Shared] = Field(default_factory=dict)  # further settings, by the label of a data set
    measure: Measure | None = None  # of a data set: what is measured otherwise

    @model_validator(mode="before")
    @classmethod
    def from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @field_validator("vary", mode="before")
    @classmethod
    def listed(cls, value: Any) -> Any:
        return varied(value)

    @property
    def called(self) -> str:
        return self.label or self.name

    def names(self, also_replaced: bool) -> list[str]:
        """Its label, and on request the entry of the paper that it replaces."""
        return [self.called, *([self.stands_for] if also_replaced and self.stands_for else [])]


class Start(Strict):
    """Cells that start from the encoder of another cell of the same seed, not from the model's own weights."""

    cells: dict[Axis, tuple[str, ...]] = Field(default_factory=dict)  # by label; an axis that is not here: all of it
    start_from: dict[Literal["method", "dataset"], str] = Field(min_length=1)  # what differs in the other cell

    @field_validator("cells", mode="before")
    @classmethod
    def one_or_several(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {axis: (labels,) if isinstance(labels, str) else labels for axis, labels in value.items()}

    def labels(self) -> Iterator[tuple[str, str]]:
        """Every label that it names, with its axis."""
        yield from ((axis, label) for axis, labels in self.cells.items() for label in labels)
        yield from self.start_from.items()

    def fits(self, called: Mapping[str, str]) -> bool:
        """Whether the cell with these labels is meant; no cell starts from itself."""
        meant = all(called[axis] in labels for axis, labels in self.cells.items())
        return meant and any(called[axis] != label for axis, label in self.start_from.items())


class Grid(Strict):
    """A whole grid, at one scale."""

    title: str
    source: str = ""
    scale: str | None = None
    shared: Shared = Shared()
    methods: tuple[Entry, ...] = Field(min_length=1)
    models: tuple[Entry, ...] = (Entry(name="minilm"),)
    datasets: tuple[Entry, ...] = Field(min_length=1)
    seeds: tuple[Annotated[int, Field(ge=0)], ...] = Field((0,), min_length=1)
    vary: dict[str, tuple[Any, ...]] = Field(default_factory=dict)
    leave_out: tuple[dict[Axis, str], ...] = ()  # combinations the paper lacks
    starts: tuple[Start, ...] = ()  # of those that fit a cell, the first
    baseline: str | None = None  # the method, by its label, that the others are compared with
    base: dict[Literal["method", "model"], str] = Field(default_factory=dict)  # that relative improvement starts from
    chooses: bool = False  # its test rows choose what other studies measure: they are no evidence for the choice
    measure: Measure = Measure()
    search: Search | None = None
    processes: int = Field(1, ge=1)  # that train one cell together, with torchrun
    printed: tuple[dict[str, Any], ...] = ()

    @field_validator("seeds", mode="before")
    @classmethod
    def count(cls, value: Any) -> Any:
        """`seeds: 5` is 0 to 4."""
        return tuple(range(value)) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("vary", mode="before")
    @classmethod
    def listed(cls, value: Any) -> Any:
        return varied(value)

    @model_validator(mode="after")
    def said_once(self) -> "Grid":
        for axis in (self.methods, self.models, self.datasets):
            names = [entry.called for entry in axis]
            if twice := sorted({name for name in names if names.count(name) > 1}):
                raise ValueError(f"expected every entry once, got {twice[0]} twice; give one of them a label")
        return self

    @model_validator(mode="after")
    def labels_are_known(self) -> "Grid":
        """Whatever is named by a label, such as the baseline or what is left out, is an entry of this grid."""
        if wrong := [entry.called for entry in (*self.models, *self.datasets) if entry.epochs_like]:
            raise ValueError(f"epochs_like is for methods, got {wrong[0]}; leave it out")
        if wrong := [entry.called for entry in (*self.models, *self.methods) if entry.measure]:
            raise ValueError(f"measure is for the grid and for data sets, got {wrong[0]}; leave it out")
        named: list[tuple[str, tuple[str, str]]] = [
            ("leave_out", pair) for one in self.leave_out for pair in one.items()
        ]
        named += [("starts", pair) for start in self.starts for pair in start.labels()]
        named += [("baseline", ("method", self.baseline))] if self.baseline else []
        named += [("base", pair) for pair in self.base.items()]
        named += [("measure.transfer", ("method", self.measure.transfer))] if self.measure.transfer else []
        named += [("epochs_like", ("method", entry.epochs_like)) for entry in self.methods if entry.epochs_like]
        axes = {"method": self.methods, "model": self.models, "dataset": self.datasets}
        for key, (axis, label) in named:
            if label not in (known := [name for entry in axes[axis] for name in entry.names(key == "base")]):
                raise ValueError(f"{key}: no {axis} {label}; {did_you_mean(label, known)}")
        return self


def measure_of(grid: Grid, dataset: Entry) -> Measure:
    """What is measured of a data set: what the grid says, with what is said for the data set alone."""
    own = dataset.measure.model_dump(exclude_unset=True) if dataset.measure else {}
    return Measure(**(grid.measure.model_dump(exclude_unset=True) | own))


def varied(value: Any) -> Any:
    """Settings with the values that they take."""
    return {dotted(key): values_of(values) for key, values in value.items()} if isinstance(value, dict) else value


def values_of(values: Any) -> Any:
    """The values of a varied setting; `pairs` stands for every ordered pair of some.

    >>> values_of({"pairs": [0.1, 0.3]})
    [[0.1, 0.1], [0.1, 0.3], [0.3, 0.1], [0.3, 0.3]]
    """
    if isinstance(values, dict) and set(values) == {"pairs"}:
        return [[first, second] for first in values["pairs"] for second in values["pairs"]]
    if not isinstance(values, list | tuple) or not values:
        raise ValueError(f"expected a list of values, or pairs: [...], got {values!r}")
    return values


def dotted(key: str) -> str:
    """A path such as method.epsilon, checked."""
    section, point, name = key.partition(".")
    if not point or not name or section not in SECTIONS:
        raise ValueError(f"expected section.key, such as method.epsilon, got {key!r}; {did_you_mean(key, SECTIONS)}")
    if key == "method.name":
        raise ValueError("expected a setting of a method, got method.name; list the methods under `methods`")
    return key
