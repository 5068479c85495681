"""From what the user named to sources of rows, one per split."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uegr.cache import key_of, remembered
from uegr.data import arrow, hub
from uegr.data.card import Card, names
from uegr.data.card import card as read_card
from uegr.data.local import Reading, columns_of, file_source, split_files, suffix_of
from uegr.data.package import package_source
from uegr.data.source import Source, signs, without
from uegr.data.split import cut
from uegr.errors import InputError, did_you_mean

Place = str | os.PathLike[str]


class NotFound(InputError):
    """No file, folder or data set has the name."""


@dataclass(frozen=True)
class Found:
    """Sources by split, and what is known about their labels."""

    name: str
    sources: dict[str, Source]
    card: Card | None = None
    labels: tuple[str, ...] | None = None


def resolve(source: Place | Mapping[str, Place], reading: Reading, paper_split: bool = False) -> Found:
    """The sources of a mapping, a file, a folder, a card, a folder below `$UEGR_DATA`, or a hub data set."""
    if isinstance(source, Mapping):
        files = {split: existing(path) for split, path in source.items()}
        return Found(next(iter(files.values())).stem.split(".")[0], read_all(files, reading))
    path = Path(source)
    if path.is_file():
        return Found(path.name.split(".")[0], {"train": file_source(path, reading)})
    if path.is_dir() and (files := split_files(path)):
        return Found(path.resolve().name, read_all(files, reading))
    if (card := card_of(source)) is not None:
        return from_card(card, paper_split)
    return from_name(str(source), reading)


def card_of(source: Place) -> Card | None:
    """The card that a name means; a file or a folder of that name comes first."""
    path = Path(source)
    local = path.is_file() or (path.is_dir() and split_files(path))
    return read_card(str(source)) if str(source) in names() and not local else None


def existing(path: Place) -> Path:
    if not Path(path).is_file():
        raise InputError(f"there is no file {path}")
    return Path(path)


def read_all(files: Mapping[str, Path], reading: Reading) -> dict[str, Source]:
    return {split: file_source(path, reading) for split, path in files.items()}


def data_root() -> Path | None:
    """`$UEGR_DATA`, where it is set."""
    return Path(os.environ["UEGR_DATA"]) if os.environ.get("UEGR_DATA") else None


def card_files(card: Card) -> dict[str, Path]:
    """The card's files that are there, by split."""
    root = data_root()
    if root is None:
        return {}
    paths = {split: root / file_of(card, split) for split in card.splits}
    return {split: path for split, path in paths.items() if path.is_file()}


def from_card(card: Card, paper_split: bool) -> Found:
    """Package, `$UEGR_DATA` or hub, in this order; one data set never comes from two of them."""
    if card.where.package:
        whole = edited(card, package_source(card, card.where.package))
        sources = cut([whole], card.hash_split, "train") if card.hash_split else dict.fromkeys(card.splits, whole)
    else:
        sources = {split: edited(card, source) for split, source in raw_sources(card).items()}
    sources = as_in_the_paper(card, sources) if paper_split else sources
    return Found(card.name, sources, card, card.label_names)


def raw_sources(card: Card) -> dict[str, Source]:
    files = card_files(card)
    if files:
        named = card.columns
        return read_all(files, Reading(named.text, named.pair, named.label, keep=tuple(card.keep.items())))
    missing = file_of(card, next(iter(card.splits)))
    if card.where.hub is None:
        raise InputError(not_found(card.name, "the hub, which does not have it", missing))
    known = card.where.hub
    try:
        downloaded = hub.download(known.path, known.config)
    except InputError as error:
        raise InputError(not_found(card.name, f"the hub data set {known.path} ({error})", missing)) from None
    columns = (card.columns.text, card.columns.pair, card.columns.label)
    splits = known.splits or {split: split for split in card.splits}
    return {
        split: hub.hub_source(f"{known.path} {theirs}", downloaded[theirs], *columns)
        for split, theirs in splits.items()
        if theirs in downloaded
    }


def file_of(card: Card, split: str) -> str:
    """The split's file below `$UEGR_DATA`."""
    return card.where.files.get(split, f"{card.name}/{split}") + ".jsonl.gz"


def not_found(name: str, on_hub: str, file: str) -> str:
    """The three places that were tried, and what to do."""
    root = data_root()
    folder = f"{root / name}" if root else "$UEGR_DATA, which is not set"
    return (
        f"no data for {name!r}; tried the local path {name}, {folder}, and {on_hub}; "
        f"connect to the network, or put {file} into a folder and point UEGR_DATA at it"
    )


def edited(card: Card, source: Source) -> Source:
    """The source with the card's rules for labels applied."""
    if card.drop:
        source = without(source, card.drop)
    return source if card.threshold is None else signs(source, card.threshold)


def as_in_the_paper(card: Card, sources: dict[str, Source]) -> dict[str, Source]:
    """The card's other split; where only some rows are here, its sizes are reduced in proportion."""
    if card.paper is None:
        raise InputError(f"the papers use no other split of {card.name}; leave out --paper-split")
    pool = [sources[split] for split in card.paper.pool if split in sources]
    if len(pool) < len(card.paper.pool):
        raise InputError(
            f"the paper's split of {card.name} needs {' and '.join(card.paper.pool)}, and not all of them are here; "
            "leave out --paper-split"
        )
    key = key_of("count", arrow.VERSION, [source.key for source in pool])
    rows = remembered(key, lambda: sum(1 for source in pool for _ in source.read()))
    share = min(1.0, rows / sum(card.splits[split] for split in card.paper.pool))
    sizes = {split: round(size * share) for split, size in card.paper.sizes.items()}
    rest = {split: source for split, source in sources.items() if split not in card.paper.pool}
    return {**cut(pool, sizes, "train"), **rest}


def from_name(name: str, reading: Reading) -> Found:
    """A folder below `$UEGR_DATA` without a card, or `owner/name` (and `:config`) on the hub."""
    root = data_root()
    if root and not Path(name).is_absolute() and (root / name).is_dir() and (files := split_files(root / name)):
        return Found(Path(name).name, read_all(files, reading))
    path, _, config = name.partition(":")
    if not is_hub_name(name):
        raise NotFound(unknown(name))
    try:
        downloaded = hub.download(path, config or None)
    except InputError as error:
        raise InputError(not_found(name, f"the hub data set ({error})", f"{name}/train.jsonl.gz")) from None
    return from_hub(name, dict(downloaded), reading)


def is_hub_name(name: str) -> bool:
    """Whether a name may be one of the hub, such as `owner/name` or `owner/name:config`."""
    path = name.partition(":")[0]
    return (
        path.count("/") == 1 and not suffix_of(Path(path)) and not Path(name).is_absolute() and not Path(name).exists()
    )


def is_elsewhere(name: str) -> bool:
    """Whether the rows may have to be downloaded: those of a card, or of the hub."""
    return card_of(name) is not None or is_hub_name(name)


def unknown(name: str) -> str:
    path = Path(name)
    if path.is_dir():
        return f"{name} has no data: expected files such as train.csv, validation.csv, test.csv in it"
    if path.is_absolute():
        return f"there is no file or folder {name}"
    if path.suffix or "/" in name:
        remedy = "change to the folder that the path starts from, or give another path"
        return f"there is no file or folder {name} in {Path.cwd()}; {remedy}"
    return f"there is no file, folder or data set {name!r}; {did_you_mean(name, names())}"


def from_hub(name: str, downloaded: dict[str, Any], reading: Reading) -> Found:
    """A hub data set without a card: columns by their names, label names by features, hidden labels (-1) left out."""
    first = next(iter(downloaded.values()))
    used = columns_of(Path(name), list(first.column_names), reading)
    sources = {
        split: without(hub.hub_source(f"{name} {split}", rows, used.text, used.pair, used.label), (-1,))
        for split, rows in downloaded.items()
    }
    labels = hub.class_names(first, used.label) if used.label else None
    return Found(name.replace("/", "_"), sources, None, labels)
