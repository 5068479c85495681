"""How fluent a text is to a causal language model: the language-model constraint of the genetic attack."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from uegr.errors import InputError

Fluency = Callable[[list[str]], Tensor]


def named(name: str, *, total: bool = False) -> Fluency:
    """`fluency` by a causal model of this alias, folder or hub name."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from uegr.models.huggingface import locate
    from uegr.models.loaded import quiet, refused

    place = locate(name)
    with quiet(), refused(name):
        model: Any = AutoModelForCausalLM.from_pretrained(place.path, local_files_only=place.local)
        tokenizer: Any = AutoTokenizer.from_pretrained(place.path, local_files_only=place.local)
    tokenizer.pad_token = tokenizer.pad_token or tokenizer.eos_token
    return fluency(model, tokenizer, total=total)


def fluency(model: Any, tokenizer: Any, rows: int = 32, max_length: int = 512, *, total: bool = False) -> Fluency:
    """texts -> mean log-probability of a token (n,), higher is more fluent; for `Genetic(fluency=...)`.

    `total` sums over the tokens, for `Genetic(within=...)`. Of a text, the first `max_length` - 1 tokens count.
    """
    if tokenizer.pad_token_id is None:
        raise InputError("expected a tokenizer with a padding token; set tokenizer.pad_token = tokenizer.eos_token")
    model.eval()
    return lambda texts: torch.cat(
        [
            log_probability(texts[at : at + rows], model, tokenizer, max_length, total)
            for at in range(0, len(texts), rows)
        ]
    )


@torch.inference_mode()
def log_probability(texts: list[str], model: Any, tokenizer: Any, max_length: int, total: bool = False) -> Tensor:
    """Of each text after a start token, as a mean over its tokens or their sum; 0 for one without tokens: (n,)."""
    start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
    ids = [
        tokenizer(text, truncation=True, max_length=max_length - 1, add_special_tokens=False).input_ids
        for text in texts
    ]
    longest = max(len(row) for row in ids)
    full = torch.tensor([[start, *row, *[tokenizer.pad_token_id] * (longest - len(row))] for row in ids])
    mask = torch.tensor([[1] * (1 + len(row)) + [0] * (longest - len(row)) for row in ids])
    logits = model(input_ids=full.to(model.device), attention_mask=mask.to(model.device)).logits.float().cpu()
    losses = cross_entropy(logits[:, :-1].transpose(1, 2), full[:, 1:], reduction="none") * mask[:, 1:]
    return -losses.sum(1) / (1 if total else mask[:, 1:].sum(1).clamp(min=1))
