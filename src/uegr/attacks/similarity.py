"""Sentence embeddings for constraints on meaning: the mean of an encoder's last states, as all-MiniLM-L6-v2 is used."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor


@lru_cache(maxsize=2)
def sentence_encoder(name: str = "minilm") -> Callable[[list[str]], Tensor]:
    """texts -> vectors (n, d) of a model alias, folder or hub name; cosine similarity is the reader's part."""
    from uegr.models import load

    loaded = load(name, num_labels=2)  # the head is not used
    model, tokenizer = loaded.model.base_model.eval(), loaded.tokenizer
    return lambda texts: embedded(texts, model, tokenizer)


@torch.inference_mode()
def embedded(texts: list[str], model: Any, tokenizer: Any, rows: int = 64) -> Tensor:
    """Mean over tokens of the last hidden states, in batches of nearly equal length: (n, d)."""
    order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
    vectors: list[Tensor] = [torch.empty(0)] * len(texts)
    for start in range(0, len(order), rows):
        chosen = order[start : start + rows]
        batch = tokenizer([texts[at] for at in chosen], padding=True, truncation=True, return_tensors="pt")
        states = model(**batch.to(model.device)).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1)
        means = (states * mask).sum(1) / mask.sum(1).clamp(min=1)
        for at, vector in zip(chosen, means.cpu(), strict=True):
            vectors[at] = vector
    return torch.stack(vectors)
