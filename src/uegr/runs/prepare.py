"""From a configuration to what is trained: everything spelt out, rows by task, a model with a head for each task.

A run has tasks, a mapping from names to data sets. Most models have one head and take one data set; an `mtdnn` takes
several. Which of the two it is, is asked here and nowhere else (`heads_of`); after that a run is its tasks.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from uegr import data as data_room
from uegr.data import Data
from uegr.data.card import changeable
from uegr.data.resolve import card_of
from uegr.data.sanity import check_labels, warn_of_empty_texts, warn_of_imbalance
from uegr.errors import InputError, did_you_mean
from uegr.evaluation.metrics import task_metrics
from uegr.models import Loaded
from uegr.models import cards as model_cards
from uegr.models.texts import length_limit
from uegr.models.tokens import tokenized
from uegr.runs import manifest, paths
from uegr.runs.heads import Heads, OneHead, SeveralHeads
from uegr.training.config import LORA_RATE, PRETRAINED_RATE, SCRATCH_RATE, DatasetConfig, RunConfig, TrainingConfig
from uegr.training.factories import is_own

EPOCHS = 3
RARE = (  # left out where they are not used
    *("teachers", "start_from", "log_drift", "averaging", "interpolation"),
    *("balance", "metric", "temperature", "label_smoothing"),
)
Sets = dict[str, Data]  # by task
Rows = dict[str, tuple[Any, Any]]  # tokenised training and validation rows, by task


@dataclass(frozen=True)
class Prepared:
    """Everything that a training needs."""

    config: RunConfig  # with nothing left to the model
    sets: Sets
    names: dict[str, str]  # task -> the data set's name as the user gave it
    loaded: Loaded
    rows: Rows
    heads: Heads
    max_length: int | None  # tokens, after which a text is cut
    weights_hash: Callable[[], str]  # of the weights that training starts from; waits for the threads that make it


def full(config: RunConfig) -> RunConfig:
    """The configuration with all method options, and with what it leaves to the model and to the data card."""
    card, given = model_cards().get(config.model.name), config.training
    usual = SCRATCH_RATE if card is not None and card.scratch else PRETRAINED_RATE
    rate = given.learning_rate or (LORA_RATE if config.model.lora else usual)
    epochs = given.epochs or (card.epochs if card is not None else None) or EPOCHS
    training = given.model_copy(update={"learning_rate": rate, "epochs": float(epochs)})
    return sided(config.model_copy(update={"training": training, "method": config.method_options()}))


def sided(config: RunConfig) -> RunConfig:
    """The configuration with the text of a pair that may change, where it leaves that to the data card."""
    side, method = side_of(config.dataset.name), config.method
    if not is_own(method["name"]) and "side" in method and method["side"] is None:
        config = config.model_copy(update={"method": method | {"side": side}})
    if config.augment.name and config.augment.side is None:
        config = config.model_copy(update={"augment": config.augment.model_copy(update={"side": side})})
    return config


def side_of(dataset: str) -> Literal["first", "second", "both"]:
    """The text of a pair that may change, by the data card; both, if the cards of several data sets disagree.

    >>> side_of("snli"), side_of("qnli"), side_of("qnli,mnli")
    ('second', 'first', 'both')
    """
    one, *others = {changeable(card_of(name)) for name in parts_of("data set", dataset)}
    return "both" if others else one


def resolved(config: RunConfig) -> dict[str, Any]:
    """Everything spelt out, for config.yaml; sections that are not used are left out."""
    unused: dict[str, Any] = {} if config.augment.name else {"augment": True}
    training, usual = config.training, TrainingConfig()
    rare = {name for name in RARE if getattr(training, name) == getattr(usual, name)}
    rare |= {"averaging_start"} if training.averaging != "tail" else set()
    rare |= {"averaging_decay"} if training.averaging != "ema" else set()
    unused |= {"training": rare}
    folds = {"folds", "fold"} if config.dataset.folds is None else set()
    unused |= {"dataset": folds | (set() if config.dataset.validation_as_test else {"validation_as_test"})}
    return full(config).model_dump(mode="json", exclude=unused)


def heads_of(config: RunConfig) -> Heads:
    """The one question whether the model has a head for each of several data sets."""
    return SeveralHeads() if config.model.name == "mtdnn" else OneHead()


def prepare(config: RunConfig, *, place: Path | None = None, development: bool = False) -> Prepared:
    """Load rows and model; whatever cannot work is an error here, before anything is written.

    `place` is the folder of the run, which may know where its data is. `development` is for a search, which must not
    see test rows: they are then not in the data.
    """
    heads = heads_of(config)
    heads.check(config)
    sets, names = load_sets(config, heads.names(config), development, place)
    loaded = heads.load(full(config), sets)
    weights_hash = manifest.hashing(loaded.model)
    length = config.training.max_length
    rows = {task: tokenised(data, loaded, length) for task, data in sets.items()}
    check_method(config, loaded)
    cut = length_limit(loaded.tokenizer, length)
    return Prepared(full(config), sets, names, loaded, rows, heads, cut, weights_hash)


def load_sets(
    config: RunConfig, names: list[str], development: bool, place: Path | None
) -> tuple[Sets, dict[str, str]]:
    """Every data set under its task's name, and the name that the user gave it."""
    sets: Sets = {}
    given: dict[str, str] = {}
    for name in names:
        data = load_data(config, name, place)
        if data.name in sets:
            raise InputError(f"expected data sets with different names, got {data.name} twice")
        sets[data.name], given[data.name] = without_test(data) if development else data, name
    return sets, given


def load_data(config: RunConfig, name: str, place: Path | None = None) -> Data:
    """The rows to train and validate on; a validation split is held out where there is none."""
    options = config.dataset
    data = paths.load(name, place, labelled=True, **options.reading())
    if "train" not in data.splits:
        splits = ", ".join(data.splits)
        raise InputError(f"{data.name} has no training split, only {splits}; use it with `uegr evaluate`")
    data = folded(data, options)
    check_labels(data)
    if data.kind == "regression" and config.training.balance:
        raise InputError(f"--balance is for classes, and {data.name} has numbers to predict; leave it out")
    data = replace(data, metrics=task_metrics(data.metrics, config.training.metric, data.kind == "regression"))
    if data.validation is None:
        data = data_room.holdout(data, options.holdout, config.seed)
    if options.train_size is not None or options.train_fraction is not None:
        smaller = data_room.subsample(
            data.splits["train"], size=options.train_size, fraction=options.train_fraction, seed=config.seed
        )
        data = data.with_splits(train=smaller)
    warn_of_empty_texts(data)
    if not config.training.balance:
        warn_of_imbalance(data)
    return data


def folded(data: Data, options: DatasetConfig) -> Data:
    """The data with the configured fold, or its validation split, as its test split."""
    data = data_room.with_validation_as_test(data) if options.validation_as_test else data
    return data if options.folds is None else data_room.with_fold(data, options.folds, options.fold or 0)


def without_test(data: Data) -> Data:
    """The rows that a search may look at."""
    return replace(data, splits={name: data.splits[name] for name in ("train", data.validation or "validation")})


def tokenised(data: Data, loaded: Loaded, max_length: int | None) -> tuple[Any, Any]:
    """The training and the validation rows as token ids."""
    names = ("train", data.validation or "validation")
    train, validation = (tokenized(data.splits[name], loaded.tokenizer, max_length) for name in names)
    return train, validation


def check_method(config: RunConfig, loaded: Loaded) -> None:
    """What the method cannot do with the model is an error before anything is written."""
    from uegr.training.losses import check_softness
    from uegr.training.requirements import give_substitutes

    check_softness(loaded.model, config.training.temperature, config.training.label_smoothing)
    method = config.make_method()
    give_substitutes(method, loaded.tokenizer)
    try:
        method.objective.check(loaded.model)
    except ValueError as error:
        raise InputError(f"{method.name} on {config.model.name}: {error}") from None


def check_names(*, models: Iterable[str], datasets: Iterable[str], attacks: Mapping[str, dict[str, Any]]) -> None:
    """Raise for a misspelt model, data set or attack; whether their files are here is not asked."""
    from uegr.attacks.catalogue import make

    for attack, settings in attacks.items():
        make(attack, settings)
    known: dict[str, Any] = {"data set": (datasets, data_room.cards()), "model": (models, model_cards())}
    for kind, (names, cards) in known.items():
        for name in (part for given in names for part in parts_of(kind, given)):
            if name not in cards and "/" not in name and not Path(name).exists():
                raise InputError(f"there is no file, folder or {kind} {name!r}; {did_you_mean(name, cards)}")


def parts_of(kind: str, name: str) -> list[str]:
    """Several data sets, separated by commas, are one name in a configuration.

    >>> parts_of("data set", "cola, rte"), parts_of("model", "a,b")
    (['cola', 'rte'], ['a,b'])
    """
    several = kind == "data set" and not Path(name).exists()
    return [part.strip() for part in name.split(",")] if several else [name]
