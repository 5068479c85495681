"""One run over several data sets: `uegr train --model mtdnn --dataset cola,sst2,mrpc`.

Its folder is that of any run. In result.json, `tasks` says what each head is for, `scores` has an entry such as
"cola validation", and `labels` is empty: there is no one set of labels.
"""

import copy
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uegr.data import Data
from uegr.errors import InputError, did_you_mean
from uegr.runs import augment, outcome, teachers
from uegr.runs import folder as store
from uegr.runs import train as run
from uegr.training.config import RunConfig

if TYPE_CHECKING:
    from uegr.runs.evaluate import Finished

MODEL = "mtdnn"
Sets = dict[str, Data]


def train(
    config: RunConfig, folder: Path, *, resume: bool = False, quiet: bool = False, development: bool = False
) -> dict[str, Any]:
    """As `run.train`, for all data sets that the configuration names."""
    resolved = config.resolved()
    store.check_folder(folder, resolved, resume)
    if store.is_done(folder):
        return store.read_result(folder)
    sets = load_sets(config, development)
    taught = teachers.find(config, sets)
    loaded = load_model(config, sets)
    rows = {name: run.tokenised_splits(config, data, loaded) for name, data in sets.items()}
    run.refuse(config, loaded)
    if int(os.environ.get("RANK", 0)) == 0:
        store.write_config(folder, resolved)
    if taught:
        rows = teachers.with_answers(taught, folder, sets, rows, quiet)
        taught.clear()  # their weights are needed no more
    trainer, bar = make_trainer(config, folder, sets, loaded, rows, quiet)
    return finish(config, resolved, folder, sets, loaded, trainer, run.fitted(trainer, bar, folder))


def names_of(config: RunConfig) -> list[str]:
    """The data sets that are named, parted by commas."""
    return [name.strip() for name in config.dataset.name.split(",") if name.strip()]


def load_sets(config: RunConfig, development: bool) -> Sets:
    """Every data set under its name; what cannot be a task is said before anything is written."""
    if config.augment.name is not None:
        raise InputError(f"augment: expected one data set to attack, got {MODEL} with several; leave it out")
    if config.model.vectors:
        raise InputError(f"vectors are for models without pretraining, and {MODEL} has it in its encoder")
    sets: Sets = {}
    for name in names_of(config):
        one = config.model_copy(update={"dataset": config.dataset.model_copy(update={"name": name})})
        data = run.load_data(one)
        if data.name in sets:
            raise InputError(f"expected data sets with different names, got {data.name} twice")
        sets[data.name] = run.without_test(data) if development else data
    return sets


def load_model(config: RunConfig, sets: Sets) -> Any:
    """The encoder with a head for each data set."""
    from uegr.models.multitask import built

    options = config.model
    loaded = built(
        [task_of(data) for data in sets.values()],
        scales={name: run.scale(data) for name, data in sets.items() if data.labels is None},
        seed=config.seed,
        attention=options.attention,
        dtype=options.dtype,
        trust_remote_code=options.trust_remote_code,
        **options.settings,
    )
    return run.with_adapters(config, loaded) if options.lora else loaded


def task_of(data: Data) -> Any:
    """Pairs of texts with labels go to the answer network, all numbers to a regression."""
    from uegr.models.mtdnn import Task

    if data.labels is None:
        return Task(data.name, "regression", None)
    return Task(data.name, "pair" if "pair" in data.splits["train"].column_names else "single", data.labels)


def make_trainer(
    config: RunConfig, folder: Path, sets: Sets, loaded: Any, rows: dict[str, tuple[Any, Any]], quiet: bool
) -> tuple[Any, Any]:
    """The trainer and its progress bar."""
    from transformers import DataCollatorWithPadding

    from uegr.training.callbacks import KeepBest, MetricsFile, ShowProgress
    from uegr.training.multitask import MEAN, MultitaskTrainer, TaskRows

    run.quieten()
    bar = ShowProgress(f"{config.method.get('name', 'uegr')} · {MODEL} · {', '.join(sets)}", quiet)
    callbacks: list[Any] = [bar, MetricsFile(folder / store.METRICS)]
    best = KeepBest(folder / "best", MEAN, config.training.patience)
    if config.training.select == "best" or config.training.patience:
        callbacks.append(best)
    arguments = run.arguments(config, folder)
    arguments.ddp_find_unused_parameters = True  # the heads of other tasks
    best.trainer = trainer = MultitaskTrainer(
        model=loaded.model,
        args=arguments,
        train_dataset=TaskRows({number: train for number, (train, _) in enumerate(rows.values())}),
        eval_dataset={name: TaskRows({number: rows[name][1]}) for number, name in enumerate(rows)},
        data_collator=DataCollatorWithPadding(loaded.tokenizer),
        processing_class=loaded.tokenizer,
        scorers={name: run.scorer(data) for name, data in sets.items()},
        main={name: data.metrics[0] for name, data in sets.items()},
        callbacks=callbacks,
        method=config.make_method(),
    )
    run.without_printing(trainer)
    return trainer, bar


def finish(
    config: RunConfig,
    resolved: dict[str, Any],
    folder: Path,
    sets: Sets,
    loaded: Any,
    trainer: Any,
    spent: dict[str, Any],
) -> dict[str, Any]:
    """Keep the chosen weights, score every head, and write result.json last."""
    if not trainer.is_world_process_zero():
        return {}
    loaded = replace(loaded, model=outcome.final_model(config, folder, loaded.model))
    outcome.save(loaded, folder)
    result = {
        "config": resolved,
        "labels": None,
        "task": "multitask",
        "tasks": {name: described(name, data, config) for name, data in sets.items()},
        "scores": scores(sets, loaded, config),
        "training": {
            "rows": sum(len(data.splits["train"]) for data in sets.values()),
            "rows_of": {name: len(data.splits["train"]) for name, data in sets.items()},
            "steps": trainer.state.global_step,
            "epochs": trainer.state.epoch,
            **spent,
            **augment.result(config, folder),
        },
        "machine": outcome.machine(),
        "command": " ".join(["uegr", *sys.argv[1:]]),
    }
    outcome.keep(result, folder)
    return result


def described(name: str, data: Data, config: RunConfig) -> dict[str, Any]:
    """What a head is for, and the data set's name as it was said."""
    said = next(each for each in names_of(config) if name in (each, Path(each).stem, Path(each).name))
    return {"dataset": said, "kind": task_of(data).kind, "labels": data.labels, "task": data.task}


def scores(sets: Sets, loaded: Any, config: RunConfig) -> dict[str, Any]:
    """The metrics of every task on every split but train."""
    found = {}
    for name, data in sets.items():
        head = replace(loaded, model=loaded.model.for_task(name))
        for split in data.splits:
            if split != "train":
                found[f"{name} {split}"] = outcome.split_scores(data, split, head, config)
    return found


def of_task(run: "Finished", name: str | None) -> "Finished":
    """The finished run as if it had this task alone; `name` is a task or its data set."""
    tasks = run.result["tasks"]
    known = {said: task for task in tasks for said in (task, tasks[task]["dataset"])}
    if name is None and len(tasks) > 1:
        raise InputError(f"the run has the tasks {', '.join(tasks)}; name one of them")
    if name is not None and name not in known:
        raise InputError(f"the run has no task {name}; {did_you_mean(name, tasks)}")
    task = next(iter(tasks)) if name is None else known[name]
    one = copy.copy(run)
    whole: Any = run.model
    one.model = whole.for_task(task)
    one.labels = tuple(tasks[task]["labels"]) if tasks[task]["labels"] else None
    one.config = run.config | {"dataset": run.config["dataset"] | {"name": tasks[task]["dataset"]}}
    return one


def measured(run: "Finished", figures: Callable[["Finished", str], dict[str, Any]]) -> dict[str, Any]:
    """The figures of every task, and all of them together under names such as "cola matthews"."""
    tasks = {name: figures(of_task(run, name), f"{name} ") for name in run.result["tasks"]}
    together: dict[str, Any] = {"data": ", ".join(tasks), "split": "held out", "clean": {}, "perturbation": {}}
    together |= {"shift": {}, "adversarial": {}, "anomaly": {}, "other_splits": {}, "perspectives": {}, "left_out": {}}
    for name, found in tasks.items():
        together["clean"] |= {f"{name} {metric}": figure for metric, figure in found["clean"].items()}
        together["perturbation"] |= {f"{attack} {name}": one for attack, one in found.get("perturbation", {}).items()}
        for kind in ("shift", "adversarial"):
            for other, metrics in found[kind].items():
                together[kind][other] = {f"{name} {metric}": figure for metric, figure in metrics.items()}
        together["anomaly"] |= {f"{other} ({name})": one for other, one in found.get("anomaly", {}).items()}
        together["left_out"] |= found["left_out"]
    return together | {"seed": run.config["seed"], "tasks": tasks}
