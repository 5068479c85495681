"""TextFooler: Jin, Jin, Zhou & Szolovits 2020, "Is BERT really robust?", algorithm 1.

    I_i = P(y | x) - P(y | x without w_i), and where that deletion makes another label y' win,                   eq. 2
          plus P(y' | x without w_i) - P(y' | x)
    For each word in the order of I: of its substitutes that keep the sentence similar enough to the current one, take
    the most similar that flips the label and stop; else the one with the lowest P(y), if that is lower than now.

Deviations: sentence similarity is the cosine of all-MiniLM-L6-v2 embeddings, since the Universal Sentence Encoder of
the paper is not in a package registry (`similarity` takes any function from texts to vectors; None checks nothing and
takes the flip with the lowest P(y)); the surface decides which words are near enough, and their part of speech:
`counterfitted` is nearest to the paper's. Words without substitutes are not ranked, which changes nothing.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from uegr.attacks.search import Attempt, Queries, Scores, Search, Target, ask, replaceable
from uegr.attacks.surface import Surface, Words
from uegr.errors import InputError


@dataclass(frozen=True)
class TextFooler:
    """`similarity`: texts -> vectors (n, d), or "minilm"; `threshold` is the paper's epsilon, for the cosine."""

    similarity: Any = "minilm"
    threshold: float = 0.7
    candidates: int = 50  # the paper's N
    name: ClassVar[str] = "textfooler"
    lexical: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not -1 <= self.threshold <= 1 or self.candidates < 1:
            raise InputError(f"expected -1 <= threshold <= 1 and candidates >= 1, got {self}")

    def scorers(self) -> Mapping[str, Any]:
        """The sentence encoder."""
        if isinstance(self.similarity, str):
            from uegr.attacks.similarity import sentence_encoder

            return {"similarity": sentence_encoder(self.similarity)}
        return {"similarity": self.similarity} if self.similarity else {}

    def __call__(self, target: Target, surface: Surface, random: np.random.Generator) -> Search:
        substitutes = replaceable(target.words, surface, self.candidates)
        if not substitutes:
            return None
        rows = yield from ask(target.of(target.words.without(position)) for position in substitutes)
        worth = dict(zip(substitutes, importance(target, rows), strict=True))
        words, current = target.words, target.scores
        for position in sorted(substitutes, key=lambda position: -worth[position]):
            variants = [words.swapped(position, other) for other in substitutes[position]]
            likeness = yield from self.likeness(words, variants)
            near = [at for at, value in enumerate(likeness) if value > self.threshold]
            if not near:
                continue
            scores = yield from ask(target.of(variants[at]) for at in near)
            if flips := [at for at, row in enumerate(scores) if target.flipped(row)]:
                best = max(flips, key=lambda at: (likeness[near[at]], -scores[at, target.label]))
                return Attempt(variants[near[best]].text, scores[best])
            lowest = int(scores[:, target.label].argmin())
            if scores[lowest, target.label] < current[target.label]:
                words, current = variants[near[lowest]], scores[lowest]
        return Attempt(words.text, current)

    def likeness(self, words: Words, variants: list[Words]) -> Generator[Queries, Scores, Scores]:
        """Cosine of each variant with the current text (n,); 1 when no encoder was given."""
        if not self.similarity:
            return np.ones(len(variants))
        vectors = yield from ask((text.text for text in (words, *variants)), "similarity")
        lengths = np.linalg.norm(vectors, axis=1).clip(min=1e-12)
        cosines: Scores = (vectors[1:] @ vectors[0]) / (lengths[1:] * lengths[0])
        return cosines


def importance(target: Target, rows: Scores) -> Scores:
    """eq. 2 for each deletion, from its probabilities (n, classes)."""
    winners = rows.argmax(axis=1)
    gains = rows[np.arange(len(rows)), winners] - target.scores[winners]
    return target.falls(rows) + np.where(winners == target.label, 0.0, gains)
