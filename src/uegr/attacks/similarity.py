"""Sentence embeddings for constraints on meaning: the mean of an encoder's last states, as all-MiniLM-L6-v2 is used."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from uegr.models.texts import batches, evaluating
from uegr.pieces.embedding import token_mask


@lru_cache(maxsize=2)
def sentence_encoder(name: str = "minilm") -> Callable[[list[str]], Tensor]:
    """texts -> vectors (n, d) of a model alias, folder or hub name; the caller computes cosine similarities."""
    from uegr.models import load

    loaded = load(name, num_labels=2)  # the head is not used
    model, tokenizer = loaded.model.base_model, loaded.tokenizer
    return lambda texts: embedded(texts, model, tokenizer)


@torch.inference_mode()
def embedded(texts: list[str], model: Any, tokenizer: Any, rows: int = 64) -> Tensor:
    """Mean over tokens of the last hidden states: (n, d)."""
    vectors: list[Tensor] = [torch.empty(0)] * len(texts)
    with evaluating(model, backward=False):
        for places, batch in batches(model, tokenizer, texts, batch_size=rows):
            mask = token_mask(batch).unsqueeze(-1)
            means = (model(**batch).last_hidden_state * mask).sum(1) / mask.sum(1)
            for place, vector in zip(places, means.cpu(), strict=True):
                vectors[place] = vector
    return torch.stack(vectors)
