"""What a training leaves: the chosen weights, the scores of every task, and what it ran on."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from uegr.data import Data
from uegr.evaluation.metrics import measure
from uegr.files import naming, share
from uegr.models import Loaded
from uegr.models.multitask import answering
from uegr.models.texts import probabilities, texts_of
from uegr.result import Figures, Machine, Task, Temperature
from uegr.runs.calibrate import temperature_of
from uegr.runs.heads import head_of
from uegr.runs.prepare import Prepared
from uegr.statistics.classes import Classes, classes
from uegr.statistics.rows import packed
from uegr.training.callbacks import best_folders
from uegr.training.config import RunConfig

PACKAGES = ("uegr", "torch", "transformers", "accelerate", "datasets")


def save(loaded: Loaded, place: Path) -> None:
    """Write model and tokenizer as from_pretrained reads them."""
    with naming(place):
        loaded.model.save_pretrained(str(place))
        loaded.tokenizer.save_pretrained(str(place))
    share(place.glob("*.safetensors"))
    (place / "training_args.bin").unlink(missing_ok=True)  # a pickle; config.yaml has the same


def final_model(config: RunConfig, place: Path, model: Any) -> Any:
    """The model with the weights of its best epoch, or the last; adapters are merged into it."""
    best = next(iter(best_folders(place)), None) if config.training.select != "last" else None
    if config.model.lora:
        from uegr.models.lora import merged

        return merged(model, best)
    if best is not None and (best / "model.safetensors").is_file():
        from safetensors.torch import load_model as load_weights

        load_weights(model, str(best / "model.safetensors"))
    return model


def task(prepared: Prepared, name: str) -> Task:
    """One task with its scores on every split but train, by the path that every later measurement takes."""
    data = prepared.sets[name]
    found = {split: answers(prepared, name, split) for split in data.splits if split != "train"}
    return Task(
        dataset=prepared.names[name],
        columns=data.columns,
        head=head_of(data),
        labels=data.labels,
        metrics=data.metrics,
        rows=len(data.splits["train"]),
        scores={split: split_scores(prepared, data, split, given) for split, given in found.items()},
        classes=split_classes(data, found),
        right={split: right_rows(data, split, given) for split, given in found.items() if is_classified(data, given)},
        temperature=fitted(data, found),
    )


def answers(prepared: Prepared, name: str, split: str) -> Any:
    """Each row's probabilities, (rows, labels); None for a split without labels."""
    loaded, rows = prepared.loaded, prepared.sets[name].splits[split]
    if "label" not in rows.column_names:
        return None
    model = answering(loaded.model, name)
    return probabilities(model, loaded.tokenizer, texts_of(rows), max_length=prepared.max_length)


def is_classified(data: Data, found: Any) -> bool:
    """Whether answers are classes that can be right."""
    return data.labels is not None and found is not None


def right_rows(data: Data, split: str, found: Any) -> str:
    """Which rows of a split are right."""
    return packed(found.argmax(1) == np.asarray(data.splits[split]["label"]))


def split_scores(prepared: Prepared, data: Data, split: str, found: Any) -> Figures:
    """The task metrics on one split with their intervals; nothing of a split without labels."""
    if found is None:
        return {}
    return measure(data.metrics, found, data.splits[split]["label"], prepared.config.seed)


def split_classes(data: Data, found: dict[str, Any]) -> dict[str, Classes]:
    """How each class of a classifier fares, on every split with labels."""
    if data.labels is None:
        return {}
    known = {split: given for split, given in found.items() if given is not None}
    return {split: classes(given.argmax(1), data.splits[split]["label"], data.labels) for split, given in known.items()}


def fitted(data: Data, found: dict[str, Any]) -> Temperature | None:
    """A classifier's temperature, fitted on its validation rows."""
    split = data.validation or "validation"
    if data.labels is None or found.get(split) is None:
        return None
    return temperature_of(found[split], data.splits[split]["label"], split)


def machine(device: str = "cpu") -> Machine:
    """What a reader needs to judge the times of a training on this kind of device."""
    return Machine(
        python=platform.python_version(),
        platform=platform.platform(),
        processor=platform.processor() or platform.machine(),
        cores=os.cpu_count(),
        threads=torch.get_num_threads(),
        gpu=torch.cuda.get_device_name(0) if device == "cuda" else "Apple GPU" if device == "mps" else None,
    )


def versions() -> dict[str, str]:
    """What is needed to repeat the figures."""
    return {name: version(name) for name in PACKAGES}
