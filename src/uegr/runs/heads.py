"""Models with one head, and models with a head for each of several data sets.

Both are told the same things: which data sets the configuration names, how the model is loaded for them, and which
trainer feeds it. Everything else in this room sees tasks only.
"""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

from uegr import models
from uegr.data import Data
from uegr.errors import InputError, warn
from uegr.models import Loaded
from uegr.runs.start import moved
from uegr.training.config import RunConfig

MLP_HIDDEN = 256  # RIFT's release: 768-256-ReLU
Sets = dict[str, Data]
Rows = dict[str, tuple[Any, Any]]


class Heads(ABC):
    """What depends on the number of heads."""

    @abstractmethod
    def check(self, config: RunConfig) -> None:
        """Settings that do not go with this kind of model."""

    @abstractmethod
    def names(self, config: RunConfig) -> list[str]:
        """The data sets that the configuration names."""

    @abstractmethod
    def load(self, config: RunConfig, sets: Sets) -> Loaded:
        """The model with its heads."""

    @abstractmethod
    def metric(self, sets: Sets) -> str:
        """What the best epoch is chosen by."""

    @abstractmethod
    def trainer(self, sets: Sets, rows: Rows, **common: Any) -> Any:
        """The trainer over these rows."""


def longest_first(rows: Any) -> Any:
    """Rows whose order is free, so that those of one batch are of about the same length and need little padding."""
    lengths = rows.with_format("numpy", columns=["length"])[:]["length"]
    return rows.select(np.argsort(-lengths, kind="stable"), keep_in_memory=True)


class OneHead(Heads):
    """A sequence classifier, or a regression, over one data set."""

    def check(self, config: RunConfig) -> None:
        if config.training.teachers:
            raise InputError(f"training.teachers are for --model mtdnn, got {config.model.name}; leave them out")

    def names(self, config: RunConfig) -> list[str]:
        name = config.dataset.name
        if "," in name and not Path(name).exists():
            raise InputError(f"expected one data set, got {name}; several need --model mtdnn")
        return [name]

    def load(self, config: RunConfig, sets: Sets) -> Loaded:
        (data,) = sets.values()
        return load_one(config, data)

    def metric(self, sets: Sets) -> str:
        (data,) = sets.values()
        return data.metrics[0]

    def trainer(self, sets: Sets, rows: Rows, **common: Any) -> Any:
        from uegr.training.engine import RobustTrainer

        ((task, (train, validation)),) = rows.items()
        common["compute_metrics"] = scorer(sets[task])
        return RobustTrainer(train_dataset=train, eval_dataset=longest_first(validation), **common)


class SeveralHeads(Heads):
    """An `mtdnn`: one encoder, and a head for each data set, separated by commas in the configuration."""

    def check(self, config: RunConfig) -> None:
        if config.augment.name is not None:
            raise InputError(f"--augment attacks one data set, got --model {config.model.name}; leave it out")
        if config.model.head != "linear" or not config.model.pretrained:
            raise InputError(f"model.head and model.pretrained are for one data set, got --model {config.model.name}")
        if config.training.balance or config.training.metric:
            raise InputError(f"--balance and --metric are for one data set, got --model {config.model.name}")
        if config.training.temperature != 1 or config.training.label_smoothing:
            keys = "training.temperature and training.label_smoothing"
            raise InputError(f"{keys} are for one data set, got --model {config.model.name}; leave them out")
        if config.training.log_drift:
            raise InputError(f"training.log_drift is for one data set, got --model {config.model.name}; leave it out")
        if config.training.start_from:
            raise InputError(f"training.start_from is for one data set, got --model {config.model.name}; leave it out")
        if config.model.vectors:
            raise InputError(f"--vectors are for models without pretraining; {config.model.name} has an encoder")

    def names(self, config: RunConfig) -> list[str]:
        return [name.strip() for name in config.dataset.name.split(",") if name.strip()]

    def load(self, config: RunConfig, sets: Sets) -> Loaded:
        from uegr.models.multitask import built

        options = config.model
        loaded = built(
            [task_of(data) for data in sets.values()],
            scales={name: scale(data) for name, data in sets.items() if data.labels is None},
            seed=config.seed,
            attention=options.attention,
            dtype=options.dtype,
            trust_remote_code=options.trust_remote_code,
            **options.settings,
        )
        return with_adapters(config, loaded) if options.lora else loaded

    def metric(self, sets: Sets) -> str:
        from uegr.training.multitask import MEAN

        return MEAN

    def trainer(self, sets: Sets, rows: Rows, **common: Any) -> Any:
        from uegr.training.multitask import MultitaskTrainer, TaskRows

        common["args"].ddp_find_unused_parameters = True  # the heads of other tasks
        return MultitaskTrainer(
            train_dataset=TaskRows({number: train for number, (train, _) in enumerate(rows.values())}),
            eval_dataset={name: TaskRows({number: longest_first(rows[name][1])}) for number, name in enumerate(rows)},
            scorers={name: scorer(data) for name, data in sets.items()},
            main={name: data.metrics[0] for name, data in sets.items()},
            **common,
        )


def scorer(data: Data) -> Any:
    """The data's metrics, for the evaluations during training."""
    from uegr.evaluation.metrics import score

    def compute(prediction: Any) -> dict[str, float]:
        return score(data.metrics, prediction.predictions, prediction.label_ids)

    return compute


def head_of(data: Data) -> Any:
    """What a head is for: pairs of texts with labels, texts with labels, or a number."""
    if data.labels is None:
        return "regression"
    return "pair" if "pair" in data.splits["train"].column_names else "single"


def task_of(data: Data) -> Any:
    """A data set as a task of an `mtdnn`."""
    from uegr.models.mtdnn import Task

    return Task(data.name, head_of(data), data.labels)


def load_one(config: RunConfig, data: Data) -> Loaded:
    """The classifier with a head for the data's labels; without pretraining, over the training split's vocabulary."""
    options, regression = config.model, data.kind == "regression"
    head: dict[str, Any] = {
        "labels": None if regression else data.labels,
        "num_labels": 1 if regression else None,
        "problem_type": "regression" if regression else None,
        "seed": config.seed,
        "dtype": options.dtype,
    }
    card = models.cards().get(options.name)
    if card is not None and card.scratch:
        return from_scratch(config, card.name, data, head)
    if options.vectors or options.settings:
        raise InputError(f"vectors and settings are for models without pretraining, got {options.name}; leave them out")
    loaded = models.load(
        options.name,
        attention=options.attention,
        trust_remote_code=options.trust_remote_code,
        mlp=MLP_HIDDEN if options.head == "mlp" else None,
        pretrained=options.pretrained,
        **head,
    )
    if config.training.start_from:
        loaded = moved(loaded, config.training.start_from, trust_remote_code=options.trust_remote_code)
    return with_adapters(config, scaled(loaded, data)) if options.lora else scaled(loaded, data)


def from_scratch(config: RunConfig, name: str, data: Data, head: dict[str, Any]) -> Loaded:
    """A model without pretraining, over the words of the training split."""
    from uegr.data.vocabulary import vocabulary

    options = config.model
    if options.head != "linear" or not options.pretrained or config.training.start_from:
        raise InputError(
            f"model.head, model.pretrained, training.start_from are for pretrained models, got {name}; leave them out"
        )
    if options.lora:
        raise InputError(f"--lora adapts a pretrained model, got {name}, which is trained from scratch; leave it out")
    words = vocabulary(data.splits["train"], max_length=config.training.max_length or 512)
    return scaled(models.build(name, words, vectors=options.vectors, **head, **options.settings), data)


def scaled(loaded: Loaded, data: Data) -> Loaded:
    """The model; the fresh head of a regression starts at the scale of its labels."""
    if data.kind == "regression":
        from uegr.models.regression import begin

        labels = scale(data)
        if not begin(loaded, labels) and abs(labels.mean) > labels.spread:
            warn(
                f"the head of {loaded.name} has no bias and starts around 0, but the labels are around {labels.mean:g};"
                " subtract that from them"
            )
    return loaded


def scale(data: Data) -> Any:
    """Mean and spread of a regression's training labels."""
    from uegr.models.regression import scale_of

    return scale_of(data.splits["train"].with_format("numpy", columns=["label"])[:]["label"])


def with_adapters(config: RunConfig, loaded: Loaded) -> Loaded:
    """The model with LoRA's adapters."""
    from uegr.models.lora import adapted

    options = config.model
    return adapted(
        loaded,
        rank=options.lora or 0,
        alpha=options.lora_alpha,
        targets=options.lora_targets,
        dropout=options.lora_dropout,
        seed=config.seed,
    )
