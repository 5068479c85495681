"""Probability weighted word saliency: Ren, Deng, He & Che 2019, "Generating natural language adversarial examples".

    S_i  = P(y | x) - P(y | x with w_i unknown)                   word saliency
    w*_i = argmax over substitutes w' of P(y | x) - P(y | x'_i)   and dP*_i the fall that it causes
    H_i  = softmax(S)_i * dP*_i                                   words are replaced in the order of H until y loses

There are two variants. `ren` is the paper: w*_i is chosen once, on the original text. `greedy` is what TextAttack
runs under the same name: 1 - P(y | x'_i) in the place of the fall; the substitutes of a word are scored again on the
current text, and a word whose best substitute does not lower P(y) is left.

Deviations: the softmax's denominator is the same for every word and cannot change the order of H, so only words that
have substitutes are made unknown; named entities are not replaced by other names (the paper's NE_adv), and there is
no filter by part of speech beyond the surface's own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from uegr.attacks.search import Attempt, Queries, Scores, Search, Target, ask, replaceable, single_swaps
from uegr.attacks.surface import Surface
from uegr.errors import InputError, did_you_mean


@dataclass(frozen=True)
class PWWS:
    """`unknown` is the word that replaces a removed word: the unknown word of the tokenizer, where it has one."""

    variant: Literal["ren", "greedy"] = "ren"
    unknown: str = "[UNK]"
    name: ClassVar[str] = "pwws"
    lexical: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.variant not in ("ren", "greedy"):
            raise InputError(f"no variant {self.variant!r} of pwws; {did_you_mean(self.variant, ('ren', 'greedy'))}")

    def __call__(self, target: Target, surface: Surface, random: np.random.Generator) -> Search:
        return (ren if self.variant == "ren" else greedy)(target, surface, self.unknown)

    def scorers(self) -> Mapping[str, Any]:
        """No other scorer than the model."""
        return {}


def ren(target: Target, surface: Surface, unknown: str) -> Search:
    """Choose each word's substitute on the original, then replace in the order of H until the label flips."""
    best = yield from ranked(target, surface, unknown, target.falls)
    if not best:
        return None
    words, scores = target.words, target.scores
    for position, substitute in best.items():
        words = words.swapped(position, substitute)
        scores = (yield Queries([target.of(words)]))[0]
        if target.flipped(scores):
            break
    return Attempt(words.text, scores)


def greedy(target: Target, surface: Surface, unknown: str) -> Search:
    """Order the words once; then take each word's best substitute on the current text, if it lowers P(y)."""
    best = yield from ranked(target, surface, unknown, lambda scores: 1 - scores[:, target.label])
    if not best:
        return None
    substitutes, words, current = replaceable(target.words, surface), target.words, target.scores
    for position in best:
        others = substitutes[position]
        rows = yield from ask(target.of(words.swapped(position, other)) for other in others)
        lowest = int(rows[:, target.label].argmin())
        if rows[lowest, target.label] < current[target.label]:
            words, current = words.swapped(position, others[lowest]), rows[lowest]
        if target.flipped(current):
            break
    return Attempt(words.text, current)


def ranked(target: Target, surface: Surface, unknown: str, worth: Callable[[Scores], Scores]) -> Any:
    """The best substitute of each position on the original, by position, in the order of H.

    `worth` is the value of each substitute, from its scores (n, classes).
    """
    substitutes = replaceable(target.words, surface)
    if not substitutes:
        return {}
    saliency = yield from unknown_falls(target, substitutes, unknown)
    swaps = list(single_swaps(substitutes))
    values = worth((yield from ask(target.of(target.words.swapped(*swap)) for swap in swaps)))
    best = {position: choice(position, swaps, values) for position in substitutes}
    order = sorted(substitutes, key=lambda position: -np.exp(saliency[position]) * best[position][1])
    return {position: best[position][0] for position in order}


def unknown_falls(target: Target, positions: Mapping[int, Any], unknown: str) -> Any:
    """S_i of each position: the fall when its word is made unknown."""
    rows = yield from ask(target.of(target.words.swapped(position, unknown)) for position in positions)
    return dict(zip(positions, target.falls(rows), strict=True))


def choice(position: int, swaps: list[tuple[int, str]], values: Scores) -> tuple[str, float]:
    """The substitute of a position with the highest value; the first one if several are equal."""
    mine = [(other, float(value)) for (at, other), value in zip(swaps, values, strict=True) if at == position]
    return max(mine, key=lambda pair: pair[1])
