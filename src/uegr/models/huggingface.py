"""Sequence classifiers through the Auto classes, by alias, folder or hub name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from uegr.errors import InputError
from uegr.models.card import cards
from uegr.models.download import fetch
from uegr.models.hub import Place, hub
from uegr.models.loaded import Loaded, bound, head, pad, precision, quiet, refused

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig, PreTrainedModel


def load(
    name: str,
    *,
    num_labels: int | None = None,
    labels: tuple[str, ...] | None = None,
    problem_type: Literal["regression"] | None = None,
    seed: int = 0,
    attention: str | None = None,
    dtype: str | torch.dtype | None = None,
    trust_remote_code: bool = False,
    mlp: int | None = None,
    pretrained: bool = True,
    whole: bool = False,
) -> Loaded:
    """A sequence classifier and its tokenizer; a missing head is drawn from `seed`.

    With neither `num_labels` nor `labels` the checkpoint's own head is kept, and with `whole` (a finished run) every
    weight of it must be there. `attention` is transformers' attn_implementation (its default is SDPA where the family
    has it). `mlp` makes the head an MLP with that many hidden units (models/mlp.py). Without `pretrained` every weight
    is drawn; only the architecture and the tokenizer are the checkpoint's. `dtype` defaults to float32, since training
    in half precision, which many checkpoints have, loses small updates.
    """
    place = locate(name)
    from transformers import AutoConfig, AutoTokenizer  # after the name is found: the import takes seconds

    from uegr.models import architectures  # noqa: F401  registers them with the Auto classes

    source = {"trust_remote_code": trust_remote_code, "local_files_only": place.local}
    with quiet(), refused(name):
        config = AutoConfig.from_pretrained(place.path, **source)
        if config.model_type == "uegr_mtdnn" and (num_labels, labels, problem_type) != (None,) * 3:
            raise InputError(several_heads(config, name))
        head(config, num_labels, labels, problem_type)
        if mlp is not None:
            config.uegr_mlp = mlp
        tokenizer = AutoTokenizer.from_pretrained(place.path, **source)
        options: dict[str, Any] = {"attn_implementation": attention, "dtype": precision(dtype), **source}
        if pretrained:
            model, fresh = weights(place.path, config, seed, whole=whole, **options)
        else:
            model, fresh = drawn(config, seed, **options)
    model.from_scratch = not pretrained  # type: ignore[assignment]
    pad(model, tokenizer, name)
    bound(model, tokenizer, place.card)
    return Loaded(model, tokenizer, name, place.card, fresh)


def locate(name: str) -> Place:
    """A card first, then a folder, then the hub."""
    if name in cards():
        card = cards()[name]
        if card.scratch:
            raise InputError(f"{name} is trained from scratch and has no weights to load; make one with build")
        if card.architecture:
            raise InputError(f"{name} is made for several data sets, as in --model {name} --dataset cola,sst2")
        if card.hub:
            return hub(card.hub, card)
        return Place(str(fetch(name)), True, card)
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise InputError(f"the folder {name} has no config.json; give a saved model or a finished run")
        return Place(str(folder), True, None)
    return hub(name, None)


def several_heads(config: PreTrainedConfig, name: str) -> str:
    """Why an `mtdnn` cannot get a fresh head, and what to do."""
    return (
        f"{name} is an mtdnn of the tasks {', '.join(task[0] for task in config.tasks)}, each with its own head; use "
        f"--model mtdnn --set model.settings.encoder={name} and one or several data sets"
    )


def weights(
    path: str, config: PreTrainedConfig, seed: int, *, bare: bool = False, whole: bool = False, **options: Any
) -> tuple[PreTrainedModel, frozenset[str]]:
    """The classifier, or its `bare` encoder, and which weights are fresh: a head or pooler, and none if `whole`."""
    import torch
    from transformers import AutoModel, AutoModelForSequenceClassification

    kind: Any = AutoModel if bare else AutoModelForSequenceClassification
    if not bare and getattr(config, "uegr_mlp", None):
        from uegr.models.mlp import classifier_with_mlp

        kind = classifier_with_mlp(config)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model: PreTrainedModel
        model, report = kind.from_pretrained(
            path, config=config, ignore_mismatched_sizes=True, output_loading_info=True, **options
        )
    prefix = "" if bare else f"{model.base_model_prefix}."
    fresh = frozenset(
        key if isinstance(key, str) else key[0] for kind in ("missing_keys", "mismatched_keys") for key in report[kind]
    )
    wanting = fresh
    if not whole:
        wanting = frozenset(key for key in fresh if key.startswith(prefix) and "pooler" not in key.split("."))
    if wanting:
        raise InputError(
            f"the weights of {path} do not fit its configuration; missing or of another shape: "
            f"{min(wanting)}" + (f" and {len(wanting) - 1} more" if len(wanting) > 1 else "")
        )
    return model, fresh


def drawn(
    config: PreTrainedConfig, seed: int, *, local_files_only: bool = True, **options: Any
) -> tuple[PreTrainedModel, frozenset[str]]:
    """The classifier of this configuration with every weight drawn from the seed, and the names of all of them."""
    import torch
    from transformers import AutoModelForSequenceClassification

    if getattr(config, "uegr_mlp", None):
        raise InputError("expected pretrained weights below an MLP head, got none; use a linear head")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        made: Any = AutoModelForSequenceClassification
        model: PreTrainedModel = made.from_config(config, **options)
    model.train(False)
    return model, frozenset(model.state_dict())
