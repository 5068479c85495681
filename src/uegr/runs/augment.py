"""`uegr train --augment pwws`: a run that attacks itself before each epoch and trains on what is found."""

from functools import partial
from pathlib import Path
from typing import Any

from uegr.attacks import Surface, load_surface
from uegr.attacks.catalogue import make
from uegr.attacks.surface import without_lexicon
from uegr.errors import InputError
from uegr.runs.attacked_rows import Augment, Plan, counts
from uegr.runs.prepare import Prepared, Rows
from uegr.training.config import AugmentConfig, RunConfig

FOLDER = "augment"


def check(prepared: Prepared) -> None:
    """What cannot be attacked is an error before anything is written."""
    config = prepared.config
    if config.augment.name is None:
        if config.augment != AugmentConfig():
            raise InputError("expected an attack beside the settings of augment, got none; add --augment pwws")
        return
    for data in prepared.sets.values():
        if data.kind == "regression":
            raise InputError(f"--augment flips labels, got the regression {data.name}; leave it out")
    surface(config)


def surface(config: RunConfig) -> Surface:
    """What may replace what, for the attack of this configuration."""
    tool = make(config.augment.name or "", dict(config.augment.settings))
    return load_surface(config.augment.surface) if tool.lexical else without_lexicon()


def augmented(prepared: Prepared, place: Path, bar: Any) -> tuple[list[Augment], Rows]:
    """What adds rows to each epoch, where the configuration asks for it, and the rows to train on."""
    if prepared.config.augment.name is None:
        return [], prepared.rows
    adding, rows = [], {}
    for task, (train, validation) in prepared.rows.items():
        plan = plan_of(prepared.config, prepared.sets[task].splits["train"], prepared.loaded.tokenizer)
        adding.append(Augment(plan, train, place / FOLDER, partial(show, bar, plan.attack)))
        rows[task] = (adding[-1].rows, validation)
    return adding, rows


def plan_of(config: RunConfig, rows: Any, tokenizer: Any) -> Plan:
    """What is attacked, and how."""
    options = config.augment
    assert options.side is not None  # a full configuration has it from the data card
    return Plan(
        rows,
        tokenizer,
        options.name or "",
        surface(config),
        examples=options.examples,
        start=options.start,
        side=options.side,
        budget=options.budget,
        max_length=config.training.max_length,
        seed=config.seed,
        settings=dict(options.settings),
    )


def show(bar: Any, attack: str, done: int, total: int) -> None:
    """Say in the progress bar how far an attack is."""
    if bar.task is not None:
        bar.bar.update(bar.task, note=f"{attack}: {done:,} of {total:,} rows attacked")


def counted(config: RunConfig, place: Path) -> list[dict[str, int]]:
    """What every epoch was given, for result.json; nothing without augmentation."""
    return counts(place / FOLDER) if config.augment.name else []
