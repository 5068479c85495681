"""Weights between the pretrained model and the finished one (WiSE-FT, Wortsman et al., CVPR 2022).

    theta(w) = (1 - w) theta_pretrained + w theta_finished

of the encoder; the head has no pretrained weights and stays as it was trained. w = 1 is the finished run itself. Less
than 1 gives up some of what fine-tuning learned, and brings back some of what it forgot; it costs no training.
`training.interpolation` does it at the end of a training, `interpolate_run` for a finished run.
"""

import os
import sys
from pathlib import Path
from typing import Any

import torch

from uegr.errors import InputError
from uegr.models import cards
from uegr.models.texts import length_limit
from uegr.pieces.encoder import encoder
from uegr.result import Config, Result
from uegr.runs import folder, manifest, outcome, paths
from uegr.runs.finished import FinishedRun, open_run
from uegr.runs.prepare import Prepared, heads_of, load_sets
from uegr.runs.start import located, start_of
from uegr.training.config import RunConfig


def interpolate_run(source: Path, place: Path, weight: float, *, trust_remote_code: bool = False) -> Result:
    """Write a new run folder with the interpolated weights of a finished run and their scores."""
    if not 0 <= weight <= 1:
        raise InputError(f"expected 0 <= weight <= 1, got {weight}; use --weight 0.5")
    run = open_run(source, trust_remote_code=trust_remote_code)
    if run.config.training.interpolation is not None:
        raise InputError(f"expected a run that is not interpolated, got {source}; use the run that it was made from")
    check(run.config)
    settings = run.result.config.model_dump(mode="json", exclude_unset=True)
    settings["training"] = settings["training"] | {"interpolation": weight}
    if start := start_of(run.config, source):
        settings["training"]["start_from"] = os.path.relpath(start, place)  # config.yaml has it from its own folder
    folder.check(place, settings, resume=not folder.is_done(place))  # one that was interrupted is made again
    prepared = reopened(run)
    mix(run.model, prepared, weight)
    with folder.held(place):
        folder.write_config(place, settings)
        paths.remember(place, prepared.names.values(), source)
        outcome.save(run.loaded, place)
        manifest.write(place, manifest.read(source).origin)
        tasks = {task: outcome.task(prepared, task) for task in prepared.sets}
        changes = {"config": Config(**settings), "tasks": tasks, "command": " ".join(["uegr", *sys.argv[1:]])}
        return folder.create(place, run.result.model_copy(update=changes | {"cell": None, "search": None}))


def check(config: RunConfig) -> None:
    """Raise for a run that does not start from a pretrained model."""
    card = cards().get(config.model.name)
    if (card is not None and card.scratch) or not config.model.pretrained:
        raise InputError(
            f"expected a run that starts from a pretrained model, got {config.model.name}, which has no pretrained "
            "weights to interpolate with; use training.averaging for it"
        )


def reopened(run: FinishedRun) -> Prepared:
    """What scores a finished run as its training did; its model is loaded with the caller's trust, not the folder's."""
    trusting = run.config.model.model_copy(update={"trust_remote_code": run.trust_remote_code})
    config = located(run.config.model_copy(update={"model": trusting}), run.folder)
    heads = heads_of(config)
    sets, names = load_sets(config, heads.names(config), development=False, place=run.folder)
    cut = length_limit(run.tokenizer, config.training.max_length)
    return Prepared(config, sets, names, run.loaded, {}, heads, cut, lambda: manifest.read(run.folder).origin.weights)


@torch.no_grad()
def mix(model: Any, prepared: Prepared, weight: float) -> None:
    """Move the encoder's weights towards those that training started from; adapters are merged already."""
    plain = prepared.config.model.model_copy(update={"lora": None})
    start = prepared.heads.load(prepared.config.model_copy(update={"model": plain}), prepared.sets).model
    before = dict(encoder(start).named_parameters())
    for name, value in encoder(model).named_parameters():
        value.copy_(torch.lerp(before[name].to(value), value, weight))
