"""`uegr train --augment pwws`: a run that attacks itself before each epoch and trains on what is found."""

from pathlib import Path
from typing import Any

from uegr.attacks import Surface, load_surface
from uegr.attacks.catalogue import make
from uegr.attacks.surface import without_lexicon
from uegr.data import Data
from uegr.errors import InputError
from uegr.training.augment import Augment, Plan, counts
from uegr.training.config import AugmentConfig, RunConfig

FOLDER = "augment"


def refuse(config: RunConfig, data: Data) -> None:
    """What cannot be attacked is said before anything is written."""
    if config.augment.name is None:
        if config.augment != AugmentConfig():
            raise InputError(
                "augment: expected the name of an attack beside its settings, got none; say --augment pwws"
            )
        return
    if data.task == "regression":
        raise InputError(f"augment: expected data with labels to flip, got the regression {data.name}; leave it out")
    surface(config)


def surface(config: RunConfig) -> Surface:
    """What may replace what, for the attack of this configuration."""
    tool = make(config.augment.name or "", dict(config.augment.settings))
    return load_surface(config.augment.surface) if tool.lexical else without_lexicon()


def augmentation(config: RunConfig, folder: Path, data: Data, loaded: Any, tokens: Any, bar: Any) -> Augment | None:
    """What adds rows to each epoch, where the configuration asks for it; `bar` shows how far an attack is."""
    options = config.augment
    if options.name is None:
        return None

    def tell(done: int, total: int) -> None:
        if bar.task is not None:
            bar.bar.update(bar.task, note=f"{options.name}: {done:,} of {total:,} rows attacked")

    plan = Plan(
        data.splits["train"],
        loaded.tokenizer,
        options.name,
        surface(config),
        examples=options.examples,
        start=options.start,
        side=options.side,
        budget=options.budget,
        max_length=config.training.max_length,
        seed=config.seed,
        settings=dict(options.settings),
    )
    return Augment(plan, tokens, folder / FOLDER, tell)


def result(config: RunConfig, folder: Path) -> dict[str, Any]:
    """What every epoch was given, for result.json; nothing without augmentation."""
    return {"augment": counts(folder / FOLDER)} if config.augment.name else {}
