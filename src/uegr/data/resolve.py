"""From what the user named to sources of rows, one per split."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from uegr.data.card import Card, card
from uegr.data.local import Reading
from uegr.data.package import package_source
from uegr.data.source import Source, signs, without
from uegr.data.split import cut


@dataclass(frozen=True)
class Found:
    name: str
    sources: dict[str, Source]
    card: Card | None = None


def resolve(
    source: str | os.PathLike[str] | Mapping[str, str | os.PathLike[str]], reading: Reading, paper_split: bool
) -> Found:
    """The sources of a card, a file, a folder or a mapping."""
    known = card(str(source))
    return Found(known.name, packaged(known), known)


def packaged(known: Card) -> dict[str, Source]:
    """The splits of a card whose rows travel in a registry package."""
    assert known.where.package is not None
    whole = edited(known, package_source(known, known.where.package))
    if known.hash_split:
        return cut([whole], known.hash_split, "train")
    return dict.fromkeys(known.splits, whole)


def edited(known: Card, source: Source) -> Source:
    """The source with the card's rules for labels applied."""
    if known.drop:
        source = without(source, known.drop)
    return source if known.threshold is None else signs(source, known.threshold)
