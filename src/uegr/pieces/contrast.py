"""InfoNCE: which of the batch's clean features belongs to an adversarial one?

    f_y(a, b) = <g1_y(a), g2_y(b)> / (tau ||g1_y(a)|| ||g2_y(b)||)                          RIFT, below lemma 1
    L = E_y [ (1/N) sum_i -log( e^{f_y(s_i, t_i)} / sum_j e^{f_y(s_i, t_j)} ) - log N ]     RIFT eq. 10

i and j run over the N examples of one class y of the batch; -L is a lower bound of the mutual information of s and t
given the class. E_y weighs a class by its share of the batch. One class for all gives the unconditional bound.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize


def cosine_scores(first: Tensor, second: Tensor, temperature: float) -> Tensor:
    """f of every pair, (n, n): rows are the first's."""
    return normalize(first, dim=-1) @ normalize(second, dim=-1).T / temperature


def info_nce(scores: Tensor) -> Tensor:
    """-log softmax of the diagonal, row by row, minus log n: (n,).

    >>> info_nce(torch.zeros(4, 4)).abs().max().item() < 1e-6  # nothing told apart: no information
    True
    """
    return scores.logsumexp(-1) - scores.diagonal() - math.log(len(scores))


def perceptron(size: int, hidden: int, output: int) -> nn.Sequential:
    """One projection g."""
    return nn.Sequential(nn.Linear(size, hidden), nn.ReLU(), nn.Linear(hidden, output))


class Projections(nn.Module):
    """The projections g1 (of the trained model's features) and g2 (of the pretrained one's) of every class."""

    def __init__(self, classes: int, size: int, hidden: int, output: int, temperature: float) -> None:
        super().__init__()
        self.trained = nn.ModuleList(perceptron(size, hidden, output) for _ in range(classes))
        self.pretrained = nn.ModuleList(perceptron(size, hidden, output) for _ in range(classes))
        self.temperature = temperature

    def forward(self, trained: Tensor, pretrained: Tensor, labels: Tensor) -> Tensor:
        """L from features (examples, size) and the examples' classes (examples,).

        A class that the batch lacks gets a zero gradient, not none, so that all processes reduce the same parameters.
        """
        dtype = next(self.parameters()).dtype
        total = torch.zeros((), dtype=dtype, device=trained.device)
        for label, (first, second) in enumerate(zip(self.trained, self.pretrained, strict=True)):
            rows = (labels == label).nonzero().squeeze(-1)
            scores = cosine_scores(first(trained[rows].to(dtype)), second(pretrained[rows].to(dtype)), self.temperature)
            total = total + (info_nce(scores).sum() if len(rows) else scores.sum())
        return total / len(labels)
