"""What a search is: a generator that yields texts to be scored and is sent their scores.

    def search(target, surface, random):
        scores = yield Queries([target.of(target.words.swapped(0, "fine"))])     # (1, classes)
        ...
        return Attempt(words.text, scores[0])                                    # None when nothing may be changed

It knows nothing about batches, caches, budgets or other searches; attacks/engine.py does.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from uegr.attacks.surface import Surface, Words

Input = str | tuple[str, str]  # what a model is asked: a text, or a pair
Scores = NDArray[np.float64]
CHUNK = 256  # texts asked at once by one search, so that 10,000 variants of a long text are not in memory together


class Queries(NamedTuple):
    """Texts to be scored by the model (`predict`), or by another scorer of the attack."""

    texts: list[Input]
    of: str = "predict"


class Attempt(NamedTuple):
    """Where a search ended: the text of the changed side and its probabilities (classes,)."""

    text: str
    scores: Scores


Search = Generator[Queries, Scores, Attempt | None]


@dataclass(frozen=True)
class Target:
    """One example as a search sees it: the words that may change, and the model's scores of the original."""

    words: Words
    label: int
    scores: Scores  # (classes,) of the original
    other: str | None = None  # the side of a pair that stays
    first: bool = False  # whether the changing side is the first of the pair

    def of(self, changed: Words | str) -> Input:
        """The model's input with the changed side in its place."""
        text = changed if isinstance(changed, str) else changed.text
        if self.other is None:
            return text
        return (text, self.other) if self.first else (self.other, text)

    def flipped(self, scores: Scores) -> bool:
        """Whether the model no longer gives the right label."""
        return int(scores.argmax()) != self.label

    def falls(self, scores: Scores) -> Scores:
        """By how much the right label's probability fell in each row of (n, classes)."""
        falls: Scores = self.scores[self.label] - scores[:, self.label]
        return falls


class Attack(Protocol):
    """A search with its settings: a frozen dataclass, whose fields are the settings."""

    name: ClassVar[str]
    lexical: ClassVar[bool]  # whether it asks the surface for substitutes

    def __call__(self, target: Target, surface: Surface, random: np.random.Generator) -> Search: ...

    def scorers(self) -> Mapping[str, Any]:
        """What it needs besides the model: name -> function from texts to rows of numbers."""
        ...


def ask(texts: Iterable[Input], of: str = "predict") -> Generator[Queries, Scores, Scores]:
    """Rows of scores of any number of texts, asked for in chunks: (n, ...)."""
    remaining, rows = iter(texts), []
    while chunk := list(islice(remaining, CHUNK)):
        rows.append((yield Queries(chunk, of)))
    return np.concatenate(rows)


def replaceable(words: Words, surface: Surface, limit: int | None = None) -> dict[int, tuple[str, ...]]:
    """Substitutes by position, of the words that have any."""
    found = ((position, surface.substitutes(word, limit)) for position, word in enumerate(words.words))
    return {position: others for position, others in found if others}


def single_swaps(substitutes: Mapping[int, tuple[str, ...]]) -> Iterator[tuple[int, str]]:
    """Every (position, substitute), in the order of the text and of the lexicon."""
    return ((position, other) for position, others in substitutes.items() for other in others)


def softmax(values: Scores) -> Scores:
    """exp(v) / sum exp(v)."""
    powers = np.exp(values - values.max())
    shares: Scores = powers / powers.sum()
    return shares
