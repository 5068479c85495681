"""A radius relative to the vectors that it moves, so that one number suits models with short and with long vectors.

    radius_i = epsilon * mean over the tokens t of example i of ||x_t||

The mean is over the example's own tokens, not over the embedding table: a table also has the rows of words that never
occur, a model trained from scratch changes it while it learns, and a mean over all of it would cost time at each step.
So the radius of an example does not depend on the other examples, and costs nothing. ||.|| is the Euclidean length, or
the largest entry where the perturbation is measured so (`max`, `sign`). `norm="matrix"` has one radius per batch.
"""

import torch
from torch import Tensor, nn

from uegr.pieces.embedding import Batch, embedding_layer, token_mask
from uegr.pieces.perturbation import Norm, length


@torch.no_grad()
def word_vectors(model: nn.Module, batch: Batch) -> Tensor:
    """The vectors that the embedding layer gives the batch's tokens, (examples, tokens, dimensions); no hook runs."""
    vectors: Tensor = embedding_layer(model).forward(batch["input_ids"])
    return vectors


def mean_length(vectors: Tensor, batch: Batch, norm: Norm) -> Tensor:
    """The mean length of each example's vectors (examples, tokens, dimensions) without padding, (examples, 1, 1).

    >>> batch = {"input_ids": torch.tensor([[5, 6, 0]]), "attention_mask": torch.tensor([[1, 1, 0]])}
    >>> mean_length(torch.tensor([[[3.0, 4.0], [0.0, 1.0], [9.0, 9.0]]]), batch, "example").item()
    3.0
    """
    mask = token_mask(batch).to(vectors.dtype).unsqueeze(-1)
    lengths = length(vectors, "max" if norm in ("max", "sign") else "token") * mask
    dims = (0, 1, 2) if norm == "matrix" else (1, 2)
    return lengths.sum(dims, keepdim=True) / mask.sum(dims, keepdim=True).clamp(min=1)
