"""What is wrong with a data set: its sizes, repeats, leaks, empty, long and garbled texts, doubtful labels.

Only a wrong size and labels that training refuses fail: published sets do have repeats and leaks.
Every finding names its first rows, numbered from 1 in the order of the file or split; rows left out count too.
"""

import re
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from uegr.data.arrow import PIECE
from uegr.data.duplicates import NAMED, repeats, shared
from uegr.data.load import Data
from uegr.data.noise import doubts
from uegr.data.sanity import doubtful, unbalanced, unlearnable
from uegr.data.split import text_hash
from uegr.data.vocabulary import IDEOGRAPH

if TYPE_CHECKING:
    from datasets import Dataset

# The replacement character, C1 controls, zero bytes, and UTF-8 that was read as a western 8-bit encoding (é as Ã©).
GARBLED = re.compile("[\ufffd\x80-\x9f\x00]|[ÂÃ][\xa0-\xbf]|â€[\u0152-\u2122]|ï»¿")
UNLEARNABLE = "unlearnable"  # labels that training refuses
Status = Literal["complete", "partial", "absent", "wrong", "unknown"]


@dataclass(frozen=True)
class Size:
    """Rows that are there, and that should be."""

    split: str
    rows: int
    official: int | None
    status: Status
    note: str = ""


@dataclass(frozen=True)
class Finding:
    """One kind of thing in one split, and the first rows where it is."""

    kind: str
    split: str
    rows: int
    text: str
    first: tuple[int, ...] = ()


@dataclass(frozen=True)
class Report:
    """The outcome for one data set."""

    name: str
    sizes: tuple[Size, ...]
    findings: tuple[Finding, ...]
    passed: bool = field(init=False)

    def __post_init__(self) -> None:
        right = all(size.status != "wrong" for size in self.sizes)
        object.__setattr__(self, "passed", right and all(found.kind != UNLEARNABLE for found in self.findings))

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def check(data: Data, max_words: int = 512, noise: bool = True) -> Report:
    """Look through every split once, then compare the splits."""
    facts = {name: examine(dataset, max_words) for name, dataset in data.splits.items()}
    findings: list[Finding] = sanity_of(data)
    for name, dataset in data.splits.items():
        findings += texts_of(name, facts[name], max_words) + labels_of(name, facts[name], data)
        if noise and data.kind == "classification" and "label" in dataset.column_names:
            findings += noise_of(name, dataset, data.labels or (), data.numbers(name))
    findings += leaks_of(facts)
    return Report(data.name, sizes(data), (*dropped_of(data), *(as_in_the_file(one, data) for one in findings)))


def dropped_of(data: Data) -> list[Finding]:
    """The rows that `--drop-missing` leaves out."""
    return [
        Finding(
            "missing",
            name,
            len(rows),
            f"left out {len(rows):,} row{'s' * (len(rows) > 1)} without a label",
            tuple(rows[:NAMED]),
        )
        for name, rows in data.dropped.items()
        if rows and name in data.splits
    ]


def as_in_the_file(found: Finding, data: Data) -> Finding:
    """The finding with its rows numbered as in the file."""
    return (
        replace(found, first=tuple(data.numbers(found.split)[np.array(found.first) - 1].tolist()))
        if found.first
        else found
    )


def sanity_of(data: Data) -> list[Finding]:
    """What `uegr train` would refuse or warn of."""
    if line := unlearnable(data):
        return [Finding(UNLEARNABLE, "train", 0, line)]
    found = [Finding("labels", "train", 0, line) for line in doubtful(data)]
    return found + ([Finding("imbalance", "train", 0, line)] if (line := unbalanced(data)) else [])


@dataclass
class Facts:
    """What one pass over a split collects: a few bytes per row."""

    hashes: np.ndarray
    labels: np.ndarray | None
    empty: list[int]
    long: list[int]
    garbled: list[int]


def examine(dataset: "Dataset", max_words: int) -> Facts:
    """One pass; rows are numbered from 1."""
    columns = [name for name in ("text", "pair") if name in dataset.column_names]
    labelled = "label" in dataset.column_names
    hashes = np.empty(len(dataset), dtype=np.uint64)
    labels: list[float] = []
    facts = Facts(hashes, None, [], [], [])
    row = 0
    for batch in dataset.iter(batch_size=PIECE):
        labels += batch["label"] if labelled else []
        for texts in zip(*(batch[name] for name in columns), strict=True):
            hashes[row] = text_hash(*texts)
            row += 1
            note_texts(facts, row, texts, max_words)
    facts.labels = np.array(labels) if labelled else None
    return facts


def note_texts(facts: Facts, row: int, texts: tuple[str, ...], max_words: int) -> None:
    if not all(text.strip() for text in texts):
        facts.empty.append(row)
    if sum(map(words, texts)) > max_words:
        facts.long.append(row)
    if any(GARBLED.search(text) for text in texts):
        facts.garbled.append(row)


def words(text: str) -> int:
    """About how many tokens a model sees: words, and every ideograph alone.

    >>> words("two words"), words("你好 world")
    (2, 4)
    """
    return len(text.split()) + (len(IDEOGRAPH.findall(text)) if not text.isascii() else 0)


def sizes(data: Data) -> tuple[Size, ...]:
    """Each split against its official size. A user's file has none."""
    if data.card is None:
        return tuple(Size(name, len(dataset), None, "unknown") for name, dataset in data.splits.items())
    return tuple(size_of(data, split, official) for split, official in data.card.splits.items())


def size_of(data: Data, split: str, official: int) -> Size:
    """A split that is smaller than the official one must be listed as partial in the card."""
    rows = len(data.splits[split]) if split in data.splits else 0
    if rows == official:
        return Size(split, rows, official, "complete")
    note = known_lack(data, split)
    status: Status = "wrong" if not note or rows > official else "partial" if rows else "absent"
    return Size(split, rows, official, status, note if rows else "")


def known_lack(data: Data, split: str) -> str:
    """What the card says about a split that is not whole."""
    assert data.card is not None
    hub = data.card.where.hub
    unlisted = "not on the hub" if hub and hub.splits and split not in hub.splits else ""
    return data.card.partial.get(split, unlisted)


def texts_of(split: str, facts: Facts, max_words: int) -> list[Finding]:
    """Empty, long, garbled and repeated texts."""
    again = (repeats(facts.hashes) + 1).tolist()
    found = [
        ("empty", facts.empty, "texts are empty"),
        ("long", facts.long, f"texts have more than {max_words} words"),
        ("encoding", facts.garbled, "texts look wrongly decoded"),
        ("duplicate", again, "texts occur in an earlier row"),
    ]
    return [
        Finding(kind, split, len(rows), f"{len(rows):,} {what}", tuple(rows[:NAMED]))
        for kind, rows, what in found
        if rows
    ]


def labels_of(split: str, facts: Facts, data: Data) -> list[Finding]:
    """Equal texts with unequal labels, labels without rows, and names that differ only in case or white space."""
    if facts.labels is None:
        return []
    found = []
    torn = contradicting(facts.hashes, facts.labels)
    if len(torn):
        text = f"{len(torn):,} rows have a text that has another label elsewhere"
        found.append(Finding("label noise", split, len(torn), text, tuple((torn[:NAMED] + 1).tolist())))
    if data.labels is not None and split == "train":
        bare = [name for index, name in enumerate(data.labels) if index not in set(facts.labels.tolist())]
        if bare:
            found.append(Finding("labels", split, 0, f"no row has the label {', '.join(bare[:8])}"))
        folded = [" ".join(name.casefold().split()) for name in data.labels]
        alike = [name for name, plain in zip(data.labels, folded, strict=True) if folded.count(plain) > 1]
        if alike:
            found.append(Finding("labels", split, 0, f"names that differ only in case or white space: {alike}"))
    return found


def contradicting(hashes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The rows, from 0, whose text also occurs with another label.

    >>> contradicting(np.array([4, 9, 4, 9]), np.array([0, 1, 1, 1])).tolist()
    [0, 2]
    """
    _, group = np.unique(hashes, return_inverse=True)
    least, most = np.full(group.max() + 1, np.inf), np.full(group.max() + 1, -np.inf)
    np.minimum.at(least, group, labels)
    np.maximum.at(most, group, labels)
    return np.flatnonzero(least[group] != most[group])


def noise_of(split: str, dataset: "Dataset", names: tuple[str, ...], numbers: np.ndarray) -> list[Finding]:
    """Rows whose label a bag of words does not expect; `numbers` are those of the rows in the file."""
    found = doubts(dataset)
    if not found:
        return []
    first = found[0]
    text = (
        f"{len(found):,} labels surprise a bag of words; the most: row {numbers[first.row]}, "
        f"{names[first.given]!r}, expected {names[first.expected]!r}"
    )
    return [Finding("label noise", split, len(found), text, tuple(doubt.row + 1 for doubt in found[:NAMED]))]


def leaks_of(facts: dict[str, Facts]) -> list[Finding]:
    """Texts that two splits share, each pair of splits once."""
    names, found = list(facts), []
    for index, earlier in enumerate(names):
        for later in names[index + 1 :]:
            leak = shared(facts[earlier].hashes, facts[later].hashes)
            if leak.rows:
                text = f"{leak.rows:,} of {len(facts[later].hashes):,} texts also occur in {earlier}"
                found.append(Finding("leak", later, leak.rows, text, tuple(row for row, _ in leak.first)))
    return found
