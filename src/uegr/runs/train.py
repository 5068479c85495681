"""One run, from configuration to result.json: prepare, train with a method, choose the weights, score them."""

import os
import sys
import time
from dataclasses import replace
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from uegr.errors import InputError
from uegr.files import naming
from uegr.models.device import chosen_device
from uegr.result import Result, Training
from uegr.runs import augment, checkpoints, folder, interpolate, manifest, outcome, paths, probes, start, teachers
from uegr.runs.prepare import Prepared, prepare, resolved
from uegr.runs.reporting import check_reporting
from uegr.runs.trainer import keeps_best, make_trainer
from uegr.training.config import RunConfig


def train(
    config: RunConfig,
    place: Path,
    *,
    resume: bool = False,
    quiet: bool = False,
    development: bool = False,
    device: str | None = None,
) -> Result | None:
    """Train one run into a folder; a finished one is returned as it is. Nothing is written if the input is bad.

    `development` is for a search: the run then has training and validation rows only. Of several processes the first
    one returns the result, the others None. `device` is cpu, cuda or mps; default: cuda if there is one, else cpu.
    """
    computes_on, settings = chosen_device(device).type, resolved(config)
    first = int(os.environ.get("RANK", 0)) == 0
    if first:  # another process may come late, and find what the first one has written
        folder.check(place, settings, resume)
        checkpoints.check_settings(place, settings)
    if folder.is_done(place):
        return folder.finished(place)
    check_reporting(config.training.report_to)
    prepared = prepare(start.located(config, place), place=place, development=development)
    augment.check(prepared)
    probes.check(prepared)
    if config.training.interpolation is not None:
        interpolate.check(config)
    taught = teachers.find(prepared)
    with folder.held(place) if first else naming(place):
        if first:
            folder.check(place, settings, resume)  # again: another process may have started here in the meantime
            folder.write_config(place, settings)
            paths.remember(place, prepared.names.values())
        prepared = teachers.taught(prepared, taught, place, quiet)
        origin = cache(lambda: manifest.origin(settings, prepared.rows, prepared.weights_hash(), outcome.versions()))
        trainer, bar = make_trainer(prepared, place, origin, quiet, computes_on)
        started_from = origin()  # the weights are hashed while the trainer is made
        with trainer.args.main_process_first(desc="checkpoint"):  # the first process sets damaged ones aside
            checkpoint = checkpoints.newest(place, started_from, keeps_best(config))
        spent = fitted(trainer, bar, checkpoint)
        return finish(prepared, settings, place, trainer, spent, started_from) if first else None


def fitted(trainer: Any, bar: Any, checkpoint: Path | None) -> dict[str, Any]:
    """Train, from a checkpoint where there is one; what it cost, and whether it was resumed."""
    started, processor = time.time(), time.process_time()
    try:
        with trainer.ending.listening():
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    except UnpicklingError as error:  # torch loads plain values only
        reason = str(error).partition("Trying to load")[2].partition("\n")[0].strip() or "a pickle of other values"
        raise InputError(f"{checkpoint} holds what is not loaded, since it may run code: {reason}; remove it") from None
    finally:
        bar.close()
    for wrapper in ("forward", "_original_forward"):  # accelerate's, which would continue in mixed precision
        vars(trainer.model).pop(wrapper, None)
    return {
        "seconds": round(time.time() - started, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
        "resumed": checkpoint is not None,
    }


def finish(
    prepared: Prepared,
    settings: dict[str, Any],
    place: Path,
    trainer: Any,
    spent: dict[str, Any],
    started_from: manifest.Origin,
) -> Result:
    """Keep the chosen weights, score every task, and write result.json last."""
    model = outcome.final_model(prepared.config, place, prepared.loaded.model)
    if prepared.config.training.interpolation is not None:
        interpolate.mix(model, prepared, prepared.config.training.interpolation)
    loaded = replace(prepared.loaded, model=model)
    outcome.save(loaded, place)
    manifest.write(place, started_from)
    tasks = {task: outcome.task(replace(prepared, loaded=loaded), task) for task in prepared.sets}
    training = Training(
        rows=sum(task.rows for task in tasks.values()),
        steps=trainer.state.global_step,
        epochs=trainer.state.epoch,
        passes=trainer.method.objective.passes,
        max_length=prepared.max_length,
        averaged_steps=trainer.means.steps,
        augment=augment.counted(prepared.config, place),
        drift=probes.logged_drift(trainer.state.log_history),
        **spent,
    )
    result = Result(
        config=settings,
        tasks=tasks,
        training=training,
        machine=outcome.machine(trainer.args.device.type),
        versions=outcome.versions(),
        command=" ".join(["uegr", *sys.argv[1:]]),
    )
    return folder.create(place, result)
