"""A transformers classifier as a `predict` function for an attack, read and batched by the rules of models/texts.py."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from uegr.attacks.search import Input
from uegr.attacks.shortcut import shortened
from uegr.errors import InputError
from uegr.models.texts import (
    WINDOW,
    batches,
    characters_read,
    device_of,
    evaluating,
    is_regression,
    length_limit,
    scores,
)

DECIMALS = (
    4  # of the calibrated logits: the same text in another batch differs by about 1e-6, and equal texts must stay equal
)


class Victim:
    """`victim(texts)` gives probabilities (n, classes).

    `tokens` bounds one forward pass (rows times longest): 2,048 on a CPU, where more falls out of its cache, 16,384
    elsewhere. `max_length` bounds a text; default: the tokenizer's own limit, as in training. `temperature` divides the
    logits: an over- or underconfident model misleads a search that reads probabilities (Raina et al. 2024). Then they
    are rounded to 4 decimals: texts with the same tokens score the same in any batch, and a search can be repeated.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        tokens: int | None = None,
        max_length: int | None = None,
        temperature: float = 1.0,
    ) -> None:
        if not temperature > 0:
            raise InputError(f"expected temperature > 0, got {temperature}")
        if is_regression(model):
            raise InputError("expected a classifier with at least 2 labels to attack, got a regression model")
        if model.config.problem_type == "multi_label_classification":
            raise InputError("expected a classifier with one label per text to attack, got a multi-label model")
        self.model, self.tokenizer, self.temperature = model, tokenizer, temperature
        self.tokens = tokens or (2048 if device_of(model).type == "cpu" else 16_384)
        self.max_length = length_limit(tokenizer, max_length)
        self.slice = 2048  # texts per call that are best: they are tokenised together and sorted by true length
        self.rows, self.batches, self.seconds = 0, 0, 0.0  # of forward passes

    @property
    def unknown(self) -> str:
        """The word that replaces a removed word."""
        return str(self.tokenizer.unk_token or "[UNK]")

    def __call__(self, texts: Sequence[Input]) -> NDArray[np.float64]:
        found = np.empty((len(texts), self.model.config.num_labels))
        sizes: dict[str, Any] = {"batch_size": WINDOW, "tokens": self.tokens, "max_length": self.max_length}
        with evaluating(self.model, backward=False), shortened(self.model), torch.inference_mode():
            for rows, batch in batches(self.model, self.tokenizer, texts, **sizes):
                found[rows] = self.forward(batch)
        return found

    def reads(self, text: Input, side: int) -> int | None:
        """How many characters of a text, or of one side of a pair, the model reads; None if all, or unknown."""
        return characters_read(self.tokenizer, text, self.max_length, side)

    def forward(self, batch: dict[str, Tensor]) -> NDArray[np.float64]:
        """Probabilities of one batch."""
        start = time.perf_counter()
        logits = self.model(**batch).logits.double().cpu()
        self.seconds += time.perf_counter() - start
        self.rows, self.batches = self.rows + len(logits), self.batches + 1
        probabilities: NDArray[np.float64] = scores(self.model, logits, DECIMALS, self.temperature).numpy()
        return probabilities
