"""Checkpoints that are whole: each has a manifest, a damaged one is set aside, and the one before it is used."""

import json
import math
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from torch import distributed
from transformers import TrainerCallback

from uegr.errors import InputError, warn
from uegr.files import flush, flush_folder
from uegr.runs import manifest
from uegr.runs.folder import METRICS
from uegr.runs.manifest import Origin
from uegr.training.callbacks import best_folders

KEPT = 2  # checkpoints: the one before the newest serves where the newest is damaged


class LogEntries(TrainerCallback):
    """A log entry at every checkpoint of the configuration; not at one that SIGTERM asks for, which comes later."""

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        control.should_log = control.should_log or control.should_save

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        control.should_log = control.should_log or control.should_save


class Manifests(TrainerCallback):
    """Writes the manifest of every checkpoint, when all processes have written their parts of it.

    A checkpoint that falls on an evaluation is put off until after it: else a run that is killed in between would
    resume behind an evaluation that it never made.
    """

    def __init__(self, origin: Callable[[], Origin]) -> None:
        self.origin, self.save_later = origin, False

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        evaluates = state.global_step >= state.max_steps or math.isclose(state.epoch, round(state.epoch), abs_tol=1e-9)
        self.save_later = control.should_save and evaluates
        control.should_save = control.should_save and not evaluates

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        control.should_save, self.save_later = control.should_save or self.save_later, False

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if args.world_size > 1:
            distributed.barrier()
        if state.is_world_process_zero:
            place = Path(args.output_dir)
            flush(place / METRICS)  # a resumed run keeps its lines up to the checkpoint
            manifest.write(place / f"checkpoint-{state.global_step}", self.origin())
            flush_folder(place)


def numbered(folder: Path) -> list[Path]:
    """The checkpoints of a run, the newest first."""
    found = [path for path in folder.glob("checkpoint-*") if path.name.rpartition("-")[2].isdigit()]
    return sorted(found, key=step_of, reverse=True)


def newest(folder: Path, started_from: Origin, keeps_best: bool) -> Path | None:
    """The newest whole checkpoint; damaged ones are set aside with a warning. Other data or weights are an error."""
    for path in numbered(folder):
        if not (path / manifest.NAME).exists():  # the run was killed while it wrote this checkpoint
            shutil.rmtree(path)
            continue
        reason = manifest.damage(path)
        if reason is None:
            check_origin(folder, manifest.read(path).origin, started_from)
            if keeps_best:
                check_best(folder, path)
            return path
        aside = path.with_name(f"damaged-{path.name}")
        shutil.rmtree(aside, ignore_errors=True)
        path.rename(aside)
        warn(f"a checkpoint is damaged and was set aside as {aside}: {reason}")
    return None


def check_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Refuse another configuration than that of the newest checkpoint, before what it names is looked for."""
    for path in numbered(folder):
        with suppress(InputError):  # a damaged manifest: `newest` names it
            before = manifest.read(path).origin.config
            break
    else:
        return
    if before != manifest.settings_hash(settings):
        raise InputError(
            f"expected the configuration that {folder} was started with, got another; "
            "restore its config.yaml, or choose another --output"
        )


def check_origin(folder: Path, before: Origin, now: Origin) -> None:
    """Refuse other rows or base weights; warn where the bits will differ."""
    for task, rows in now.rows.items():
        if before.rows.get(task) != rows:
            raise InputError(
                f"expected the rows that {folder} was started with, got others of {task}; "
                "restore the data, or choose another --output"
            )
    if before.weights != now.weights:
        raise InputError(
            f"expected the base weights that {folder} was started with, got others; "
            "restore the model, or choose another --output"
        )
    if before.processes != now.processes:
        raise InputError(
            f"expected the {before.processes} processes that {folder} was started with, got {now.processes}; "
            f"start as many with torchrun, or choose another --output"
        )
    if before.threads != now.threads:
        warn(
            f"{folder} was started with {before.threads} threads and resumes with {now.threads}: the weights will "
            f"differ in the last digits; set OMP_NUM_THREADS={before.threads} for the same bits"
        )
    changed = [name for name, version in now.versions.items() if before.versions.get(name) != version]
    if changed:
        versions = ", ".join(f"{name} {before.versions.get(name, 'none')}" for name in changed)
        warn(f"{folder} was started with {versions}: the weights may differ from those of an undisturbed run")


def check_best(folder: Path, checkpoint: Path) -> None:
    """The best weights up to a checkpoint must be whole, unless the training after it writes better ones again."""
    step = step_of(checkpoint)
    found = best_folders(folder)
    if any(step_of(path) > step for path in found) or not has_best(checkpoint):
        return
    reason = manifest.damage(found[0]) if found else f"{folder}/best-* is missing"
    if reason is not None:
        raise InputError(f"the best weights of this run are damaged: {reason}; start again with another --output")


def step_of(path: Path) -> int:
    return int(path.name.rpartition("-")[2])


def has_best(checkpoint: Path) -> bool:
    """Whether the run has evaluated before this checkpoint."""
    state = json.loads((checkpoint / "trainer_state.json").read_text(encoding="utf-8"))
    return any(key.startswith("eval_") for entry in state["log_history"] for key in entry)
