"""A transformers classifier as a `predict` function: eval mode, sorted by length, padded to the longest of a batch."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uegr.attacks.search import Input
from uegr.attacks.shortcut import shortened
from uegr.errors import InputError

DECIMALS = 4  # of the logits: the same text in another batch differs by some 1e-6, and equals must stay equal


class Victim:
    """`victim(texts)` gives probabilities (n, classes).

    `tokens` bounds one forward pass (rows times longest): 2,048 on a CPU, where more falls out of its cache, 16,384
    elsewhere. `max_length` bounds a text. Logits are rounded to 4 decimals, so that two texts which are one to the
    tokenizer score alike in whatever batch, and a search can be repeated.
    """

    def __init__(self, model: Any, tokenizer: Any, *, tokens: int | None = None, max_length: int | None = None) -> None:
        if model.config.num_labels < 2:
            raise InputError("expected a classifier with at least 2 labels to attack, got a regression model")
        self.model, self.tokenizer = model, tokenizer
        self.tokens = tokens or (2048 if model.device.type == "cpu" else 16_384)
        self.max_length = max_length or min(tokenizer.model_max_length, 512)
        self.slice = 2048  # texts that one call should bring: they are tokenised together and sorted by true length
        self.rows, self.batches, self.seconds = 0, 0, 0.0  # of forward passes

    @property
    def unknown(self) -> str:
        """The word that stands for no word."""
        return str(self.tokenizer.unk_token or "[UNK]")

    def __call__(self, texts: Sequence[Input]) -> NDArray[np.float64]:
        encoded = self.encoded(texts)
        lengths = np.array([len(ids) for ids in encoded["input_ids"]])
        order = np.argsort(-lengths, kind="stable")
        found = np.empty((len(texts), self.model.config.num_labels))
        with evaluating(self.model), shortened(self.model):
            for batch in self.divided(order, lengths):
                found[batch] = self.forward({name: [rows[i] for i in batch] for name, rows in encoded.items()})
        return found

    def encoded(self, texts: Sequence[Input]) -> dict[str, list[list[int]]]:
        """Token ids and what goes with them, truncated, not padded."""
        sides = [list(texts)] if isinstance(texts[0], str) else [list(side) for side in zip(*texts, strict=True)]
        made = self.tokenizer(*sides, truncation=True, max_length=self.max_length, padding=False)
        return {name: made[name] for name in self.tokenizer.model_input_names if name in made}

    def divided(self, order: NDArray[np.int64], lengths: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
        """Batches of nearly equal lengths, the longest first, each within the bound of tokens."""
        start = 0
        while start < len(order):
            count = max(1, self.tokens // max(1, int(lengths[order[start]])))
            yield order[start : start + count]
            start += count

    def forward(self, columns: dict[str, list[list[int]]]) -> NDArray[np.float64]:
        """Probabilities of one batch."""
        batch = {name: self.padded(name, rows) for name, rows in columns.items()}
        start = time.perf_counter()
        with torch.inference_mode():
            logits = self.model(**batch).logits.double().cpu()
        self.seconds += time.perf_counter() - start
        self.rows, self.batches = self.rows + len(logits), self.batches + 1
        probabilities: NDArray[np.float64] = logits.round(decimals=DECIMALS).softmax(-1).numpy()
        return probabilities

    def padded(self, name: str, rows: list[list[int]]) -> Tensor:
        """(B, T) of one input, filled on the tokenizer's side."""
        fill = {"input_ids": self.tokenizer.pad_token_id or 0, "token_type_ids": self.tokenizer.pad_token_type_id}
        longest = max(1, *(len(row) for row in rows))
        padding = [[fill.get(name, 0)] * (longest - len(row)) for row in rows]
        left = self.tokenizer.padding_side == "left"
        full = [pad + row if left else row + pad for row, pad in zip(rows, padding, strict=True)]
        return torch.tensor(full, dtype=torch.long, device=self.model.device)


@contextmanager
def evaluating(model: Any) -> Iterator[None]:
    """Dropout off inside, and every module as it was afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode
