"""The quantile of every entry of many tensors among all entries: exactly, or by a histogram in linear time.

The histogram runs over the leading bits of the floats (their exponent and nine bits of mantissa, so it is one of log
|x|) and gives every quantile within 1/1000, in one pass and no copy bigger than a block. A key that holds too many
entries for that is split by the bits below it, in one pass more. What is below 2^-135 counts as zero.
"""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

TALL = 4096  # rows of a matrix that may be an embedding
BLOCK = 1 << 18  # entries worked on at once: stays in the cache
SHIFT = 14  # float32 bits below the key: sign is gone, 8 bits of exponent and 9 of mantissa stay
KEYS = 1 << (31 - SHIFT)
CROWDED = 500  # a key with more than 1/500 of the entries puts some more than 1/1000 away from its middle


def blocks(tensor: Tensor) -> Iterator[Tensor]:
    """Views of at most BLOCK entries."""
    yield from tensor.view(-1).split(BLOCK) if tensor.numel() else ()


def busy_rows(values: Tensor) -> Tensor | None:
    """The rows of a tall matrix that are not all zero, where they are few: word vectors of the words in a batch.

    >>> busy_rows(torch.zeros(TALL, 2).index_fill(0, torch.tensor([7]), 1.0)).tolist()
    [7]
    """
    if values.dim() != 2 or len(values) < TALL:
        return None
    busy = (values.amax(1) != 0) | (values.amin(1) != 0)  # a tenth of the time of any() or a norm
    rows = busy.nonzero().squeeze(1)
    return rows if len(rows) < len(values) // 2 else None


def gathered(values: Sequence[Tensor]) -> Iterator[Tensor]:
    """All entries that are not in empty rows, small tensors joined: every piece has a price of its own."""
    waiting: list[Tensor] = []
    for value in values:
        rows = busy_rows(value)
        for block in blocks(value if rows is None else value[rows]):
            waiting.append(block)
            if sum(map(len, waiting)) >= BLOCK:
                yield torch.cat(waiting) if len(waiting) > 1 else block
                waiting = []
    if waiting:
        yield torch.cat(waiting)


def exact_quantile(values: Sequence[Tensor]) -> Callable[[Tensor], Tensor]:
    """value -> its quantile in [0, 1] among all entries, ties sharing the mean rank; 0 for what is below them all."""
    ordered = torch.cat([value.flatten() for value in values]).sort().values
    steps = max(len(ordered) - 1, 1)

    def quantile(value: Tensor) -> Tensor:
        below = torch.searchsorted(ordered, value)
        upto = torch.searchsorted(ordered, value, right=True)
        twice = (below + upto - 1).clamp_(min=0)
        return twice.to(torch.promote_types(value.dtype, torch.float32)) / (2 * steps)

    return quantile


def bits(values: Tensor) -> Tensor:
    """The magnitudes of floats as integers in the same order."""
    return values.to(torch.float32).view(torch.int32).bitwise_and(0x7FFFFFFF)


def keys(values: Tensor) -> Tensor:
    """The leading bits of the magnitudes."""
    return bits(values).bitwise_right_shift_(SHIFT)


def histogram(values: Sequence[Tensor], *, live: bool = False) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """The quantiles of all entries as a table, float64, and value -> its row: mid-rank of those that share the row.

    `live` leaves the zeros out: the quantiles are then those among the other entries.
    """
    counts = counted(values, keys, KEYS, live=live)
    crowded = counts > counts.sum() / CROWDED
    crowded[0] = False  # zeros: the word vectors of absent words
    if not crowded.any() or all(value.dtype == torch.bfloat16 for value in values):  # whose keys are all its bits
        return mid_ranks(counts), keys
    width = torch.where(crowded, 1 << SHIFT, 1)
    start = width.cumsum(0) - width

    def row(value: Tensor) -> Tensor:
        whole = bits(value)
        key = whole.bitwise_right_shift(SHIFT)
        below = whole.bitwise_and_((1 << SHIFT) - 1)
        return start.index_select(0, key) + below * crowded.index_select(0, key)

    return mid_ranks(counted(values, row, int(width.sum()), live=live)), row


def counted(values: Sequence[Tensor], row: Callable[[Tensor], Tensor], rows: int, *, live: bool) -> Tensor:
    """How many entries fall into each row; with `live` none into the first, that of the zeros."""
    counts = torch.zeros(rows, dtype=torch.int64, device=values[0].device)
    for block in gathered(values):
        counts += torch.bincount(row(block), minlength=rows)
    zeros = sum(value.numel() for value in values) - counts.sum()  # the entries of empty rows
    counts[0] = 0 if live else counts[0] + zeros
    return counts


def mid_ranks(counts: Tensor) -> Tensor:
    """The quantile in [0, 1] of the entries of each row, in the middle of their ranks."""
    upto = counts.cumsum(0)
    return (upto - (counts.double() + 1) / 2).clamp(min=0) / max(int(upto[-1]) - 1, 1)
