"""An MT-DNN over a pretrained encoder: built(tasks, encoder="minilm", steps=5)."""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    AutoConfig,
    AutoTokenizer,
    PreTrainedConfig,
)

from uegr.errors import InputError, did_you_mean
from uegr.models.card import DEFAULT, cards
from uegr.models.huggingface import locate, weights
from uegr.models.loaded import Loaded, bound, pad, precision, quiet, refused
from uegr.models.mtdnn import MTDNNConfig, MTDNNForSequenceClassification, Task
from uegr.models.regression import Scale, rescale

SETTINGS = ("steps", "prediction_dropout", "dropout")


def built(
    tasks: Sequence[Task],
    *,
    scales: Mapping[str, Scale] | None = None,
    encoder: str = DEFAULT,
    seed: int = 0,
    attention: str | None = None,
    dtype: str | torch.dtype | None = None,
    trust_remote_code: bool = False,
    **settings: Any,
) -> Loaded:
    """The encoder with a head for each task; `scales` are those of the regressions' labels.

    The encoder may be that of a finished `mtdnn`, which is then trained further: it keeps its settings and the heads of
    the tasks that it knows. All other heads are drawn from `seed`.
    """
    for setting in settings:
        if setting not in SETTINGS:
            raise InputError(f"mtdnn has no setting {setting}; {did_you_mean(setting, ('encoder', *SETTINGS))}")
    place = locate(encoder)
    source = {"trust_remote_code": trust_remote_code, "local_files_only": place.local}
    with quiet(), refused(encoder):
        config = AutoConfig.from_pretrained(place.path, **source)
        refuse_decoder(config, encoder)
        tokenizer = AutoTokenizer.from_pretrained(place.path, **source)
        options: dict[str, Any] = {"attn_implementation": attention, "dtype": precision(dtype), **source}
        if isinstance(config, MTDNNConfig):
            before: Any = weights(place.path, config, seed, whole=True, **options)[0]
            body, settings = before.encoder, {name: getattr(config, name) for name in SETTINGS} | settings
        else:
            before, body = None, weights(place.path, config, seed, bare=True, **options)[0]
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = MTDNNForSequenceClassification(configuration(body.config, tokenizer, tasks, settings), body)
    known = model.take_heads(before) if before else []
    for name, scale in (scales or {}).items():
        if name not in known:
            rescale(model.head(name).output, scale)
    model.to(precision(dtype)).train(False)  # type: ignore[arg-type]
    pad(model, tokenizer, encoder)
    bound(model, tokenizer, place.card)
    return Loaded(model, tokenizer, "mtdnn", cards()["mtdnn"])


def answering(model: Any, task: str) -> Any:
    """The model as it answers for one task: its head of that name, or the model itself where it has one head."""
    return model.for_task(task) if isinstance(model, MTDNNForSequenceClassification) else model


def configuration(
    encoder: PreTrainedConfig, tokenizer: Any, tasks: Sequence[Task], settings: dict[str, Any]
) -> MTDNNConfig:
    """The model's configuration around its encoder's."""
    own = {key: value for key, value in encoder.to_dict().items() if not key.startswith(("_", "transformers_"))}
    separator = tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id
    return MTDNNConfig(encoder=own, tasks=[tuple(task) for task in tasks], sep_token_id=separator, **settings)


def refuse_decoder(config: PreTrainedConfig, name: str) -> None:
    """Refuse a decoder, whose first token has seen no other, and XLNet, which summarises at the last token."""
    if type(config) in MODEL_FOR_CAUSAL_LM_MAPPING and type(config) not in MODEL_FOR_MASKED_LM_MAPPING:
        raise InputError(f"expected an encoder such as minilm for mtdnn, got {name}, a {config.model_type}")


def settings_of() -> dict[str, Any]:
    """The settings of mtdnn, with their defaults.

    >>> settings_of()
    {'encoder': 'minilm', 'steps': 5, 'prediction_dropout': 0.1, 'dropout': 0.1}
    """
    known = inspect.signature(MTDNNConfig).parameters
    return {"encoder": DEFAULT, **{name: known[name].default for name in SETTINGS}}
