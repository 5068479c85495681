"""Measure a finished run; the figures go into its result.json under `evaluation`, by atomic rename."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from uegr import data as data_room
from uegr.errors import InputError
from uegr.evaluation.suite import evaluate
from uegr.runs import folder as store
from uegr.runs import model_card, multitask
from uegr.training.callbacks import progress_bar
from uegr.training.config import DatasetConfig


class Finished:
    """A run's model, tokenizer and configuration, loaded once."""

    def __init__(self, folder: Path) -> None:
        from uegr import models

        self.folder = folder
        self.result = store.read_result(folder)
        self.config = self.result["config"]
        remote = self.config["model"]["trust_remote_code"]
        loaded = models.load(str(folder), trust_remote_code=remote, whole=True)
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.max_length = self.config["training"]["max_length"]
        self.labels = tuple(self.result["labels"]) if self.result["labels"] else None

    def data(self, name: str | None = None) -> data_room.Data:
        """The run's own data set, or another one with the same labels."""
        own = DatasetConfig(**self.config["dataset"])
        if name is None or name == own.name:
            return data_room.load(own.name, labelled=True, labels=self.labels, **own.reading())
        return data_room.load(name, labelled=True, labels=None if name in data_room.cards() else self.labels)

    def held_out_data(self) -> data_room.Data:
        """The own data set; where it has a training split only, what was held out of it."""
        data = self.data()
        if data.validation is None and "test" not in data.splits:
            data = data_room.holdout(data, self.config["dataset"]["holdout"], self.config["seed"])
        return data

    def pretrained(self) -> Any:
        """The model that training started from; None for one without pretraining."""
        from uegr import models

        card = models.cards().get(self.config["model"]["name"])
        if card is not None and card.architecture is not None:
            return None
        count = None if self.labels is None else len(self.labels)
        remote = self.config["model"]["trust_remote_code"]
        regression = "regression" if count is None else None
        return models.load(
            self.config["model"]["name"],
            num_labels=count or 1,
            problem_type=regression,  # type: ignore[arg-type]
            seed=self.config["seed"],
            trust_remote_code=remote,
        ).model


USUAL = ("fgm", "shift")
FIGURES = (*USUAL, "pgd", "adversarial", "anomaly", "landscape", "drift")


def measure(
    folder: Path,
    *,
    datasets: list[str],
    everything: bool = False,
    figures: Sequence[str] = USUAL,
    rows: int | None = None,
    quiet: bool = False,
) -> dict[str, Any]:
    """The figures of a run, JSON-ready, written into its result.json.

    Always the task metrics and calibration; as a rule accuracy one gradient step away, and the data sets that are its
    shift; `everything` adds PGD, adversarial and anomaly sets, flatness, and the drift from the pretrained weights.
    """
    wanted = set(FIGURES if everything else figures)
    run = Finished(folder)
    with progress_bar(quiet) as bar:
        tasks: dict[str, Any] = {}

        def stage(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(f"{folder.name}: {name}", total=total, note="")
            bar.update(tasks[name], completed=done, total=total)

        def figures_of(run: Finished, prefix: str = "") -> dict[str, Any]:
            return evaluate(
                run.model,
                run.tokenizer,
                run.held_out_data(),
                pretrained=run.pretrained() if "drift" in wanted else None,
                shift=[*(shift_sets(run) if "shift" in wanted else ()), *datasets],
                adversarial=None if "adversarial" in wanted else (),
                anomaly=None if "anomaly" in wanted else (),
                curves=[curve for curve in ("fgm", "pgd") if curve in wanted],
                landscape="landscape" in wanted,
                rows=rows,
                max_length=run.max_length,
                progress=lambda name, done, total: stage(prefix + name, done, total),
            )

        found = multitask.measured(run, figures_of) if "tasks" in run.result else figures_of(run)
    result = run.result | {"evaluation": found}
    store.write_json(folder / store.RESULT, result)
    model_card.write(folder, result)
    return found


def shift_sets(run: Finished) -> list[str]:
    """The sets that the cards name as a shift of the run's task and that are to be had here."""
    found = []
    for card, use in data_room.evaluation_sets(run.config["dataset"]["name"]):
        if use.kind == "shift":
            try:
                data_room.load(card.name)
            except InputError:
                continue
            found.append(card.name)
    return found


def held_out(data: data_room.Data) -> Any:
    """Labelled rows that no training has seen: test, else validation, else a split that is not for training."""
    for name in ("test", data.validation, *(name for name in data.splits if name != "train")):
        if name in data.splits and "label" in data.splits[name].column_names:
            return data.splits[name]
    raise InputError(f"{data.name} has no labelled rows besides its training split; name another with --dataset")
