"""Models without pretraining, made for a tokenizer: build("textcnn", tokenizer, num_labels=4, vectors="glove")."""

import inspect
import math
from typing import Any, Literal

import numpy as np
import torch
from transformers import PreTrainedTokenizerBase

from uegr.errors import InputError, did_you_mean
from uegr.models import mtdnn  # noqa: F401  registers it with the Auto classes
from uegr.models import vectors as word_vectors
from uegr.models.bilstm import BiLSTMConfig, BiLSTMForSequenceClassification
from uegr.models.card import cards
from uegr.models.loaded import Loaded, bound, head, pad, precision, refused
from uegr.models.scratch import EMBEDDING_RANGE, ScratchClassifier, ScratchConfig
from uegr.models.textcnn import TextCNNConfig, TextCNNForSequenceClassification
from uegr.models.texthan import TextHANConfig, TextHANForSequenceClassification

ARCHITECTURES: dict[str, tuple[type[ScratchConfig], type[ScratchClassifier]]] = {
    "bilstm": (BiLSTMConfig, BiLSTMForSequenceClassification),
    "textcnn": (TextCNNConfig, TextCNNForSequenceClassification),
    "texthan": (TextHANConfig, TextHANForSequenceClassification),
}
SENTENCE_ENDS = (".", "!", "?", "。", "！", "？", "[SEP]")


def build(
    name: str,
    tokenizer: PreTrainedTokenizerBase,
    num_labels: int | None = None,
    *,
    labels: tuple[str, ...] | None = None,
    problem_type: Literal["regression"] | None = None,
    seed: int = 0,
    dtype: str | torch.dtype | None = None,
    vectors: str | None = None,
    **settings: Any,
) -> Loaded:
    """A fresh classifier for the tokenizer's vocabulary, its weights drawn from `seed`.

    `vectors` is a name or a file (see vectors.py); `settings` are the architecture's own, see `settings_of`.
    """
    if name not in ARCHITECTURES:
        raise InputError(f"no architecture {name}; {did_you_mean(name, ARCHITECTURES)}")
    with refused(name):
        config = configuration(name, tokenizer, settings)
        head(config, num_labels, labels, problem_type)
        pretrained = known_words(vectors, tokenizer) if vectors else None
        if pretrained:
            config.embedding_size = pretrained[0].shape[1]
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = ARCHITECTURES[name][1](config)
    if pretrained:
        fill(model, *pretrained)
    model.to(precision(dtype)).train(False)  # type: ignore[arg-type]
    pad(model, tokenizer, name)
    bound(model, tokenizer, cards()[name])
    return Loaded(model, tokenizer, name, cards()[name], frozenset(model.state_dict()))


def settings_of(name: str) -> dict[str, Any]:
    """The settings of an architecture, with their defaults.

    >>> settings_of("textcnn")
    {'windows': (3, 4, 5), 'filters': 100, 'embedding_size': 300, 'dropout': 0.5}
    """
    own, shared = (inspect.signature(kind).parameters.values() for kind in (ARCHITECTURES[name][0], ScratchConfig))
    from_tokenizer = ("vocab_size", "pad_token_id")
    return {
        each.name: each.default
        for each in (*own, *shared)
        if each.default is not inspect.Parameter.empty and each.name not in from_tokenizer
    }


def configuration(name: str, tokenizer: PreTrainedTokenizerBase, settings: dict[str, Any]) -> ScratchConfig:
    """The architecture's configuration for this vocabulary."""
    allowed = settings_of(name)
    for setting in settings:
        if setting not in allowed:
            raise InputError(f"{name} has no setting {setting}; {did_you_mean(setting, allowed)}")
    if "sentence_ends" in allowed and "sentence_ends" not in settings:
        known = tokenizer.get_vocab()
        settings = {**settings, "sentence_ends": [known[token] for token in SENTENCE_ENDS if token in known]}
    return ARCHITECTURES[name][0](vocab_size=len(tokenizer), pad_token_id=tokenizer.pad_token_id, **settings)


def known_words(vectors: str, tokenizer: PreTrainedTokenizerBase) -> tuple[np.ndarray, np.ndarray]:
    """The vectors of the vocabulary, (words, dimensions), and which of its words have one."""
    words = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    table, found = word_vectors.lookup(vectors, words)
    found[tokenizer.all_special_ids] = False
    if not found.any():
        raise InputError(f"none of the {len(words)} words of the vocabulary is in {vectors}; are they of one language?")
    return table, found


def fill(model: ScratchClassifier, table: np.ndarray, found: np.ndarray) -> None:
    """Put the vectors in, scaled as a whole to the spread of the random ones that the other words keep.

    Kim 2014 does the reverse; this way a perturbation of a given size means the same with any vectors.
    """
    scale = EMBEDDING_RANGE / math.sqrt(3) / max(float(table[found].std()), 1e-12)
    weight = model.encoder.embeddings.weight
    with torch.no_grad():
        weight[torch.from_numpy(found)] = torch.from_numpy(table[found] * scale)
