"""Batches of texts of about the same length, in an order that depends on seed and epoch alone.

transformers' own LengthGroupedSampler draws from the global generator, so that a resumed run would see another order.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch.utils.data import Sampler

MEGABATCH = 50  # batches shuffled together before they are sorted by length


class GroupedByLength(Sampler[int]):
    """Shuffles all rows, then sorts by length within groups of 50 batches; the longest batch comes first.

    >>> sampler = GroupedByLength([1, 9, 5, 7], batch_size=2, seed=0, epoch=lambda: 0)
    >>> [sampler.lengths[row] for row in sampler]
    [9, 7, 5, 1]
    """

    def __init__(self, lengths: Sequence[int], batch_size: int, seed: int, epoch: Callable[[], int]) -> None:
        self.lengths, self.batch_size, self.seed, self.epoch = lengths, batch_size, seed, epoch

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch())
        order = torch.randperm(len(self.lengths), generator=generator)
        lengths = torch.tensor(self.lengths)
        batches: list[torch.Tensor] = []
        for group in order.split(MEGABATCH * self.batch_size):
            batches += group[lengths[group].argsort(descending=True, stable=True)].split(self.batch_size)
        if not batches:
            return
        whole = [batch for batch in batches if len(batch) == self.batch_size]
        rest = [batch for batch in batches if len(batch) < self.batch_size]
        shuffled = [whole[i] for i in torch.randperm(len(whole), generator=generator).tolist()] + rest
        longest = max(range(len(shuffled)), key=lambda i: int(lengths[shuffled[i]].max()))
        if len(shuffled[longest]) == self.batch_size:  # out of memory shows at once
            shuffled[0], shuffled[longest] = shuffled[longest], shuffled[0]
        for batch in shuffled:
            yield from batch.tolist()
