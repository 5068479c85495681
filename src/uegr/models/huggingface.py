"""Sequence classifiers through the Auto classes, by alias, folder or hub name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from uegr.errors import InputError, did_you_mean
from uegr.models.card import Card, cards

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

UNBOUNDED = 512  # tokens, where neither tokenizer, configuration nor card gives a bound


@dataclass(frozen=True)
class Loaded:
    """A classifier with its tokenizer; `card` is None for a folder or a hub name, `fresh` names the weights drawn."""

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    name: str
    card: Card | None
    fresh: frozenset[str] = frozenset()


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
    whole: bool = False,
) -> Loaded:
    """A sequence classifier and its tokenizer; a head that the checkpoint lacks is drawn from `seed`.

    With neither `num_labels` nor `labels` the checkpoint's own head is kept, and with `whole` (a finished run) it must
    be there to the last weight. `attention` is transformers' attn_implementation (its default is SDPA where the family
    has it); `dtype` defaults to float32, since training in the half precision of many a checkpoint loses small updates.
    """
    place = locate(name)
    from transformers import AutoConfig, AutoTokenizer  # after the name is known to lead somewhere: it takes seconds

    from uegr.models import architectures  # noqa: F401  registers them with the Auto classes

    source = {"trust_remote_code": trust_remote_code, "local_files_only": place.local}
    with quiet(), refused(name):
        config = AutoConfig.from_pretrained(place.path, **source)
        if config.model_type == "uegr_mtdnn" and (num_labels, labels, problem_type) != (None,) * 3:
            raise InputError(several_heads(config, name))
        head(config, num_labels, labels, problem_type)
        tokenizer = AutoTokenizer.from_pretrained(place.path, **source)
        model, fresh = weights(
            place.path, config, seed, whole=whole, attn_implementation=attention, dtype=precision(dtype), **source
        )
    pad(model, tokenizer, name)
    bound(model, tokenizer, place.card)
    return Loaded(model, tokenizer, name, place.card, fresh)


@dataclass(frozen=True)
class Place:
    """What from_pretrained is given, and whether it must not ask the network."""

    path: str
    local: bool
    card: Card | None


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
        from uegr.models.download import fetch

        return Place(str(fetch(name)), True, card)
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise InputError(f"the folder {name} has no config.json; give a saved model or a finished run")
        return Place(str(folder), True, None)
    return hub(name, None)


def hub(name: str, card: Card | None) -> Place:
    """A hub name, asked once with a short timeout, or what the hub's cache already holds of it."""
    from huggingface_hub import HfApi, try_to_load_from_cache

    try:
        HfApi().model_info(name, timeout=5)
        return Place(name, False, card)
    except Exception as error:  # whatever the network stack raises means the same: not to be had from the hub now
        if isinstance(kept(name, try_to_load_from_cache), str):
            return Place(name, True, card)
        raise InputError(unknown(name, card, error)) from error


def kept(name: str, lookup: Any) -> object:
    """The cached config.json of a hub name; a name that the hub could not have is cached nowhere."""
    try:
        return lookup(name, "config.json")
    except ValueError:
        return None


def unknown(name: str, card: Card | None, error: Exception) -> str:
    """What was tried for a name that leads nowhere, and the remedy."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")[:120]
    if card:
        return (
            f"{card.name} is {name} on the model hub, which does not answer ({reason}) and is not in the hub's cache; "
            "connect once, or give the folder of a copy"
        )
    return (
        f"unknown model {name}: no alias of that name ({did_you_mean(name, cards())}), no folder, "
        f"and nothing on the model hub ({reason})"
    )


def head(
    config: PreTrainedConfig,
    num_labels: int | None,
    labels: tuple[str, ...] | None,
    problem_type: Literal["regression"] | None,
) -> None:
    """Write the labels into the configuration."""
    if labels is not None and num_labels not in (None, len(labels)):
        raise InputError(f"expected as many labels as num_labels, got num_labels={num_labels} and labels {labels}")
    count = len(labels) if labels is not None else num_labels
    if count is None and problem_type is None:
        return
    if problem_type == "regression" and count not in (None, 1):
        raise InputError(f"expected one output for regression, got num_labels={count}")
    names = labels or tuple(f"LABEL_{index}" for index in range(count or 1))
    config.id2label = dict(enumerate(names))
    config.label2id = {label: index for index, label in enumerate(names)}
    config.problem_type = problem_type or ("single_label_classification" if len(names) > 1 else None)


def several_heads(config: PreTrainedConfig, name: str) -> str:
    """Why a fresh head cannot be asked of an `mtdnn`, and how it goes on."""
    return (
        f"{name} is an mtdnn of the tasks {', '.join(task[0] for task in config.tasks)}, each with its own head; go on "
        f"with --model mtdnn --set model.settings.encoder={name} and one or several data sets"
    )


def weights(
    path: str, config: PreTrainedConfig, seed: int, *, bare: bool = False, whole: bool = False, **options: Any
) -> tuple[PreTrainedModel, frozenset[str]]:
    """The classifier, or its `bare` encoder, and which weights are fresh: a head or pooler, and none if `whole`."""
    import torch
    from transformers import AutoModel, AutoModelForSequenceClassification

    kind = AutoModel if bare else AutoModelForSequenceClassification
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


def precision(dtype: str | torch.dtype | None) -> torch.dtype:
    """A torch dtype by its name; float32 when none is asked for."""
    import torch

    choices = {"float32": torch.float32, "float64": torch.float64, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if dtype is None or isinstance(dtype, torch.dtype):
        return dtype or torch.float32
    if dtype not in choices:
        raise InputError(f"expected a dtype, got {dtype}; {did_you_mean(dtype, choices)}")
    return choices[dtype]


def pad(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, name: str) -> None:
    """A decoder without a padding token pads with its end of text: its classifier reads the last token that is none."""
    if tokenizer.pad_token is None:
        if tokenizer.eos_token is None:
            raise InputError(
                f"the tokenizer of {name} has neither a padding nor an end token; set one and save it again"
            )
        tokenizer.pad_token = tokenizer.eos_token
    model.config.pad_token_id = tokenizer.pad_token_id


def bound(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, card: Card | None) -> None:
    """The most tokens that tokenizer, positions and card all allow."""
    limits = [tokenizer.model_max_length, positions(model), card.max_length if card else None]
    known = [limit for limit in limits if limit and 0 < limit < 10**6]
    tokenizer.model_max_length = min(known) if known else UNBOUNDED


def positions(model: PreTrainedModel) -> int | None:
    """How many positions the model has; RoBERTa's kind count theirs from the padding id + 1."""
    from torch.nn import Embedding

    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and isinstance(module, Embedding) and module.padding_idx is not None:
            return module.num_embeddings - module.padding_idx - 1
    return getattr(model.config, "max_position_embeddings", None)


@contextmanager
def quiet() -> Iterator[None]:
    """No load report and no progress bar from transformers: that the head is new is expected, the rest is checked."""
    import logging as levels

    from transformers.utils import logging

    level, bar = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity(levels.ERROR)
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bar:
            logging.enable_progress_bar()  # type: ignore[no-untyped-call]


@contextmanager
def refused(name: str) -> Iterator[None]:
    """What transformers cannot read becomes one line that names the model."""
    from safetensors import SafetensorError

    try:
        yield
    except InputError:
        raise
    except (OSError, ValueError, KeyError, ImportError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"cannot load the model {name}: {reason}") from error
