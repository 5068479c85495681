"""What the page can ask of its models. One request at a time: a perturbed forward pass must not meet another one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock

from uegr.attacks import load_surface
from uegr.errors import InputError, did_you_mean
from uegr.evaluation.line import Line, fgm_line
from uegr.models.texts import Text, length_limit, sides
from uegr.models.tokens import is_cut
from uegr.playground.attacked import Attacked, Side, attacked, choices
from uegr.playground.opened import Model
from uegr.runs.finished import Prediction

STEP, STEPS = 0.05, 40  # of the radius, in mean norms of the word vectors
RADII = tuple(round(STEP * number, 6) for number in range(STEPS + 1))
KEPT = 64  # lines, of the last texts


@dataclass(frozen=True)
class Moved:
    """A model's answer at a radius, and the smallest radius that changes its label."""

    answer: Prediction
    changed: bool
    flips: float | None

    @property
    def told(self) -> str:
        """One line for the page.

        >>> Moved(Prediction("good", {"good": 1.0}), changed=False, flips=0.314).told
        'label kept; it first changes at radius 0.314'
        """
        if self.flips is None:
            return f"label kept, up to radius {RADII[-1]:g}"
        return f"{'label changed' if self.changed else 'label kept'}; it first changes at radius {self.flips:.3g}"


class Playground:
    """The models side by side. Every answer is a list in their order."""

    def __init__(self, models: Sequence[Model], surface: str = "default") -> None:
        self.models, self.paired = list(models), models[0].paired
        self.surface = surface if surface == "default" else load_surface(surface)
        self.attacks = choices(surface)
        self.lock = Lock()
        self.line = lru_cache(maxsize=KEPT)(self._line)

    def predictions(self, text: Text) -> list[Prediction]:
        """Each model's answer, calibrated where the run has a temperature."""
        with self.lock:
            return [model.task.predict([text], calibrate=model.calibrated)[0] for model in self.models]

    def cut(self, text: Text) -> list[str]:
        """The models that do not read the end of the text."""
        found = []
        for model in self.models:
            limit = length_limit(model.task.tokenizer, model.task.max_length)
            if is_cut(model.task.tokenizer, sides([text]), limit)[0]:
                found.append(f"{model.name} reads the first {limit} tokens")
        return found

    def attacked(self, text: Text, attack: str, side: Side = "second") -> Iterator[Attacked]:
        """What an attack does to each model; a model's result comes as soon as it is known."""
        if attack not in self.attacks:
            raise InputError(f"the page has no attack {attack!r:.40}; {did_you_mean(attack, self.attacks)}")
        if side not in ("first", "second"):
            raise InputError(f"expected the side first or second, got {side!r:.40}")
        for model in self.models:
            with self.lock:
                found = attacked(model, text, attack, self.surface, side)
            yield found

    def moved(self, text: Text, radius: float) -> list[Moved]:
        """Each model's answer when the embedded text is moved along its gradient, by FGM."""
        if not 0 <= radius <= RADII[-1]:
            raise InputError(f"expected a radius from 0 to {RADII[-1]:g}, got {radius}")
        place = round(radius / STEP)
        return [self.at(number, text, place) for number in range(len(self.models))]

    def at(self, number: int, text: Text, place: int) -> Moved:
        """One model at one of the radii."""
        line, names = self.line(number, text), self.models[number].task.labels or ()
        shares = line.probabilities[place]
        answer = Prediction(names[int(shares.argmax())], dict(zip(names, map(float, shares), strict=True)))
        return Moved(answer, bool(line.labels[place] != line.labels[0]), line.flips)

    def _line(self, number: int, text: Text) -> Line:
        model = self.models[number]
        task = model.task
        with self.lock:
            return fgm_line(
                task.model, task.tokenizer, text, RADII, max_length=task.max_length, temperature=model.temperature
            )
