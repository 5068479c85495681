"""A run that starts from the encoder of another run in place of its model's own weights; its head is new.

`--set training.start_from=../mnli` names a finished run of the same model, as a path from the folder of this run, where
config.yaml is. R-AT (table 2) starts CoLA, MRPC and RTE from a model that was trained on MNLI; `starts` of a grid does
this for its cells.
"""

from dataclasses import replace
from pathlib import Path

from uegr import models
from uegr.errors import InputError
from uegr.models import Loaded
from uegr.runs import folder, manifest
from uegr.training.config import RunConfig


def start_of(config: RunConfig, place: Path) -> Path | None:
    """The run that the run in a folder starts from, if any."""
    start = config.training.start_from
    return None if start is None else (place / start).resolve()


def located(config: RunConfig, place: Path) -> RunConfig:
    """The configuration with the whole path of its start; a run that cannot be a start is an error."""
    start = start_of(config, place)
    if start is None:
        return config
    check(config, start)
    training = config.training.model_copy(update={"start_from": str(start)})
    return config.model_copy(update={"training": training})


def check(config: RunConfig, start: Path) -> None:
    """A start is a finished, undamaged run of the same model."""
    if not config.model.pretrained:
        raise InputError("expected training.start_from or model.pretrained=false, got both; leave one out")
    before = folder.read(start).config.model.name
    if before != config.model.name:
        raise InputError(f"expected a start with the model {config.model.name}, got {before} in {start}")
    if reason := manifest.damage(start):
        raise InputError(f"the run to start from is damaged: {reason}; train it again")


def moved(loaded: Loaded, start: str | Path, *, trust_remote_code: bool = False) -> Loaded:
    """The classifier with the encoder weights of a finished run; the weights of its head stay as they are."""
    theirs = models.load(str(start), trust_remote_code=trust_remote_code, whole=True).model
    loaded.model.base_model.load_state_dict(theirs.base_model.state_dict())
    inside = f"{loaded.model.base_model_prefix}."
    return replace(loaded, fresh=frozenset(name for name in loaded.fresh if not name.startswith(inside)))
