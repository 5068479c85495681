"""Finished runs that teach an `mtdnn`: `--set training.teachers=[runs/cola,runs/rte]`.

Clark, Luong, Khandelwal, Manning and Le 2019, "BAM! Born-again multi-task networks for natural language understanding":
a model of several tasks first learns what models of one task answer, then more and more the labels themselves
(training/multitask.py). A teacher is a run on one of the data sets, with any model, or another `mtdnn`; a task without
a teacher learns from its labels alone. Each teacher answers its training rows once, before the first step.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from uegr.data import Data
from uegr.errors import InputError
from uegr.models.texts import texts_of
from uegr.runs import folder
from uegr.runs.finished import FinishedTask, open_run
from uegr.runs.prepare import Prepared
from uegr.training.callbacks import progress_bar
from uegr.training.config import RunConfig

Teachers = dict[str, FinishedTask]  # by the task that they teach


def find(prepared: Prepared) -> Teachers:
    """The teacher of each task that has one; what cannot teach is an error before anything is written."""
    found: Teachers = {}
    tasks = {name: task for task, name in prepared.names.items()}
    for place in prepared.config.training.teachers:
        run = open_run(place, trust_remote_code=prepared.config.model.trust_remote_code)
        lessons = {tasks[one.about.dataset]: one for one in run.tasks.values() if one.about.dataset in tasks}
        if not lessons:
            known = ", ".join(one.about.dataset for one in run.tasks.values())
            raise InputError(f"{place} was trained on {known} and can teach none of {', '.join(tasks)}")
        for task, one in lessons.items():
            if task in found:
                raise InputError(f"expected one teacher for {task}, got {found[task].run.folder} and {place}")
            check(one, prepared.config, prepared.sets[task])
        found |= lessons
    return found


def check(teacher: FinishedTask, config: RunConfig, data: Data) -> None:
    """A teacher has the same labels, and has not seen the rows that are held out here."""
    if teacher.labels != data.labels:
        raise InputError(f"expected the labels {data.labels} of a teacher of {data.name}, got {teacher.labels}")
    keys = ("paper_split", "folds", "fold")
    drawn: dict[str, Any] = {key: getattr(teacher.run.config.dataset, key) for key in keys}
    wanted: dict[str, Any] = {key: getattr(config.dataset, key) for key in keys}
    if teacher.data().validation is None:
        drawn |= {"holdout": teacher.run.config.dataset.holdout, "seed": teacher.run.config.seed}
        wanted |= {"holdout": config.dataset.holdout, "seed": config.seed}
    if drawn != wanted:
        raise InputError(
            f"{teacher.run.folder} held out other rows of {data.name} than this run will: expected {wanted}, "
            f"got {drawn}; train it again with the same settings"
        )


def taught(prepared: Prepared, teachers: Teachers, place: Path, quiet: bool) -> Prepared:
    """The training rows with what their teacher answers as `targets`; the teachers' weights are let go."""
    if not teachers:
        return prepared
    given = answers(teachers, place, prepared.sets, quiet)
    teachers.clear()
    rows = {
        task: (train.add_column("targets", list(given[task])) if task in given else train, validation)
        for task, (train, validation) in prepared.rows.items()
    }
    return replace(prepared, rows=rows)


def answers(teachers: Teachers, place: Path, sets: dict[str, Data], quiet: bool) -> dict[str, np.ndarray]:
    """Each teacher's probabilities or values, (rows, outputs), kept in the run's folder until it is done."""
    path = place / folder.ANSWERS
    if path.is_file():
        return load_file(path)
    given = {}
    with progress_bar(quiet) as bar:
        for task, teacher in teachers.items():
            texts = texts_of(sets[task].splits["train"])
            shown = bar.add_task(f"{teacher.run.folder.name} answers {task}", total=len(texts), note="")
            found = teacher.probabilities(
                texts,
                progress=lambda done, total, shown=shown: bar.update(shown, completed=done, total=total),
            )
            given[task] = found.astype(np.float32)
    if given and int(os.environ.get("RANK", 0)) == 0:
        save_file(given, path.with_suffix(".part"))
        path.with_suffix(".part").replace(path)
    return given
