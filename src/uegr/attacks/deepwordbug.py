"""DeepWordBug: Gao, Lanchantin, Soffa & Qi 2018, "Black-box generation of adversarial text sequences".

    head_i = P(y | w_1 .. w_i) - P(y | w_1 .. w_{i-1}),   tail_i = P(y | w_i .. w_n) - P(y | w_{i+1} .. w_n)
    combined_i = head_i + ratio * tail_i                                                   their strongest score
    The words of the highest scores get one typo each: swap two letters, substitute, delete or insert one.

The paper edits as many words as the edit distance allows and asks the model once at the end. Here the text after each
edit is scored, and the first one that flips the label is the outcome, so that fewer words change. Words of one letter
are not edited. The first letter stays in its place, except in words of two letters. A swap costs 2 in edit distance,
the others cost 1, as in the paper.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from uegr.attacks.search import Attempt, Search, Target, ask
from uegr.attacks.surface import Surface, Words
from uegr.errors import InputError, did_you_mean

EDITS = ("swap", "substitute", "delete", "insert")
SCORES = ("combined", "head", "tail")
ALPHABET = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class DeepWordBug:
    """`edit` is one of the four, or `any` to draw one for each word; `distance` bounds the total edit distance."""

    score: str = "combined"
    ratio: float = 1.0
    edit: str = "any"
    distance: int = 30  # the paper's epsilon
    name: ClassVar[str] = "deepwordbug"
    lexical: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.score not in SCORES:
            raise InputError(f"no score {self.score!r} of deepwordbug; {did_you_mean(self.score, SCORES)}")
        if self.edit not in (*EDITS, "any"):
            raise InputError(f"no edit {self.edit!r} of deepwordbug; {did_you_mean(self.edit, (*EDITS, 'any'))}")
        if self.distance < 1:
            raise InputError(f"expected an edit distance >= 1, got {self.distance}")

    def scorers(self) -> Mapping[str, Any]:
        """No other scorer than the model."""
        return {}

    def __call__(self, target: Target, surface: Surface, random: np.random.Generator) -> Search:
        words = target.words
        positions = [position for position, word in enumerate(words.words) if len(word) > 1]
        if not positions:
            return None
        worth = yield from self.scores(target)
        spent, texts = 0, []
        for position in sorted(positions, key=lambda position: -worth[position]):
            edit = str(random.choice(EDITS)) if self.edit == "any" else self.edit
            spent += 2 if edit == "swap" else 1
            if spent > self.distance:
                break
            words = words.swapped(position, typo(words.words[position], edit, random))
            texts.append(words)
        if not texts:
            return None
        rows = yield from ask(target.of(text) for text in texts)
        first = next((at for at, row in enumerate(rows) if target.flipped(row)), len(rows) - 1)
        return Attempt(texts[first].text, rows[first])

    def scores(self, target: Target) -> Any:
        """The score of every word (n,)."""
        count = len(target.words)
        heads = tails = np.zeros(count)
        if self.score != "tail":
            rows = yield from ask(target.of(span(target.words, 0, end)) for end in range(count + 1))
            heads = np.diff(rows[:, target.label])
        if self.score != "head":
            rows = yield from ask(target.of(span(target.words, start, count)) for start in range(count + 1))
            tails = -np.diff(rows[:, target.label])
        return heads + self.ratio * tails if self.score == "combined" else heads + tails


def span(words: Words, start: int, end: int) -> Words:
    """The text from one word up to another, with the separators between them."""
    if start == end:
        return Words((), ("",))
    before = words.separators[0] if start == 0 else ""
    after = words.separators[-1] if end == len(words) else ""
    return Words(words.words[start:end], (before, *words.separators[start + 1 : end], after))


def typo(word: str, edit: str, random: np.random.Generator) -> str:
    """One edit at a drawn place, after the first letter if the word is long enough.

    >>> typo("film", "swap", np.random.default_rng(0)), typo("film", "delete", np.random.default_rng(0))
    ('fiml', 'fil')
    """
    start = 1 if len(word) > 2 else 0
    if edit == "swap":
        at = int(random.integers(start, len(word) - 1))
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if edit == "insert":
        at = int(random.integers(start, len(word) + 1))
        return word[:at] + letter(random) + word[at:]
    at = int(random.integers(start, len(word)))
    return word[:at] + ("" if edit == "delete" else letter(random, word[at].lower())) + word[at + 1 :]


def letter(random: np.random.Generator, besides: str = "") -> str:
    """A drawn letter that is not `besides`."""
    others = ALPHABET.replace(besides, "") if besides else ALPHABET
    return others[int(random.integers(len(others)))]
