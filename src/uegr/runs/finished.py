"""A finished run, opened: its model, its tasks, its result.

from uegr import open_run
run = open_run("runs/first")
run.predict(["a fine film"])[0].label
run.result.tasks["snippets"].scores["test"]["accuracy"].value
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from uegr import data as data_room
from uegr import models, result
from uegr.data import Data
from uegr.data.columns import as_before
from uegr.data.duplicates import without
from uegr.errors import InputError, warn
from uegr.models import Loaded
from uegr.models.device import chosen_device, placed
from uegr.models.multitask import answering
from uegr.models.texts import Text, probabilities
from uegr.runs import folder, manifest, paths
from uegr.runs.prepare import folded
from uegr.runs.sets import loaded
from uegr.runs.start import moved, start_of
from uegr.safe_json import complaint
from uegr.training.config import RunConfig


@dataclass(frozen=True)
class Prediction:
    """The label and every label's probability; of a regression, its value."""

    label: str | None
    probabilities: dict[str, float]
    value: float | None = None


class FinishedTask:
    """One task of a finished run: the model that answers for it, and its data."""

    def __init__(self, run: "FinishedRun", name: str) -> None:
        self.run, self.name = run, name
        self.about: result.Task = run.result.tasks[name]
        self.labels = self.about.labels

    @cached_property
    def model(self) -> Any:
        """The model with this task's head."""
        return answering(self.run.model, self.name)

    @property
    def tokenizer(self) -> Any:
        return self.run.tokenizer

    @property
    def max_length(self) -> int | None:
        """The length that training used, in tokens."""
        return self.run.result.training.max_length

    def _owns(self, name: str | None) -> bool:
        """Whether a name means the task's own data set; a path that leads to another file here does not."""
        if name == self.about.dataset:
            return not paths.is_other(name, self.run.folder)
        return name in (None, self.name)

    def data(self, name: str | None = None, **reading: Any) -> Data:
        """The task's own data set, or another one with the same labels; `reading` as in `uegr.data.load`.

        Of another file the columns of the training file are read, where it has them and `reading` names no others.
        """
        if self._owns(name):
            reading = self.run.config.dataset.reading() | reading
            data = paths.load(self.about.dataset, self.run.folder, labelled=True, labels=self.labels, **reading)
            return replace(folded(data, self.run.config.dataset), metrics=self.about.metrics)
        return loaded(str(name), self.labels, **as_before(str(name), self.about.columns, **reading))

    def held_out(self, name: str | None = None, **reading: Any) -> Data:
        """Data to measure on: the own data set, with what was held out where it has training rows only, or another one.

        Another one that has a single split is used whole, without the rows that this task was trained on.
        """
        data = self.data(name, **reading)
        if not self._owns(name):
            single = [split for split, rows in data.splits.items() if "label" in rows.column_names] == ["train"]
            return replace(data, splits={"test": self.unseen(data.name, data.splits["train"])}) if single else data
        if data.validation is None and "test" not in data.splits:
            data = data_room.holdout(data, self.run.config.dataset.holdout, self.run.config.seed)
        return data

    def unseen(self, name: str, rows: Any) -> Any:
        """The rows of the data set `name` that this task was not trained on; warns with the number of the others."""
        try:
            known = self.training_rows()
        except InputError:
            warn(f"{name}: whether {self.run.folder} was trained on its rows is not known: its own data is not here")
            return rows
        return without(rows, known, name, str(self.run.folder))

    def training_rows(self) -> Any:
        """The rows that the weights were trained on."""
        data, options, seed = self.data(), self.run.config.dataset, self.run.config.seed
        rows = (data if data.validation else data_room.holdout(data, options.holdout, seed)).splits["train"]
        if options.train_size is None and options.train_fraction is None:
            return rows
        return data_room.subsample(rows, size=options.train_size, fraction=options.train_fraction, seed=seed)

    def validation_rows(self) -> Any:
        """The rows that chose the epoch: the validation split, or what was held out of the training rows."""
        data = self.data()
        if data.validation is None:
            data = data_room.holdout(data, self.run.config.dataset.holdout, self.run.config.seed)
        return data.splits[data.validation or "validation"]

    def pretrained(self) -> Any:
        """The model that training started from; None for one without pretraining."""
        options = self.run.config.model
        card = models.cards().get(options.name)
        if card is not None and card.architecture is not None:
            return None
        model = models.load(
            options.name,
            num_labels=1 if self.labels is None else len(self.labels),
            problem_type="regression" if self.labels is None else None,
            seed=self.run.config.seed,
            trust_remote_code=self.run.trust_remote_code,
            pretrained=options.pretrained,
        )
        start = start_of(self.run.config, self.run.folder)
        model = moved(model, start, trust_remote_code=self.run.trust_remote_code) if start else model
        return placed(model.model, self.run.device)

    def heat(self) -> float:
        """The temperature that training fitted."""
        if self.about.temperature is None:
            raise InputError(
                f"expected a temperature for {self.name} in {folder.RESULT}, got none: it is a regression, or an "
                "earlier version trained it; use its probabilities as they are"
            )
        return self.about.temperature.value

    def probabilities(self, texts: Sequence[Text], *, calibrate: bool = False, **options: Any) -> Any:
        """Each label's probability, (texts, labels), maybe after the temperature; a regression's values, (texts, 1)."""
        options |= {"temperature": self.heat()} if calibrate else {}
        return probabilities(self.model, self.tokenizer, texts, max_length=self.max_length, **options)

    def predict(self, texts: Sequence[Text], **options: Any) -> list[Prediction]:
        """One prediction for each text, or pair of texts, in their order; `calibrate` applies the temperature."""
        found = self.probabilities(list(texts), **options) if texts else []
        if self.labels is None:
            return [Prediction(None, {}, float(row[0])) for row in found]
        return [
            Prediction(self.labels[int(row.argmax())], dict(zip(self.labels, map(float, row), strict=True)))
            for row in found
        ]


def configuration(place: Path, found: result.Result) -> RunConfig:
    """What a run was trained with; a received result may hold any value."""
    try:
        return RunConfig(**found.config.model_dump())
    except ValidationError as error:
        line = f"{place / folder.RESULT}: config.{complaint(error)}"
        raise InputError(f"{line}; restore the file, or train the run again") from None


class FinishedRun:
    """A run's `folder`, its `result`, its `config` and its `tasks` by name; model and tokenizer load on first use."""

    def __init__(self, place: Path, *, trust_remote_code: bool = False, device: str | None = None) -> None:
        self.folder, self.trust_remote_code, self.device = place, trust_remote_code, chosen_device(device)
        self.result = folder.read(place)
        self.config = configuration(place, self.result)

    @property
    def tasks(self) -> Mapping[str, FinishedTask]:
        """By name; a task keeps its run, so the run does not keep them: the model is freed with the last of both."""
        return {name: FinishedTask(self, name) for name in self.result.tasks}

    @cached_property
    def loaded(self) -> Loaded:
        """Model and tokenizer as `uegr.models.load` gives them; a damaged file is an error."""
        manifest.check_whole(self.folder)
        if reason := manifest.damaged_export(self.folder):
            raise InputError(f"{reason}; remove the file, then export it again with `uegr export RUN --onnx`")
        loaded = models.load(str(self.folder), trust_remote_code=self.trust_remote_code, whole=True)
        placed(loaded.model, self.device)
        return loaded

    @property
    def model(self) -> Any:
        """The trained model, with the heads of all tasks."""
        return self.loaded.model

    @property
    def tokenizer(self) -> Any:
        """The tokenizer that was trained with."""
        return self.loaded.tokenizer

    def task(self, name: str | None = None) -> FinishedTask:
        """The task of this name or data set; without a name, the only one."""
        return self.tasks[self.result.task_named(name)]

    def predict(self, texts: Sequence[Text], *, task: str | None = None, calibrate: bool = False) -> list[Prediction]:
        """One prediction for each text, or pair of texts, in their order; `calibrate` applies the temperature."""
        if isinstance(texts, str):
            raise InputError("expected a list of texts, got one text; put it into a list")
        return self.task(task).predict(texts, calibrate=calibrate)


def open_run(place: str | PathLike[str], *, trust_remote_code: bool = False, device: str | None = None) -> FinishedRun:
    """Open the folder of a finished run; its model computes on `device`, by default cuda if there is one, else cpu.

    Python code that comes with the model runs only with `trust_remote_code`, whatever the folder says: the folder may
    come from somebody else.
    """
    return FinishedRun(Path(place).expanduser(), trust_remote_code=trust_remote_code, device=device)


def held_out_rows(data: Data) -> Any:
    """Labelled rows that no training has seen: test, else validation, else a split that is not for training."""
    for name in ("test", data.validation, *(name for name in data.splits if name != "train")):
        if name in data.splits and "label" in data.splits[name].column_names:
            return data.splits[name]
    raise InputError(f"{data.name} has no labelled rows besides its training split; choose another with --dataset")
