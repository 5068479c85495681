"""Which word may replace which: a lexicon, stop words, inflection and case, and how a text is split into words.

Every attack, and the methods that train on substitutes (ASCC, RIFT), use the same `Surface`, so that a model is
trained and attacked with the same set. There is no tagger: a word keeps its part of speech as far as the lexicon and
the form of the word show it (`walked` is a verb; `film` is a noun 64 times out of 66 in WordNet's tagged text, so that
`shoot` does not replace it).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from uegr.attacks.inflection import Inflector
from uegr.attacks.lexicons import Lexicon, load_lexicon
from uegr.errors import InputError

IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
LETTERS = rf"[^\W_{IDEOGRAPHS}]+"
# Letters and digits, joined by hyphen or apostrophe (well-made, don't); but director's is director, then 's.
WORD = re.compile(rf"[{IDEOGRAPHS}]+|(?<!\w['’]){LETTERS}(?:['’\-](?!s\b){LETTERS})*")


@dataclass(frozen=True)
class Words:
    """A text as words and the separators between them: one more separator than words.

    >>> words = Words(("a", "good", "film"), ("", " ", " ", "!"))
    >>> words.text, words.swapped(1, "fine").text, words.without(1).text
    ('a good film!', 'a fine film!', 'a film!')
    """

    words: tuple[str, ...]
    separators: tuple[str, ...]

    @property
    def text(self) -> str:
        """The text itself, unchanged."""
        pairs = zip(self.separators, (*self.words, ""), strict=True)
        return "".join(separator + word for separator, word in pairs)

    def __len__(self) -> int:
        return len(self.words)

    def swapped(self, position: int, word: str) -> "Words":
        """The same text with another word at `position`."""
        return replace(self, words=(*self.words[:position], word, *self.words[position + 1 :]))

    def without(self, position: int) -> "Words":
        """The text without one word and the separator after it (the one before it, for the last word)."""
        gone = position if position + 1 == len(self.words) and position else position + 1
        separators = (*self.separators[:gone], *self.separators[gone + 1 :])
        return Words((*self.words[:position], *self.words[position + 1 :]), separators)


class Surface:
    """Which word may replace which, by one lexicon.

    `rare`: a reading with less than this share of the word's tagged uses is left out (film as a verb); 0 keeps all.
    """

    def __init__(self, lexicon: Lexicon, *, stop_words: Iterable[str] | None = None, rare: float = 0.1) -> None:
        if not 0 <= rare <= 1:
            raise InputError(f"expected a share 0 <= rare <= 1, got {rare}")
        self.lexicon = lexicon
        self.stop_words = lexicon.stop_words if stop_words is None else frozenset(stop_words)
        self.rare = rare
        self.inflector = Inflector(lexicon.irregular) if lexicon.irregular else None
        self.longest = max((len(word) for word in lexicon.readings), default=1)
        self.known: dict[str, tuple[str, ...]] = {}

    def __repr__(self) -> str:
        return f"Surface({self.lexicon.name}, words={len(self.lexicon.readings)}, rare={self.rare})"

    @property
    def name(self) -> str:
        """What identifies it in a result file."""
        return f"{self.lexicon.name} rare={self.rare}"

    def substitutes(self, word: str, limit: int | None = None) -> tuple[str, ...]:
        """The words that may replace it, the likeliest reading and the commonest sense first, in its form and case."""
        if word not in self.known:
            lower = word.lower()
            found = () if lower in self.stop_words else tuple(self.synonyms(lower))
            shaped = (match_case(word, other) for other in found if other.lower() != lower and whole(other))
            self.known[word] = tuple(dict.fromkeys(shaped))
        return self.known[word][:limit]

    def synonyms(self, word: str) -> Iterator[str]:
        """Inflected synonyms of a lower-case word, of every reading that is not too rare."""
        readings = []
        for lemma, part, form in self.inflector.analyses(word) if self.inflector else [(word, "", "base")]:
            for reading in self.lexicon.readings.get(lemma, ()):
                if reading.part == part:
                    readings.append((reading, form))
        total = sum(reading.uses + 1 for reading, _ in readings)
        for reading, form in sorted(readings, key=lambda pair: -pair[0].uses):
            if (reading.uses + 1) / total >= self.rare:
                for synonym in reading.synonyms:
                    yield from self.inflector.inflected(synonym, reading.part, form) if self.inflector else (synonym,)

    def split(self, text: str, read: int | None = None) -> Words:
        """Words by pattern; runs of Chinese characters by longest match over the lexicon.

        Of a text of which only the first `read` characters are read, what begins after them belongs to the last
        separator, so that no search changes it.
        """
        words, separators, end = [], [], 0
        found = (part for match in WORD.finditer(text) for part in self.segments(match))
        for start, word in found if read is None else takewhile(lambda part: part[0] < read, found):
            separators.append(text[end:start])
            words.append(word)
            end = start + len(word)
        return Words(tuple(words), (*separators, text[end:]))

    def segments(self, match: re.Match[str]) -> Iterator[tuple[int, str]]:
        """One word, or the words of a Chinese run: the longest that the lexicon has, else one character."""
        start, run = match.start(), match.group()
        if not ideographic(run):
            yield start, run
            return
        at = 0
        while at < len(run):
            lengths = range(min(self.longest, len(run) - at), 1, -1)
            length = next((n for n in lengths if self.lists(run[at : at + n])), 1)
            yield start + at, run[at : at + length]
            at += length

    def lists(self, word: str) -> bool:
        """Whether the lexicon or the stop words have the word."""
        return word in self.lexicon.readings or word in self.stop_words


def load_surface(name: str | Path = "default", *, rare: float = 0.1) -> Surface:
    """A lexicon by its name (`load_lexicon`), or a TSV or JSON file; the default is `wordnet`."""
    return Surface(load_lexicon("wordnet" if name == "default" else str(name)), rare=rare)


def without_lexicon() -> Surface:
    """A surface that splits texts and knows no substitutes: for attacks on letters."""
    return Surface(Lexicon("none", "", {}))


def match_case(source: str, word: str) -> str:
    """The word in the case of the one that it replaces.

    >>> match_case("GOOD", "fine"), match_case("Good", "fine"), match_case("good", "English")
    ('FINE', 'Fine', 'English')
    """
    if source.isupper() and len(source) > 1:
        return word.upper()
    return word[:1].upper() + word[1:] if source[:1].isupper() else word


def whole(word: str) -> bool:
    """Whether it is one word for our own pattern, so that a swapped text has as many words as before."""
    return WORD.fullmatch(word) is not None


def ideographic(text: str) -> bool:
    """Whether it begins with a Chinese character."""
    return re.match(rf"[{IDEOGRAPHS}]", text) is not None
