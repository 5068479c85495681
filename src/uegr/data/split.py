"""Splits by a hash of the text: the same on every machine, and no text in two splits."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

from uegr.cache import key_of
from uegr.data.source import Row, Source


def normal(text: str, pair: str | None = None) -> str:
    """The normal form of a text: two texts that differ only in case and white space share it.

    >>> normal(" A  film\\n", "B") == normal("a film", "b") != normal("a film b")
    True
    """
    folded = " ".join(text.casefold().split())
    return folded if pair is None else folded + "\x1f" + " ".join(pair.casefold().split())


def text_hash(text: str, pair: str | None = None) -> int:
    """64 bits of the normal text: enough to tell 5 million rows apart, and the same on every machine."""
    digest = hashlib.blake2b(normal(text, pair).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=False)


def places(hashes: Iterable[int], sizes: dict[str, int], rest: str) -> list[str]:
    """The split of every row: groups of equal hash, in hash order, each into the first split with room for all of it.

    >>> places([7, 3, 3, 5], {"test": 1, "validation": 2}, "train")
    ['train', 'validation', 'validation', 'test']
    """
    groups = defaultdict(list)
    for index, value in enumerate(hashes):
        groups[value].append(index)
    room = dict(sizes)
    split_of = [rest] * sum(map(len, groups.values()))
    for value in sorted(groups):
        group = groups[value]
        target = next((name for name, free in room.items() if free >= len(group)), None)
        if target is not None:
            room[target] -= len(group)
            for index in group:
                split_of[index] = target
    return split_of


def cut(sources: list[Source], sizes: dict[str, int], rest: str) -> dict[str, Source]:
    """The rows of all sources together, cut into `sizes` and the `rest`."""

    def pooled() -> Iterator[Row]:
        for source in sources:
            yield from source.read()

    @cache
    def split_of() -> list[str]:
        return places((text_hash(row.text, row.pair) for row in pooled()), sizes, rest)

    def part(name: str) -> Source:
        first = sources[0]
        return Source(
            name=" and ".join(source.name for source in sources),
            key=key_of("cut", [source.key for source in sources], list(sizes.items()), rest, name),
            read=lambda: (row for row, split in zip(pooled(), split_of(), strict=True) if split == name),
            paired=first.paired,
            labelled=all(source.labelled for source in sources),
            unit=first.unit,
        )

    return {name: part(name) for name in [rest, *sizes]}
