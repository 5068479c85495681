"""One attack on one text, as the page shows it: both texts in pieces, with the changed words marked."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby
from typing import Literal

from uegr.attacks import Example, Surface, Victim, attack
from uegr.attacks.catalogue import ATTACKS
from uegr.attacks.lexicons import is_at_hand
from uegr.attacks.outcome import Outcome
from uegr.attacks.surface import Words, without_lexicon
from uegr.cache import cache_folder, damage
from uegr.models.texts import Text
from uegr.playground.opened import Model
from uegr.runs.finished import Prediction

BUDGET = 3_000  # model queries per press of the button
PREFERRED = ("pwws", "deepwordbug")
ENCODERS = {"textfooler": "minilm"}  # what an attack needs besides a lexicon
Side = Literal["first", "second"]
Piece = tuple[str, bool]  # a part of a text, and whether it changed


@dataclass(frozen=True)
class Attacked:
    """What an attack did to one model: the changed side before and after, and the model's answer to both."""

    before: list[Piece]
    after: list[Piece]  # empty where the search found no text at all
    first: Prediction
    last: Prediction | None
    outcome: Outcome

    @property
    def flipped(self) -> bool:
        """Whether the label changed."""
        return self.outcome.status == "success"

    def told(self, model: Model) -> str:
        """One line for the page: how the answer moved, and at what cost."""
        if self.last is None:
            return f"not attacked: {self.outcome.reason}"
        cost = f"{len(self.outcome.changes)} of {self.outcome.words} words, {self.outcome.queries:,} queries"
        change = "label changed" if self.flipped else "label kept"
        return f"{model.moved(self.first, self.last)}: {change} ({cost})"


def choices(surface: str = "default") -> list[str]:
    """The attacks that need nothing from the network."""
    lexicon = is_at_hand("wordnet" if surface == "default" else surface)
    return [name for name, kind in ATTACKS.items() if (lexicon or not kind.lexical) and has_encoder(name)]


def has_encoder(name: str) -> bool:
    """Whether the encoder that an attack needs was fetched before."""
    return name not in ENCODERS or damage(cache_folder() / "models" / ENCODERS[name]) is None


def default_choice(names: Sequence[str]) -> str:
    """A word attack if there is one, otherwise one on letters.

    >>> default_choice(["pwws", "deepwordbug"]), default_choice(["deepwordbug", "checklist"])
    ('pwws', 'deepwordbug')
    """
    return next(name for name in (*PREFERRED, *names) if name in names)


def attacked(
    model: Model, text: Text, name: str, surface: Surface | str = "default", side: Side = "second"
) -> Attacked:
    """Attack the label that the model gives to the text."""
    task = model.task
    victim = Victim(task.model, task.tokenizer, max_length=task.max_length, temperature=model.temperature)
    example = Example(text, int(victim([text])[0].argmax()))
    chosen = surface if ATTACKS[name].lexical else "default"
    results = attack(victim, [example], name, surface=chosen, side=side, budget=BUDGET, progress=False)
    outcome = results.outcomes[0]
    texts = [text] if outcome.found is None else [text, outcome.found]
    found = task.predict(texts, calibrate=model.calibrated)
    before, after = marked(side_of(text, side), side_of(texts[-1], side))
    kept = outcome.found is not None
    return Attacked(before, after if kept else [], found[0], found[-1] if kept else None, outcome)


def side_of(text: Text, side: Side) -> str:
    """The side of a pair that may change; a single text itself."""
    return text if isinstance(text, str) else text[side == "second"]


def marked(before: str, after: str) -> tuple[list[Piece], list[Piece]]:
    """Both texts in pieces, those that differ marked.

    >>> marked("a good film", "a fine film")
    ([('a ', False), ('good', True), (' film', False)], [('a ', False), ('fine', True), (' film', False)])
    """
    split = without_lexicon().split
    old, new = parts(split(before)), parts(split(after))
    if len(old) == len(new):
        marks = [one != other for one, other in zip(old, new, strict=True)]
        return merged(old, marks), merged(new, marks)
    same = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    kept_old = {match.a + place for match in same for place in range(match.size)}
    kept_new = {match.b + place for match in same for place in range(match.size)}
    return tuple(  # type: ignore[return-value]
        merged(whole, [place not in kept for place in range(len(whole))])
        for whole, kept in ((old, kept_old), (new, kept_new))
    )


def parts(words: Words) -> list[str]:
    """Words and separators in turn."""
    return [part for pair in zip(words.separators, (*words.words, ""), strict=True) for part in pair]


def merged(pieces: list[str], marks: list[bool]) -> list[Piece]:
    """Neighbours with the same mark as one piece, without empty ones."""

    def joined() -> Iterator[Piece]:
        for mark, group in groupby(zip(pieces, marks, strict=True), key=lambda pair: pair[1]):
            yield "".join(piece for piece, _ in group), mark

    return [piece for piece in joined() if piece[0]]
