"""A genetic search: Alzantot et al. 2018, "Generating natural language adversarial examples", section 3.

    Perturb(x): draw a word, in proportion to how many substitutes it has; of its nearest `neighbours` keep the `kept`
                that a language model finds most fluent; put in the one that most lowers P(y).
    Generation: stop if the fittest member flips the label; else keep it, and each other member is a child of two
                parents drawn with probability proportional to exp(fitness / temperature), perturbed once.
    Crossover:  each word from either parent, with equal chance.

Fitness is 1 - P(y) (the paper's P(target), for two classes). As in the authors' release, a word that was already
changed is not drawn while others are left, and substitutes are those of the original word. The paper has 20
generations of 60; the certified-robustness papers and RIFT use 40, the default here. TextAttack draws parents in
proportion to exp(-fitness): the sign is reversed there.

`within` is the language-model filter of RIFT's release, in place of `kept`: a substitute may be used where the text
with it alone has a log-probability of at least that of the original minus `within` (5 there). Here it is that of the
whole text, and of any causal model.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from uegr.attacks.search import Attempt, Queries, Scores, Search, Target, ask, softmax
from uegr.attacks.surface import Surface, Words
from uegr.errors import InputError


@dataclass(frozen=True)
class Genetic:
    """`fluency`: texts -> a number each, higher is more fluent; or the name of a causal model (attacks/fluency.py).

    With `within`, the numbers must be log-probabilities of whole texts, as those of a named model are.
    """

    population: int = 60
    iterations: int = 40
    temperature: float = 0.3  # the release's
    neighbours: int = 8
    kept: int = 4
    fluency: Any = None
    within: float | None = None
    name: ClassVar[str] = "genetic"
    lexical: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.population < 2 or self.iterations < 0 or self.temperature <= 0 or min(self.neighbours, self.kept) < 1:
            raise InputError(
                f"expected population >= 2, iterations >= 0, temperature > 0, neighbours and kept >= 1, got {self}"
            )

        if self.within is not None and (self.within < 0 or not self.fluency):
            raise InputError(f"expected within >= 0 and a language model as fluency, got {self.within}, {self.fluency}")

    def scorers(self) -> Mapping[str, Any]:
        """The language model, when there is one."""
        if isinstance(self.fluency, str):
            from uegr.attacks.fluency import named  # with torch, which the listing does not need

            return {"fluency": named(self.fluency, total=self.within is not None)}
        return {"fluency": self.fluency} if self.fluency else {}

    def __call__(self, target: Target, surface: Surface, random: np.random.Generator) -> Search:
        substitutes = [surface.substitutes(word, self.neighbours) for word in target.words.words]
        if self.within is not None and any(substitutes):
            substitutes = yield from self.likely(target.words, substitutes)
        if not any(substitutes):
            return None
        start = [target.words] * self.population
        members = yield from self.perturbed(start, target, substitutes, random)
        for generation in range(self.iterations + 1):
            scores = yield from ask(target.of(member) for member in members)
            fitness = 1 - scores[:, target.label]
            fittest = int(fitness.argmax())
            if target.flipped(scores[fittest]) or generation == self.iterations:
                break
            likelihood = softmax(fitness / self.temperature)
            parents = random.choice(len(members), size=(self.population - 1, 2), p=likelihood)
            children = [crossover(members[one], members[two], random) for one, two in parents]
            members = [members[fittest], *(yield from self.perturbed(children, target, substitutes, random))]
        return Attempt(members[fittest].text, scores[fittest])

    def perturbed(
        self, members: list[Words], target: Target, substitutes: list[tuple[str, ...]], random: np.random.Generator
    ) -> Generator[Queries, Scores, list[Words]]:
        """Every member with one word replaced; the model is asked about all of them together."""
        positions = [drawn(member, target.words, substitutes, random) for member in members]
        families = [
            [member.swapped(position, other) for other in substitutes[position] if other != member.words[position]]
            for member, position in zip(members, positions, strict=True)
        ]
        families = [family or [member] for family, member in zip(families, members, strict=True)]
        if self.fluency and self.within is None:
            families = yield from self.fluent(families)
        scores = yield from ask(target.of(variant) for family in families for variant in family)
        lowest, at = [], 0
        for family in families:
            lowest.append(family[int(scores[at : at + len(family), target.label].argmin())])
            at += len(family)
        return lowest

    def likely(
        self, words: Words, substitutes: list[tuple[str, ...]]
    ) -> Generator[Queries, Scores, list[tuple[str, ...]]]:
        """The substitutes with which alone the text is not much less likely."""
        texts = [words.swapped(at, other).text for at, others in enumerate(substitutes) for other in others]
        original, *values = (yield from ask([words.text, *texts], "fluency")).reshape(-1).tolist()
        found = iter(values)
        return [tuple(other for other in others if next(found) >= original - float(self.within or 0))
                for others in substitutes]  # fmt: skip

    def fluent(self, families: list[list[Words]]) -> Generator[Queries, Scores, list[list[Words]]]:
        """The `kept` most fluent of each group, in their old order."""
        values = (yield from ask((variant.text for family in families for variant in family), "fluency")).reshape(-1)
        kept, at = [], 0
        for family in families:
            ranks = np.argsort(-values[at : at + len(family)], kind="stable")[: self.kept]
            kept.append([family[rank] for rank in sorted(ranks)])
            at += len(family)
        return kept


def drawn(member: Words, original: Words, substitutes: list[tuple[str, ...]], random: np.random.Generator) -> int:
    """A position drawn in proportion to its number of substitutes; unchanged positions first."""
    weights = np.array([len(others) for others in substitutes], dtype=np.float64)
    same = np.array([mine == old for mine, old in zip(member.words, original.words, strict=True)])
    free = weights * same if (weights * same).any() else weights
    return int(random.choice(len(free), p=free / free.sum()))


def crossover(one: Words, two: Words, random: np.random.Generator) -> Words:
    """Each word from either parent."""
    sides = random.random(len(one)) < 0.5
    chosen = (mine if side else other for mine, other, side in zip(one.words, two.words, sides, strict=True))
    return Words(tuple(chosen), one.separators)
