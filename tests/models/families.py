"""Every family of classifiers as a tiny random model, for tests that must hold for all of them.

    model, vocabulary = tiny("roberta", num_labels=3, dtype=torch.float64)

Ids from 5 to vocabulary - 1 are words in every family; `model.config.pad_token_id` pads.
XLNet wants padding on the left (its summary is the last position) and calls its input embedding on ids of the shape
(T, B); every other family calls it on (B, T). Llama and Qwen2 have no dropout site.
"""

from collections.abc import Callable

import torch
from transformers import (
    AlbertConfig,
    BertConfig,
    DebertaConfig,
    DebertaV2Config,
    DistilBertConfig,
    ElectraConfig,
    LlamaConfig,
    ModernBertConfig,
    MPNetConfig,
    PreTrainedConfig,
    PreTrainedModel,
    Qwen2Config,
    RobertaConfig,
    XLNetConfig,
)

from uegr.models.bilstm import BiLSTMConfig
from uegr.models.mtdnn import MTDNNConfig
from uegr.models.texthan import TextHANConfig
from uegr.testing.models import KINDS, SIZE, VOCABULARY, built

GROUPED = {**SIZE, "num_key_value_heads": 1, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
RELATIVE = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "max_position_embeddings": 64}


def mtdnn(vocab_size: int, num_labels: int, **values) -> MTDNNConfig:
    """One task: a text's class by the summary head, or its number."""
    encoder = BertConfig(vocab_size=vocab_size, **SIZE).to_dict()
    labels = [f"label {number}" for number in range(num_labels)]
    task = ["task", "regression", None] if num_labels == 1 else ["task", "single", labels]
    kind = "regression" if num_labels == 1 else None
    return MTDNNConfig(encoder=encoder, tasks=[task], num_labels=num_labels, problem_type=kind, **values)


FAMILIES: dict[str, tuple[Callable[..., PreTrainedConfig], dict]] = {
    "bert": KINDS["bert"],
    "roberta": (RobertaConfig, {**SIZE, "max_position_embeddings": 66, "pad_token_id": 1}),
    "albert": (AlbertConfig, {**SIZE, "embedding_size": 8, "hidden_dropout_prob": 0.1, "classifier_dropout_prob": 0.1}),
    "xlnet": (XLNetConfig, {"d_model": 16, "n_layer": 2, "n_head": 2, "d_inner": 24, "pad_token_id": 3}),
    "electra": (ElectraConfig, {**SIZE, "embedding_size": 8}),
    "deberta": (DebertaConfig, {**SIZE, **RELATIVE}),
    "deberta-v2": (DebertaV2Config, {**SIZE, **RELATIVE, "position_buckets": 8, "norm_rel_ebd": "layer_norm"}),
    "modernbert": (
        ModernBertConfig,
        {
            **SIZE,
            "pad_token_id": 0,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "cls_token_id": 1,
            "sep_token_id": 2,
            "classifier_dropout": 0.1,
        },
    ),
    "distilbert": (DistilBertConfig, {"dim": 16, "hidden_dim": 24, "n_layers": 2, "n_heads": 2}),
    "mpnet": (MPNetConfig, {**SIZE, "max_position_embeddings": 66}),
    "gpt2": KINDS["gpt2"],
    "llama": (LlamaConfig, GROUPED),
    "qwen2": (Qwen2Config, GROUPED),
    "bilstm": (BiLSTMConfig, {"embedding_size": 16, "hidden_size": 8}),
    "textcnn": KINDS["textcnn"],
    "texthan": (
        TextHANConfig,
        {"embedding_size": 16, "hidden_size": 8, "attention_size": 8, "sentence_ends": [3], "sentence_length": 6},
    ),
    "mtdnn": (mtdnn, {"pad_token_id": 0, "sep_token_id": 3}),
}


def tiny(family: str, num_labels: int = 2, dtype: torch.dtype = torch.float32) -> tuple[PreTrainedModel, int]:
    """A model of the family, always with the same weights, and the size of its vocabulary."""
    return built(FAMILIES[family], num_labels, dtype), VOCABULARY
