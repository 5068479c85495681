"""What a model says of texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from uegr.errors import InputError
from uegr.evaluation.batches import Progress, Text, batches, evaluating
from uegr.pieces.embedding import unwrapped


def is_regression(model: nn.Module) -> bool:
    """The model gives one value, not scores of classes."""
    config: Any = unwrapped(model).config
    return bool(config.num_labels == 1 or config.problem_type == "regression")


def probabilities(
    model: nn.Module,
    tokenizer: Any,
    texts: Sequence[Text],
    *,
    batch_size: int = 64,
    max_length: int | None = None,
    progress: Progress | None = None,
) -> np.ndarray:
    """Each class's probability, (rows, classes), in the order of the texts or pairs; a regression's values, (rows, 1).

    Dropout is off; afterwards the model is in the mode it was in. `progress(done, rows)` is called after each batch.
    """
    config: Any = unwrapped(model).config
    result = np.zeros((len(texts), config.num_labels))
    with evaluating(model), torch.inference_mode():
        for rows, batch in batches(
            model, tokenizer, texts, batch_size=batch_size, max_length=max_length, progress=progress
        ):
            result[rows] = scores(model, model(**batch).logits).cpu().numpy()
    wrong = np.flatnonzero(~np.isfinite(result).all(1))
    if len(wrong):
        raise InputError(
            f"the model's output for row {wrong[0]} is not a number ({len(wrong)} of {len(texts)} rows); "
            "its weights are damaged or its training diverged"
        )
    return result


def scores(model: nn.Module, logits: Tensor) -> Tensor:
    """Probabilities in float64, where confident ones still differ; a regression's values as they are."""
    config: Any = unwrapped(model).config
    if is_regression(model):
        return logits.double()
    if config.problem_type == "multi_label_classification":
        return logits.double().sigmoid()
    return logits.double().softmax(-1)
