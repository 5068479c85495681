"""Edits that should not change the label, after CheckList's invariance tests (Ribeiro et al. 2020).

    contractions: `is not` <-> `isn't`, all of one kind at once;   typos: two neighbouring letters of one word swapped;
    punctuation: the last mark removed or added;                    endings that do not depend on the label.

Every edit is applied alone to the original. All are scored together, and the one with the lowest P(y) is the outcome.
It is not a search for the worst combination.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from uegr.attacks.deepwordbug import typo
from uegr.attacks.search import Attempt, Search, Target, ask
from uegr.attacks.surface import Surface, Words, match_case
from uegr.errors import InputError, did_you_mean

CONTRACTIONS = {
    "is not": "isn't",
    "are not": "aren't",
    "was not": "wasn't",
    "were not": "weren't",
    "do not": "don't",
    "does not": "doesn't",
    "did not": "didn't",
    "have not": "haven't",
    "has not": "hasn't",
    "cannot": "can't",
    "could not": "couldn't",
    "would not": "wouldn't",
    "should not": "shouldn't",
    "will not": "won't",
    "it is": "it's",
    "that is": "that's",
    "there is": "there's",
    "i am": "i'm",
    "i have": "i've",
    "you are": "you're",
    "they are": "they're",
    "we are": "we're",
    "let us": "let's",
}
NEUTRAL = (" https://t.co/DlI9kw", " @user", " .", " — as I said.", " That is all.", " (2019)")
EDITS = ("contractions", "typos", "punctuation", "neutral")


@dataclass(frozen=True)
class CheckList:
    """`edits` names the kinds to try; `typos` is how many words get one."""

    edits: tuple[str, ...] = EDITS
    typos: int = 10
    name: ClassVar[str] = "checklist"
    lexical: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for edit in self.edits:
            if edit not in EDITS:
                raise InputError(f"no edit {edit!r} of checklist; {did_you_mean(edit, EDITS)}")

    def scorers(self) -> Mapping[str, Any]:
        """No other scorer than the model."""
        return {}

    def __call__(self, target: Target, surface: Surface, random: np.random.Generator) -> Search:
        original = target.words.text
        texts = [text for text in dict.fromkeys(self.variants(target.words, random)) if text != original]
        if not texts:
            return None
        rows = yield from ask(target.of(text) for text in texts)
        flips = [at for at, row in enumerate(rows) if target.flipped(row)] or range(len(rows))
        lowest = min(flips, key=lambda at: rows[at, target.label])
        return Attempt(texts[lowest], rows[lowest])

    def variants(self, words: Words, random: np.random.Generator) -> Iterator[str]:
        """Every edited text, in a fixed order."""
        kinds = {
            "contractions": contracted(words.text),
            "typos": misspelt(words, self.typos, random),
            "punctuation": punctuated(words.text),
            "neutral": (words.text.rstrip() + addition for addition in NEUTRAL),
        }
        for edit in self.edits:
            yield from kinds[edit]


def contracted(text: str) -> Iterator[str]:
    """Each contraction made, and each one expanded, at every place.

    >>> list(contracted("It is fine, isn't it?"))
    ['It is fine, is not it?', "It's fine, isn't it?"]
    """
    for whole, short in CONTRACTIONS.items():
        for old, new in ((whole, short), (short, whole)):
            pattern = rf"(?<!\w){re.escape(old)}(?!\w)"
            if re.search(pattern, text, re.IGNORECASE):
                yield replaced(pattern, new, text)


def replaced(pattern: str, new: str, text: str) -> str:
    """Every match replaced by `new`, in the case of the match."""
    return re.sub(pattern, lambda match: match_case(match.group(), new), text, flags=re.IGNORECASE)


def misspelt(words: Words, count: int, random: np.random.Generator) -> Iterator[str]:
    """Two letters swapped in one word of more than three letters; `count` such words are drawn."""
    long = [position for position, word in enumerate(words.words) if len(word) > 3]
    for position in random.permutation(long)[:count]:
        yield words.swapped(int(position), typo(words.words[position], "swap", random)).text


def punctuated(text: str) -> Iterator[str]:
    """Without the last mark, or with a full stop added."""
    bare = text.rstrip().rstrip(".!?…")
    if bare != text.rstrip():
        yield bare.rstrip()
    elif bare:
        yield bare + "."
