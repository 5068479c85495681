"""The typed result of a run: the only description of result.json. It knows no torch, so that a report starts at once.

    from uegr.result import read
    result = read(Path("runs/first/result.json"))
    result.tasks["snippets"].scores["test"]["accuracy"].value

A run has tasks by name. What does not fit raises one line with path and field. `runs/folder.py` is the only writer.
"""

import math
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError

from uegr import safe_json
from uegr.errors import InputError, did_you_mean
from uegr.statistics.classes import Classes
from uegr.statistics.intervals import Figure
from uegr.statistics.rows import checked_rows

SCHEMA: Literal[1] = 1
NAME = "result.json"
RESTORE = "restore the file, or train the run again"


def figure_of(stored: Any) -> Any:
    """A figure as JSON has it: null stands for what is not a number."""
    return {k: math.nan if v is None else v for k, v in stored.items()} if isinstance(stored, dict) else stored


Measured = Annotated[Figure, BeforeValidator(figure_of), PlainSerializer(Figure.to_json)]
Figures = dict[str, Measured]  # by metric
Right = Annotated[str, AfterValidator(checked_rows)]  # which rows are right, as statistics/rows.py packs them


class Part(BaseModel):
    """Refuses keys that it does not know."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Named(BaseModel):
    """A section of the configuration: a name, and whatever options go with it."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str


class Config(Part):
    """The resolved configuration, as in config.yaml; training/config.py knows what each key means."""

    method: Named
    model: Named
    dataset: Named
    training: dict[str, Any] = {}
    augment: dict[str, Any] = {}
    seed: int = Field(ge=0)


class Point(Part):
    """Accuracy under perturbations of one size."""

    epsilon: float
    accuracy: Measured
    relative: float | None = None  # epsilon in mean norms of the word vectors, where it was given so
    right: Right | None = None  # after the perturbation

    @property
    def size(self) -> float:
        """As it was asked for."""
        return self.epsilon if self.relative is None else self.relative


class Curve(Part):
    """Accuracy at growing sizes, and the mean fall at the three of UEGR's figure 2b, or at all relative sizes."""

    points: list[Point]
    mean_drop: Measured


class Bin(Part):
    """Rows whose confidence is in (start, end]."""

    start: float
    end: float
    confidence: float
    accuracy: Measured


class Temperature(Part):
    """What the logits are divided by: the value with the smallest loss on some held-out rows."""

    value: float = Field(gt=0)
    split: str
    rows: int  # it was fitted on


class Calibration(Part):
    """Whether a confidence of 80% means right in 80% of the cases."""

    ece: Measured
    brier: Measured
    reliability: list[Bin]
    bins: int
    temperature: float = 1.0  # that the logits were divided by; of every calibration error in the evaluation
    ece_before: Measured | None = None  # without a temperature
    ece_calibrated: Measured | None = None  # after the task's temperature; None if it was fitted on these rows


class Landscape(Part):
    """How flat the loss is."""

    input_gradient_norm: Measured
    sharpness: Measured


class Drift(Part):
    """How far the model is from the pretrained one: CKA by layer, the embeddings first, and its weights."""

    cka: list[Measured]
    weight_distance: Measured


class Evaluation(Part):
    """What `uegr evaluate` measured of one task."""

    data: str
    split: str  # that the clean figures and the perturbations are on
    clean: Figures
    classes: Classes | None = None  # of a classifier, on the same rows
    other_splits: dict[str, Figures] = {}
    calibration: Calibration | None = None
    shift: dict[str, Figures] = {}
    adversarial: dict[str, Figures] = {}
    anomaly: dict[str, Figures] = {}
    perturbation: dict[str, Curve] = {}
    landscape: Landscape | None = None
    drift: Drift | None = None
    perspectives: dict[str, float] = {}
    left_out: dict[str, str] = {}  # data set or figure -> why it was not measured
    max_length: int | None = None  # tokens, after which a text was cut
    seed: int = 0


class Attack(Part):
    """The figures of one attack; a text that was wrong from the start counts as broken."""

    attack: str
    data: str
    examples: int
    accuracy_before: Measured
    accuracy_after: Measured
    success_rate: Measured | None  # over the texts that were right before
    words_changed: float | None  # mean over successes
    words_changed_share: float | None
    queries: float | None  # mean over the examples that a search began on
    skipped: dict[str, int]  # reason -> examples
    scored: int  # texts that reached the model: without repeats
    calls: int
    seconds: float
    seconds_predicting: float
    max_length: int | None = None
    seed: int = 0
    settings: dict[str, Any] = {}
    journal: str = ""  # the file of its outcomes, in the run's folder `attacks`
    temperature: Temperature | None = None  # of the probabilities it read; None: not calibrated
    right: Right | None = None  # after it


class Task(Part):
    """One task of a run: what its head is for, and its figures."""

    dataset: str  # as the user named it
    columns: tuple[str, ...] = ()  # of the user's file: the text, and the second text of a pair
    head: Literal["single", "pair", "regression"]
    labels: tuple[str, ...] | None  # by number; None for a regression
    metrics: tuple[str, ...]
    rows: int  # trained on
    scores: dict[str, Figures]  # by split, of the finished model
    classes: dict[str, Classes] = {}  # of a classifier, by split
    right: dict[str, Right] = {}  # by split, of a classifier
    temperature: Temperature | None = None  # None: a regression, or a run of an earlier version
    evaluation: Evaluation | None = None
    attacks: dict[str, Attack] = {}


class Training(Part):
    """What the training cost, and the length it used."""

    rows: int
    steps: int
    epochs: float | None
    seconds: float
    processor_seconds: float
    passes: tuple[float, float]  # forward and backward over a batch, per step
    max_length: int | None  # tokens, after which a text is cut; None: no limit
    resumed: bool = False
    averaged_steps: int = 0  # whose weights the mean is over
    augment: list[dict[str, int]] = []  # what each epoch was given
    drift: dict[float, list[list[float | None]]] = {}  # perturbation -> CKA with the start, by epoch and layer


class Machine(Part):
    """What a reader needs to judge the times."""

    python: str
    platform: str
    processor: str
    cores: int | None
    threads: int
    gpu: str | None


class Trial(Part):
    number: int
    settings: dict[str, Any]
    score: float


class Search(Part):
    """Settings chosen on validation rows."""

    chosen: dict[str, Any]
    score: float
    split: str
    asked: dict[str, Any]
    trials: list[Trial]


class Cell(Part):
    """What a grid calls this run."""

    dataset: str
    model: str
    method: str
    seed: int
    varied: dict[str, Any] = {}
    stands_for: dict[str, str] = {}
    start: str | None = None  # the label of the cell that it starts from, where that differs
    seconds: float = 0.0
    workers: int = 1  # cells that ran at the same time
    measured: dict[str, dict[str, Any]] = {}  # what was asked for, with the settings that decide the figures
    complete: bool = False


class Result(Part):
    """Everything in result.json."""

    schema_: Literal[1] = Field(SCHEMA, alias="schema")
    config: Config
    tasks: dict[str, Task] = Field(min_length=1)
    training: Training
    machine: Machine
    versions: dict[str, str]
    command: str
    search: Search | None = None
    cell: Cell | None = None

    def task_named(self, name: str | None) -> str:
        """The task of this name or data set; without a name, the only one."""
        if name is None and len(self.tasks) == 1:
            return next(iter(self.tasks))
        known = {said: task for task, one in self.tasks.items() for said in (one.dataset, task)}
        if name is None:
            raise InputError(f"the run has the tasks {', '.join(self.tasks)}; choose one with --task")
        if name not in known:
            raise InputError(f"the run has no task {name}; {did_you_mean(name, self.tasks)}")
        return known[name]

    def with_task(self, name: str, **sections: Any) -> "Result":
        """A copy in which these sections of one task are replaced."""
        return self.model_copy(update={"tasks": self.tasks | {name: self.tasks[name].model_copy(update=sections)}})

    def to_json(self) -> str:
        """Readable JSON; null stands for what was not measured and for what is not a number."""
        return self.model_dump_json(indent=2, by_alias=True) + "\n"


def parsed(text: str | bytes, path: Path) -> Result:
    """The result in a file's content; one line names the file and the field where it does not fit."""
    try:
        stored = safe_json.load(text, path)
    except InputError as error:
        raise InputError(f"{error}; {RESTORE}") from None
    schema = stored.get("schema", "none") if isinstance(stored, dict) else "no mapping"
    if schema != SCHEMA or isinstance(schema, bool):
        raise InputError(f"{path}: expected schema {SCHEMA}, got {schema!r:.40}; train it again with this version")
    try:
        return Result.model_validate(stored)
    except ValidationError as error:
        raise InputError(f"{path}: {safe_json.complaint(error)}; {RESTORE}") from None


def read(path: Path) -> Result:
    """The result of a finished run."""
    try:
        return parsed(path.read_bytes(), path)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None
