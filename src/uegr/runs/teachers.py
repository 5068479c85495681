"""Finished runs that teach an `mtdnn`: `--set training.teachers=[runs/cola,runs/rte]`.

Clark, Luong, Khandelwal, Manning and Le 2019, "BAM! Born-again multi-task networks for natural language understanding":
a model of several tasks first learns what models of one task answer, then more and more the labels themselves
(training/multitask.py). A teacher is a run on one of the data sets, with any model, or another `mtdnn`; a task without
a teacher learns from its labels alone. Each teacher answers its training rows once, before the first step.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from safetensors.numpy import load_file, save_file

from uegr.data import Data
from uegr.errors import InputError
from uegr.runs import folder as store
from uegr.runs import multitask
from uegr.training.config import RunConfig

if TYPE_CHECKING:
    from uegr.runs.evaluate import Finished

Teachers = dict[str, "Finished"]


def find(config: RunConfig, sets: dict[str, Data]) -> Teachers:
    """The teacher of each task that has one; what cannot teach is said before anything is written."""
    from uegr.runs.evaluate import Finished

    found: Teachers = {}
    said = dict(zip(multitask.names_of(config), sets, strict=True))
    for folder in config.training.teachers:
        run = Finished(Path(folder).expanduser())
        lessons = {said[name]: one for name, one in alone(run).items() if name in said}
        if not lessons:
            raise InputError(f"{folder} was trained on {', '.join(alone(run))} and can teach none of {', '.join(said)}")
        for task, one in lessons.items():
            if task in found:
                raise InputError(f"expected one teacher for {task}, got {found[task].folder} and {folder}")
            refuse(one, config, sets[task])
        found |= lessons
    return found


def alone(run: "Finished") -> Teachers:
    """The run under the name of its data set; an `mtdnn` under each of its tasks', answering for that one."""
    if "tasks" not in run.result:
        return {run.config["dataset"]["name"]: run}
    return {task["dataset"]: multitask.of_task(run, name) for name, task in run.result["tasks"].items()}


def refuse(run: "Finished", config: RunConfig, data: Data) -> None:
    """A teacher has the same labels, and has not seen the rows that are held out here."""
    if run.labels != data.labels:
        raise InputError(f"expected the labels {data.labels} of a teacher of {data.name}, got {run.labels}")
    drawn: dict[str, Any] = {"paper_split": run.config["dataset"]["paper_split"]}
    wanted: dict[str, Any] = {"paper_split": config.dataset.paper_split}
    if run.data().validation is None:
        drawn |= {"holdout": run.config["dataset"]["holdout"], "seed": run.config["seed"]}
        wanted |= {"holdout": config.dataset.holdout, "seed": config.seed}
    if drawn != wanted:
        raise InputError(
            f"{run.folder} held other rows of {data.name} out than this run will: expected {wanted}, got {drawn}; "
            "train it again with the same"
        )


def with_answers(
    teachers: Teachers, folder: Path, sets: dict[str, Data], rows: dict[str, tuple[Any, Any]], quiet: bool
) -> dict[str, tuple[Any, Any]]:
    """The tokenised rows, those to train on with what their teacher answers as `targets`."""
    given = answers(teachers, folder, sets, quiet)
    return {
        name: (train.add_column("targets", list(given[name])) if name in given else train, validation)
        for name, (train, validation) in rows.items()
    }


def answers(teachers: Teachers, folder: Path, sets: dict[str, Data], quiet: bool) -> dict[str, np.ndarray]:
    """Each teacher's probabilities or values, (rows, outputs), kept in the run's folder until it is done."""
    from uegr.models.texts import probabilities, texts_of
    from uegr.training.callbacks import progress_bar

    path = folder / store.ANSWERS
    if path.is_file():
        return load_file(path)
    given = {}
    with progress_bar(quiet) as bar:
        for name, run in teachers.items():
            texts = texts_of(sets[name].splits["train"])
            shown = bar.add_task(f"{run.folder.name} answers {name}", total=len(texts), note="")
            given[name] = probabilities(
                run.model,
                run.tokenizer,
                texts,
                max_length=run.max_length,
                progress=lambda done, total, shown=shown: bar.update(shown, completed=done, total=total),  # type: ignore[misc]
            ).astype(np.float32)
    if given and int(os.environ.get("RANK", 0)) == 0:
        save_file(given, path.with_suffix(".part"))
        path.with_suffix(".part").replace(path)
    return given
