"""Measure a finished run: clean scores, accuracy under perturbation, accuracy on other domains.

The figures go into the run's result.json under `evaluation`, by atomic rename.
"""

from pathlib import Path
from typing import Any

from uegr import data as data_room
from uegr.benchmark import store
from uegr.errors import InputError
from uegr.evaluation.batches import labels_of, texts_of
from uegr.evaluation.metrics import measure as figures_of
from uegr.evaluation.perturbation import perturbation_curve
from uegr.evaluation.predict import probabilities
from uegr.training.callbacks import progress_bar


class Finished:
    """A run's model, tokenizer and configuration, loaded once."""

    def __init__(self, folder: Path) -> None:
        from uegr import models

        self.folder = folder
        self.result = store.read_result(folder)
        self.config = self.result["config"]
        loaded = models.load(str(folder), trust_remote_code=self.config["model"]["trust_remote_code"])
        self.model, self.tokenizer = loaded.model, loaded.tokenizer
        self.max_length = self.config["training"]["max_length"]
        self.labels = tuple(self.result["labels"]) if self.result["labels"] else None

    def data(self, name: str | None = None) -> data_room.Data:
        """The run's own data set, or another one with the same labels."""
        own = self.config["dataset"]
        if name is None or name == own["name"]:
            keys = ("text_column", "pair_column", "label_column", "task", "delimiter", "encoding", "paper_split")
            return data_room.load(own["name"], labelled=True, labels=self.labels, **{key: own[key] for key in keys})
        labels = None if name in data_room.cards() else self.labels
        return data_room.load(name, labelled=True, labels=labels)


def measure(
    folder: Path, *, datasets: list[str], everything: bool = False, rows: int | None = None, quiet: bool = False
) -> dict[str, Any]:
    """All figures of a run, JSON-ready, written into its result.json."""
    run = Finished(folder)
    own = run.data()
    split = held_out_split(own)
    shift = [card.name for card, use in data_room.evaluation_sets(own.name) if use.kind == "shift"]
    figures: dict[str, Any] = {"split": split}
    with progress_bar(quiet) as bar:
        clean = limited(own.splits[split], rows, run)
        figures["clean"] = clean_scores(run, own, clean, bar)
        if own.task == "classification":
            figures["perturbation"] = curve(run, clean, bar)
        figures["shift"] = {}
        for name in dict.fromkeys([*(available(shift)), *datasets]):
            other = run.data(name)
            chosen = limited(held_out(other), rows, run)
            figures["shift"][name] = clean_scores(run, other, chosen, bar)
    store.write_json(folder / store.RESULT, run.result | {"evaluation": figures})
    return figures


def held_out_split(data: data_room.Data) -> str:
    """The split to measure on: test where it has labels, else validation, else one that is not for training."""
    for name in ("test", data.validation, *(name for name in data.splits if name != "train")):
        if name in data.splits and "label" in data.splits[name].column_names:
            return name
    raise InputError(f"{data.name} has no labelled rows besides its training split to measure on; name a --dataset")


def held_out(data: data_room.Data) -> Any:
    """The labelled rows that no training has seen."""
    return data.splits[held_out_split(data)]


def available(names: list[str]) -> list[str]:
    """The sets that can be loaded here."""
    found = []
    for name in names:
        try:
            data_room.load(name)
        except InputError:
            continue
        found.append(name)
    return found


def limited(rows: Any, count: int | None, run: Finished) -> Any:
    """At most `count` rows, stratified, the same for every run of a data set."""
    return rows if count is None or count >= len(rows) else data_room.subsample(rows, size=count, seed=0)


def clean_scores(run: Finished, data: data_room.Data, rows: Any, bar: Any) -> dict[str, Any]:
    """The task metrics with intervals."""
    task = bar.add_task(f"{run.folder.name}: {data.name}", total=len(rows), note="")
    predicted = probabilities(
        run.model,
        run.tokenizer,
        texts_of(rows),
        max_length=run.max_length,
        progress=lambda done, total: bar.update(task, completed=done, total=total),
    )
    scores = figures_of(data.metrics, predicted, labels_of(rows))
    return {name: figure.to_json() for name, figure in scores.items()}


def curve(run: Finished, rows: Any, bar: Any) -> list[dict[str, Any]]:
    """Accuracy against the radius of a one-step perturbation."""
    task = bar.add_task(f"{run.folder.name}: perturbation", total=len(rows), note="")
    return perturbation_curve(
        run.model,
        run.tokenizer,
        rows,
        max_length=run.max_length,
        progress=lambda done, total: bar.update(task, completed=done, total=total),
    )
