"""Batches of texts of about the same length, or of all classes, in an order that depends on seed and epoch alone.

transformers' own LengthGroupedSampler draws from the global generator, so that a resumed run would see another order.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Sampler

MEGABATCH = 50  # batches shuffled together before they are sorted by length


class GroupedByLength(Sampler[int]):
    """Shuffles all rows, then sorts by length within groups of 50 batches; the longest batch comes first.

    >>> sampler = GroupedByLength([1, 9, 5, 7], batch_size=2, seed=0, epoch=lambda: 0)
    >>> [sampler.lengths[row] for row in sampler]
    [9, 7, 5, 1]
    """

    def __init__(
        self, lengths: Sequence[int] | np.ndarray, batch_size: int, seed: int, epoch: Callable[[], int]
    ) -> None:
        self.lengths, self.batch_size, self.seed, self.epoch = lengths, batch_size, seed, epoch

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        for part in self.order().split(1_000_000):  # a list of all rows of a large file would be large itself
            yield from part.tolist()

    def order(self) -> Tensor:
        """All rows, batch after batch; what fills no batch comes last."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch())
        lengths = torch.as_tensor(self.lengths)
        shuffled = torch.randperm(len(lengths), generator=generator)
        whole = len(shuffled) // (MEGABATCH * self.batch_size) * MEGABATCH * self.batch_size
        groups = [shuffled[:whole].view(-1, MEGABATCH * self.batch_size), shuffled[whole:].view(1, -1)]
        rows = torch.cat([longest_first(group, lengths).flatten() for group in groups])
        full = len(rows) // self.batch_size * self.batch_size
        batches = rows[:full].view(-1, self.batch_size)
        batches = batches[torch.randperm(len(batches), generator=generator)]
        if len(batches):  # out of memory shows at once
            longest = int(lengths[batches[:, 0]].argmax())
            batches[[0, longest]] = batches[[longest, 0]]
        return torch.cat([batches.flatten(), rows[full:]])


def longest_first(groups: Tensor, lengths: Tensor) -> Tensor:
    """The rows of each group, (groups, rows), by falling length."""
    return groups.gather(1, lengths[groups].argsort(dim=1, descending=True, stable=True))


class Balanced(Sampler[int]):
    """As many rows as there are, the classes in turn: any rows in succession hold each class equally often, within 1.

    A class with few rows repeats them within an epoch; of one with many, every epoch takes others. RIFT's release
    trains on such batches, since its contrast is within a class.

    >>> sampler = Balanced([0, 0, 0, 0, 0, 1], seed=0, epoch=lambda: 0)
    >>> sorted(sampler.labels[row] for row in sampler)
    [0, 0, 0, 1, 1, 1]
    """

    def __init__(self, labels: Sequence[int] | np.ndarray, seed: int, epoch: Callable[[], int]) -> None:
        self.labels, self.seed, self.epoch = labels, seed, epoch

    def __len__(self) -> int:
        return len(self.labels)

    def __iter__(self) -> Iterator[int]:
        yield from self.order().tolist()

    def order(self) -> Tensor:
        """The classes take turns, in an order drawn for the epoch; each gives its rows shuffled, again and again."""
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch())
        labels = torch.as_tensor(self.labels)
        classes = labels.unique()
        turns = classes[torch.randperm(len(classes), generator=generator)]
        each = -(-len(labels) // max(len(classes), 1))
        columns = [repeated((labels == one).nonzero().flatten(), each, generator) for one in turns]
        return torch.stack(columns, 1).flatten()[: len(labels)] if columns else labels.new_zeros(0)


def repeated(rows: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """This many of the rows: shuffled, and shuffled again when all were used."""
    rounds = -(-count // len(rows))
    drawn = [rows[torch.randperm(len(rows), generator=generator)] for _ in range(rounds)]
    return torch.cat(drawn)[:count]
