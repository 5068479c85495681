"""Tiny random models and batches for them: no network, no data, the same weights every time."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    AutoModelForSequenceClassification,
    BertConfig,
    BertForTokenClassification,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedConfig,
    PreTrainedModel,
)

from uegr.models.lora import library
from uegr.models.textcnn import TextCNNConfig

Batch = dict[str, Tensor]
Kind = tuple[Callable[..., PreTrainedConfig], dict[str, Any]]

VOCABULARY, SEPARATOR = 40, 3  # ids from 5 on are words
SIZE: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
KINDS: dict[str, Kind] = {
    "bert": (BertConfig, SIZE),
    "gpt2": (
        GPT2Config,
        {"n_embd": 16, "n_layer": 2, "n_head": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2},
    ),
    "textcnn": (TextCNNConfig, {"embedding_size": 16, "filters": 8}),
}
LENGTHS = (6, 3, 6, 5, 2, 6, 4, 5)  # eight examples of six positions, padded on the right


def built(kind: Kind, labels: int = 2, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """A classifier of this kind, always with the same weights.

    >>> built(KINDS["bert"], labels=3).config.num_labels
    3
    """
    config, values = kind
    family: Any = AutoModelForSequenceClassification
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = family.from_config(config(vocab_size=VOCABULARY, num_labels=labels, **values))
    return model.to(dtype)  # type: ignore[no-any-return]


def classifier(
    family: str = "bert", labels: int = 3, *, dropout: bool = True, dtype: torch.dtype = torch.float32
) -> nn.Module:
    """A model whose predictions differ between examples; attention probabilities are never dropped."""
    return spread_out(without_dropout(built(KINDS[family], labels, dtype), attention_only=dropout))


def tagger() -> nn.Module:
    """Token classification with three classes."""
    family: Any = BertForTokenClassification
    model = family(built(KINDS["bert"], labels=3).config)
    return spread_out(without_dropout(model, attention_only=True))


def writer() -> nn.Module:
    """A causal language model whose head is tied to its word vectors."""
    family: Any = GPT2LMHeadModel
    model = family(built(KINDS["gpt2"]).config)
    return spread_out(without_dropout(model, attention_only=True))


def adapted(family: str = "bert") -> nn.Module:
    """A LoRA model: the base is frozen; the adapters and the head train."""
    peft = library()
    targets = {"bert": ["query", "value"], "gpt2": ["c_attn"]}[family]
    config = peft.LoraConfig(
        task_type="SEQ_CLS", r=2, target_modules=targets, lora_dropout=0.1, fan_in_fan_out=family == "gpt2"
    )
    return spread_out(peft.get_peft_model(classifier(family), config))


def spread_out(model: nn.Module) -> nn.Module:
    """Move the weights away from a fresh model's, whose logits are almost equal; also those that LoRA sets to zero."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
                weight.add_(noise.to(weight.dtype) * 0.2)
    return model.train()


def without_dropout(model: PreTrainedModel, *, attention_only: bool) -> PreTrainedModel:
    """Set the rate of every dropout, or only of those on attention probabilities, to 0."""
    for name in ("attention_probs_dropout_prob", "attn_pdrop"):
        if name in model.config.to_dict():
            setattr(model.config, name, 0.0)
    for name, module in model.named_modules():
        if isinstance(module, nn.Dropout) and (not attention_only or name.endswith(("self.dropout", "attn_dropout"))):
            module.p = 0.0
    return model


def batch_for(model: Any, labels: int = 3, seed: int = 1) -> Batch:
    """Eight examples, with the labels of a classification or (labels=1) the targets of a regression."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, VOCABULARY, (len(LENGTHS), max(LENGTHS)), generator=generator)
    mask = torch.tensor([[int(t < length) for t in range(max(LENGTHS))] for length in LENGTHS])
    ids = torch.where(mask == 1, ids, model.config.pad_token_id)
    if labels == 1:
        target = torch.randn(len(LENGTHS), generator=generator, dtype=next(model.parameters()).dtype)
    else:
        target = torch.randint(0, labels, (len(LENGTHS),), generator=generator)
    return {"input_ids": ids, "attention_mask": mask, "labels": target}


def token_labels(batch: Batch, classes: int | None) -> Batch:
    """The batch with one label per token (its own id for a causal model), none on padding and on first tokens."""
    labels = batch["input_ids"] if classes is None else batch["input_ids"] % classes
    labels = torch.where(batch["attention_mask"] == 1, labels, -100)
    labels[:, 0] = -100
    return batch | {"labels": labels}


def key_words(size: int, seed: int) -> Batch:
    """Texts whose class is decided by one of two words at any position."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(10, VOCABULARY, (size, 6), generator=generator)
    labels = torch.randint(0, 2, (size,), generator=generator)
    ids[torch.arange(size), torch.randint(0, 4, (size,), generator=generator)] = 5 + labels
    ids[::3, 4:] = 0
    return {"input_ids": ids, "attention_mask": (ids != 0).long(), "labels": labels}


def substitutes() -> tuple[Tensor, Tensor, None, None, int]:
    """What `uegr.attacks.vocabulary.tables` gives, for the tiny models: each word from 10 on has the next two, every
    third none; 5 to 9, the key words, none. The separator is a token that no batch has: all texts are single.
    """
    ids = torch.arange(VOCABULARY).unsqueeze(1) + torch.arange(3)
    ids = torch.where(ids < VOCABULARY, ids, ids - 30)
    alone = (torch.arange(VOCABULARY) < 10) | (torch.arange(VOCABULARY) % 3 == 0)
    return ids, torch.arange(3).eq(0) | ~alone.unsqueeze(1), None, None, SEPARATOR
