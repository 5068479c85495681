"""A loaded classifier, and what every way of loading one does: labels, precision, padding, bounds, errors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from uegr.errors import InputError, did_you_mean
from uegr.models.card import Card

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
    """What transformers cannot read becomes one line that names the model; a received folder may hold anything."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if "trust_remote_code=True" in str(error):
            raise InputError(
                f"the model {name} brings its own Python code, which is not run; read it, and if you trust its author, "
                "use --trust-remote-code (in Python: trust_remote_code=True)"
            ) from error
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise InputError(f"cannot load the model {name}: {reason}") from error
