"""What a run is: method, model, data set, training, seed. Unknown keys answer "did you mean"."""

import inspect
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model, model_validator

from uegr import safe_yaml
from uegr.errors import InputError, did_you_mean, warn
from uegr.methods import Method
from uegr.methods.contract import MethodFactory
from uegr.training.factories import factory, is_own, refuse_code
from uegr.training.overrides import put, setting_of

FINITE = ConfigDict(allow_inf_nan=False)  # 1e400 is infinite
PRETRAINED_RATE, SCRATCH_RATE = 5e-5, 1e-3
LORA_RATE = 5e-4  # Hu 2022, table 9
# The method where none is named: what `uegr recommend` answers from the committed results; a test compares the two.
RECOMMENDED: dict[str, Any] = {"name": "freelb", "step": 0.05, "epsilon": 0.1}
MetricName = Annotated[  # evaluation/metrics.py computes them
    Literal["accuracy", "macro_f1", "balanced_accuracy", "f1", "matthews", "pearson", "spearman"],
    BeforeValidator(lambda name: "matthews" if name == "mcc" else name),
]


class Strict(BaseModel):
    """Refuses keys it does not know, and numbers that are not finite."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ModelConfig(Strict):
    """An alias, a folder or a hub name, and how it is loaded."""

    name: str = "minilm"  # an alias (`uegr list models`), a folder or a hub name
    attention: str | None = None  # eager, sdpa or another of transformers; None: the model's own
    dtype: str | None = None  # the type of the weights; None: float32
    trust_remote_code: bool = False  # run the Python code that comes with the model
    head: Literal["linear", "mlp"] = "linear"  # mlp: width-256-ReLU-labels, as RIFT's release
    pretrained: bool = True  # False: the architecture with random weights
    vectors: str | None = None  # word vectors for a model without pretraining: a name or a file
    settings: dict[str, Any] = {}  # its own settings, such as filters or hidden_size
    lora: int | None = Field(None, ge=1)  # the rank of adapters to train in place of the encoder's matrices
    lora_alpha: float | None = Field(None, gt=0)  # None: twice the rank
    lora_dropout: float = Field(0.1, ge=0, lt=1)  # on the input of the adapters
    lora_targets: tuple[str, ...] | None = None  # ends of names, such as query and value; None: every linear layer


class DatasetConfig(Strict):
    """A card, a file or a folder, and how it is read."""

    name: str  # a data set (`uegr list datasets`), a file or a folder; several for mtdnn, separated by commas
    text_column: str | None = None  # the column of the text; None: detected
    pair_column: str | None = None  # the column of the second text of a pair; None: detected
    label_column: str | None = None  # the column of the label; None: detected
    kind: Literal["classification", "regression"] | None = None  # of labels; None: detected
    delimiter: str | None = None  # the character between the fields of a CSV file; None: detected
    quoting: Literal["standard", "none"] | None = None  # none if quotes are ordinary characters; None: detected
    encoding: str | None = None  # such as utf-16, cp1252 or gb18030; None: detected, else UTF-8
    paper_split: bool = False  # the split of the papers, if the data set has one
    drop_missing: bool = False  # leave out rows of a file that have no label
    train_size: int | None = Field(None, ge=1)  # train on this many rows, every label in proportion; None: all
    train_fraction: float | None = Field(None, gt=0, le=1)  # train on this share of the rows; None: all
    holdout: float = Field(0.1, gt=0, lt=1)  # of the training rows, where there is no validation split
    folds: int | None = Field(None, ge=2)  # parts of the training rows, for cross-validation
    fold: int | None = Field(None, ge=0)  # the part that is tested on, from 0
    validation_as_test: bool = False  # test on the published validation split; hold validation rows out of training

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if (self.folds is None) != (self.fold is None) or (self.fold or 0) >= (self.folds or 1):
            raise ValueError("expected folds and fold together, with 0 <= fold < folds")
        return self

    def reading(self) -> dict[str, Any]:
        """How the rows are read, as `uegr.data.load` takes it."""
        keys = {"name", "train_size", "train_fraction", "holdout", "folds", "fold", "validation_as_test"}
        return self.model_dump(exclude=keys)


class TrainingConfig(Strict):
    """AdamW with linear decay and warm-up; the papers' batch size, weight decay and warm-up are the defaults."""

    epochs: float | None = Field(None, gt=0)  # None: as the model's card has it, else 3
    max_steps: int | None = Field(None, ge=1)  # stop after this many steps; None: after the epochs
    batch_size: int = Field(16, ge=1)  # rows per micro-batch and device
    accumulation: int = Field(1, ge=1)  # micro-batches per step
    learning_rate: float | None = Field(None, gt=0)  # None: 5e-5, for adapters 5e-4, from scratch 1e-3
    weight_decay: float = Field(0.01, ge=0)  # of AdamW
    weight_decay_on: Literal["all", "head"] = "all"  # head: not on the encoder
    warmup: float = Field(0.06, ge=0, le=1)  # share of the steps in which the learning rate rises
    clip: float = Field(1.0, ge=0)  # the largest norm of a gradient; 0: no limit
    skip_nonfinite: int = Field(0, ge=0)  # steps that may be skipped since their loss or gradient is not finite
    max_length: int | None = Field(None, ge=3)  # tokens, after which a text is cut; None: the model's limit
    precision: Literal["fp32", "bf16"] = "fp32"  # of the computations; the weights stay as model.dtype says
    group_by_length: bool = True  # batches of texts of about the same length; faster
    balance: Literal["weights", "sampling"] | None = None  # classes count the same: in the loss, or in each batch
    temperature: float = Field(1.0, gt=0)  # that the logits are divided by in the loss on the labels
    label_smoothing: float = Field(0.0, ge=0, lt=1)  # of a label, the share that all classes get alike
    metric: MetricName | None = None  # what chooses the epoch and comes first; None: the first of the data set's
    select: Literal["best", "last", "robust"] = "best"  # the epoch: best on validation, last, best under FGM there
    patience: int | None = Field(None, ge=1)  # epochs without progress on validation before training stops
    averaging: Literal["none", "tail", "ema"] = "none"  # of the weights (training/averaging.py)
    averaging_start: float = Field(0.5, ge=0, lt=1)  # the share of the steps before the tail
    averaging_decay: float = Field(0.99, gt=0, lt=1)  # of ema
    interpolation: float | None = Field(None, ge=0, le=1)  # the share of what was trained, in the end
    checkpoint_steps: int | None = Field(None, ge=1)  # None: once an epoch
    log_drift: bool = False  # log CKA of each layer with the model before training, after each epoch
    report_to: str | tuple[str, ...] = "none"  # besides metrics.jsonl: tensorboard, wandb, mlflow, trackio, ...
    teachers: tuple[str, ...] = ()  # finished runs that an mtdnn learns from (runs/teachers.py)
    start_from: str | None = None  # a finished run whose encoder is trained on, as a path from this run's folder


class AugmentConfig(Strict):
    """An attack on the model before each epoch, whose finds are further training rows (runs/augment.py)."""

    name: str | None = None  # the attack; None: no augmentation
    examples: int | None = Field(None, ge=1)  # rows attacked before an epoch; None: a fifth of them, at most 1,000
    start: int = Field(1, ge=0)  # clean epochs before the first attack
    surface: str = "default"  # words and their substitutes, as in `uegr attack --surface`
    side: Literal["first", "second"] | None = None  # the text of a pair that may change; None: as the data card says
    budget: int | None = Field(None, ge=1)  # at most this many model queries per row; None: no limit
    settings: dict[str, Any] = {}  # the attack's own


def _named(method: Any) -> Any:
    """Options without a name are those of the recommended method."""
    return RECOMMENDED | method if isinstance(method, dict) and "name" not in method else method


class RunConfig(Strict):
    """One run, completely."""

    method: Annotated[dict[str, Any], BeforeValidator(_named)] = RECOMMENDED
    model: ModelConfig = ModelConfig()
    dataset: DatasetConfig
    training: TrainingConfig = TrainingConfig()
    augment: AugmentConfig = AugmentConfig()
    seed: int = Field(0, ge=0)

    def label(self) -> str:
        """A name for the run's folder.

        >>> RunConfig(method={"name": "rat"}, dataset={"name": "my data/reviews.csv"}).label()
        'reviews-minilm-rat-0'
        """
        method = self.method["name"]
        method = f"{method}_{self.augment.name}" if self.augment.name else method
        parts = (Path(self.dataset.name).stem, Path(self.model.name).name, method, self.seed)
        return "-".join(re.sub(r"\W+", "_", str(part)).strip("_") for part in parts)

    def make_method(self) -> Method:
        """The method with its options checked."""
        options = dict(self.method)
        return build_method(options.pop("name"), options)

    def method_options(self) -> dict[str, Any]:
        """The method's name and all its options, also those left at their defaults."""
        name = self.method["name"]
        options = own_options(name, self.method) if is_own(name) else self.make_method().options
        return {"name": name, **{key: _plain(value) for key, value in options.items()}}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def build_method(name: str, options: dict[str, Any]) -> Method:
    """The method of that name with these options, each checked against the factory's signature."""
    make = factory(name)
    try:
        made = make(**checked(name, make, options))
    except ValueError as error:
        raise InputError(str(error)) from None
    if not isinstance(made, Method):
        raise InputError(f"expected {name} to return a uegr.Method, got {type(made).__name__}")
    return made


def own_options(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """All options of a method of the user's own, by its signature: a dry run calls nothing of the user's."""
    make = factory(name)
    options = checked(name, make, {key: value for key, value in given.items() if key != "name"})
    bound = inspect.signature(make).bind_partial(**options)
    bound.apply_defaults()
    return dict(bound.arguments)


def checked(name: str, make: MethodFactory, options: dict[str, Any]) -> dict[str, Any]:
    """The options, converted to the types that the signature declares."""
    parameters = inspect.signature(make).parameters
    for key in options:
        if key not in parameters:
            raise InputError(f"{name} has no option {key}; {did_you_mean(key, parameters)}")
    wanted: dict[str, Any] = {key: (parameters[key].annotation, ...) for key in options}
    untyped = {key: (Any, ...) for key, (kind, _) in wanted.items() if kind is inspect.Parameter.empty}
    model = create_model(f"{name} options", __config__=FINITE, **(wanted | untyped))
    try:
        return {key: getattr(model(**options), key) for key in options}
    except ValidationError as error:
        raise InputError(described(error, "method")) from None


def described(error: ValidationError, where: str = "") -> str:
    """The first complaint of pydantic as one line: where, what was expected, what came."""
    first = error.errors()[0]
    place = [str(part) for part in first["loc"] if not str(part).startswith(("function-", "lax-", "tuple["))]
    path = ".".join(([where] if where else []) + place[:2])
    if first["type"] == "extra_forbidden":
        return f"unknown key {path}; {_neighbours(place)}"
    message = first["msg"].removeprefix("Value error, ")
    return f"{path}: {message[0].lower() + message[1:]}, got {first['input']!r}"


def _neighbours(place: list[str]) -> str:
    known: Any = RunConfig
    for part in place[:-1]:
        known = known.model_fields[part].annotation
    return did_you_mean(place[-1], known.model_fields)


def read_config(
    path: Path | None, overrides: dict[str, Any], settings: list[str], *, allow_code: bool = False
) -> RunConfig:
    """A YAML file, then the flags, then `--set path.to.key=value`, the later winning.

    Code runs only if a flag or `--set` names it; with `allow_code` the file may name it too.
    """
    merged: dict[str, Any] = {}
    given = {key for key, value in overrides.items() if value is not None}
    if path is not None:
        merged = load_yaml(path)
        check_code(path, merged, given | {setting.partition("=")[0] for setting in settings}, allow_code)
    chosen = {key: overrides[key] for key in overrides if key in given} | dict(map(setting_of, settings))
    if path is not None and "method.name" in chosen:
        merged["method"] = fitting_options(path, merged.get("method"), chosen["method.name"])
    for key, value in chosen.items():
        put(merged, key.split("."), value)
    try:
        return validated(merged)
    except InputError as error:
        if path is None:
            raise
        raise InputError(f"{path}{' or the flags' if given or settings else ''}: {error}") from None


def validated(content: dict[str, Any]) -> RunConfig:
    """The configuration, with a method that can be made."""
    if "dataset" not in content:
        raise InputError("expected a data set, got none; use --dataset NAME, FILE or FOLDER (`uegr list datasets`)")
    try:
        config = RunConfig(**content)
    except ValidationError as error:
        raise InputError(described(error)) from None
    config.make_method()
    return config


def check_code(path: Path, content: dict[str, Any], given: set[str], allowed: bool) -> None:
    """Refuse a file that names code to run, where no flag (`given`) says the same."""
    sections = {key: content[key] if isinstance(content.get(key), dict) else {} for key in ("method", "model")}
    methods = [] if "method.name" in given else [sections["method"].get("name", "")]
    trusting = "model.trust_remote_code" not in given and bool(sections["model"].get("trust_remote_code"))
    refuse_code(str(path), methods=methods, trusting=trusting, allowed=allowed)


def fitting_options(path: Path, section: Any, method: str) -> Any:
    """The file's section of the method, without its options where another method was chosen; warns with their names."""
    theirs = section if isinstance(section, dict) else {}
    name = theirs.get("name", RECOMMENDED["name"])
    if name == method or not (options := [key for key in theirs if key != "name"]):
        return {} if section is None else section
    warn(f"{path}: the options of {name} do not count for {method}: {', '.join(map(str, options))}")
    return {"name": name}


def load_yaml(path: Path) -> dict[str, Any]:
    """A run's configuration; a bare name stands for its section's `name`, and an empty section for its defaults."""
    content = safe_yaml.read_mapping(path, "method, model, dataset")
    content = {key: value for key, value in content.items() if value is not None}
    sections = ("method", "model", "dataset", "augment")
    return {k: {"name": v} if k in sections and isinstance(v, str) else v for k, v in content.items()}
