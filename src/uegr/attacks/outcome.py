"""Examples in, outcomes out, and the figures of a whole attack."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from typing import Any, Literal

import numpy as np

from uegr.attacks.search import Input
from uegr.attacks.surface import Words
from uegr.errors import InputError, did_you_mean


@dataclass(frozen=True)
class Example:
    """A text, or a pair, and its right label."""

    text: Input
    label: int


@dataclass(frozen=True)
class Change:
    """One word, or run of words, that became another; `position` counts words of the changed side from 0."""

    position: int
    old: str
    new: str


@dataclass(frozen=True)
class Outcome:
    """The outcome of one example. A text that the model had wrong from the start is `skipped` and counts as broken."""

    index: int
    status: Literal["success", "failure", "skipped"]
    reason: str  # of a skip, or of a failure because there was nothing to try; empty otherwise
    text: Input
    label: int
    predicted: int  # before
    probability: float  # of the right label, before
    found: Input | None = None  # the last text of the search, whether it flipped the label or not
    found_predicted: int | None = None
    found_probability: float | None = None
    words: int = 0  # of the side that may change
    changes: tuple[Change, ...] = ()
    queries: int = 0  # texts that the search asked the model for, with repeats

    @property
    def right_before(self) -> bool:
        """Whether the model had the original right."""
        return self.predicted == self.label

    @property
    def right_after(self) -> bool:
        """Whether the model was still right after the attack."""
        return self.right_before and self.status != "success"

    def encoded(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @classmethod
    def decoded(cls, stored: dict[str, Any]) -> "Outcome":
        """What `encoded` gave, through JSON."""
        changes = tuple(Change(**change) for change in stored["changes"])
        sides = {key: side(stored[key]) for key in ("text", "found")}
        return cls(**(stored | sides | {"changes": changes}))


def side(stored: Any) -> Any:
    """A pair comes back from JSON as a list."""
    return tuple(stored) if isinstance(stored, list) else stored


def changes(before: Words, after: Words) -> tuple[Change, ...]:
    """Which words differ; runs of words where their number differs too.

    >>> changes(Words(("a", "good", "film"), ("",) * 4), Words(("a", "fine", "film"), ("",) * 4))
    (Change(position=1, old='good', new='fine'),)
    """
    if len(before) == len(after):
        pairs = enumerate(zip(before.words, after.words, strict=True))
        return tuple(Change(position, old, new) for position, (old, new) in pairs if old != new)
    matcher = SequenceMatcher(None, before.words, after.words, autojunk=False)
    return tuple(
        Change(start, " ".join(before.words[start:end]), " ".join(after.words[at:until]))
        for tag, start, end, at, until in matcher.get_opcodes()
        if tag != "equal"
    )


def as_examples(given: Iterable[Any], names: Sequence[str] = ()) -> list[Example]:
    """Checked examples from `Example`s or (text, label) pairs; a text may be a pair of texts, a label one of `names`.

    >>> as_examples([("a fine film", "good"), ("a dull film", 0)], names=["bad", "good"])
    [Example(text='a fine film', label=1), Example(text='a dull film', label=0)]
    """
    examples = []
    for index, item in enumerate(given):
        example = item if isinstance(item, Example) else pair_of(index, item)
        texts = example.text if isinstance(example.text, tuple) else (example.text,)
        if len(texts) > 2 or not all(isinstance(text, str) for text in texts):
            raise InputError(f"example {index}: expected a text or a pair of texts, got {str(example.text)[:60]!r}")
        examples.append(Example(example.text, label_number(index, example.label, names)))
    if not examples:
        raise InputError("expected at least one example to attack, got none")
    return examples


def label_number(index: int, label: Any, names: Sequence[str]) -> int:
    """The column of a label that is given by its number or its name."""
    if isinstance(label, str) and not names:
        raise InputError(
            f"example {index}: got the label {label!r}, but the columns of predict have no names; "
            "give labels=[...] in their order"
        )
    if isinstance(label, str) and label not in names:
        raise InputError(f"example {index}: unknown label {label!r}; {did_you_mean(label, names)}")
    if isinstance(label, str):
        return list(names).index(label)
    if isinstance(label, bool) or not isinstance(label, int | np.integer) or label < 0:
        raise InputError(f"example {index}: expected a label 0, 1, ..., got {label!r}")
    return int(label)


def pair_of(index: int, item: Any) -> Example:
    """An example from (text, label)."""
    if not isinstance(item, Sequence) or isinstance(item, str) or len(item) != 2:
        raise InputError(f"example {index}: expected (text, label), got {str(item)[:60]!r}")
    return Example(tuple(item[0]) if isinstance(item[0], list) else item[0], item[1])


@dataclass(frozen=True)
class Summary:
    """The figures of an attack; shares are between 0 and 1, None where the divisor is 0."""

    attack: str
    examples: int
    accuracy_before: float
    accuracy_after: float  # a misclassified original counts as broken
    success_rate: float | None  # over correctly classified originals
    words_changed: float | None  # mean over successes
    words_changed_share: float | None
    queries: float | None  # mean over the examples that a search began on
    skipped: dict[str, int]  # reason -> examples
    scored: int  # texts that reached the model: without repeats
    calls: int  # of predict
    seconds: float
    seconds_predicting: float


@dataclass(frozen=True)
class Results:
    """All outcomes in the order of the examples, and their summary."""

    outcomes: list[Outcome]
    summary: Summary
    labels: tuple[str, ...] = ()  # names by number, where they are known

    def adversarial(self) -> list[Example]:
        """What was found, with the right labels: training data."""
        return [Example(o.found, o.label) for o in self.outcomes if o.status == "success" and o.found is not None]


@dataclass
class Effort:
    """What an attack cost, added over its sessions."""

    scored: int = 0
    calls: int = 0
    seconds: float = 0.0
    seconds_predicting: float = 0.0
    extra: dict[str, int] = field(default_factory=dict)  # texts that other scorers saw

    def add(self, other: "Effort") -> None:
        """Add the cost of another session."""
        self.scored += other.scored
        self.calls += other.calls
        self.seconds += other.seconds
        self.seconds_predicting += other.seconds_predicting
        for name, count in other.extra.items():
            self.extra[name] = self.extra.get(name, 0) + count


def summarise(attack: str, outcomes: Sequence[Outcome], effort: Effort) -> Summary:
    """The figures of a list of outcomes."""
    successes = [outcome for outcome in outcomes if outcome.status == "success"]
    right = sum(outcome.right_before for outcome in outcomes)
    skipped: dict[str, int] = {}
    for outcome in outcomes:
        if outcome.status == "skipped":
            skipped[outcome.reason] = skipped.get(outcome.reason, 0) + 1
    return Summary(
        attack=attack,
        examples=len(outcomes),
        accuracy_before=right / len(outcomes),
        accuracy_after=sum(outcome.right_after for outcome in outcomes) / len(outcomes),
        success_rate=len(successes) / right if right else None,
        words_changed=mean(len(outcome.changes) for outcome in successes),
        words_changed_share=mean(len(outcome.changes) / outcome.words for outcome in successes),
        queries=mean(outcome.queries for outcome in outcomes if outcome.status != "skipped"),
        skipped=skipped,
        scored=effort.scored,
        calls=effort.calls,
        seconds=effort.seconds,
        seconds_predicting=effort.seconds_predicting,
    )


def mean(values: Iterable[float]) -> float | None:
    """The mean; None if there are no values."""
    listed = list(values)
    return float(np.mean(listed)) if listed else None
