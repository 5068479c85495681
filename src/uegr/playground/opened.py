"""The runs of the page, opened: classifiers that all read single texts, or all read pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from uegr.errors import InputError
from uegr.models.texts import Text
from uegr.runs.finished import FinishedTask, Prediction, open_run
from uegr.terminal import clean, one_line

MOST = 2_000  # characters of a text: an attack on it still ends within seconds


@dataclass(frozen=True)
class Model:
    """One task of a finished run, under the name that the page shows."""

    name: str
    task: FinishedTask

    @property
    def paired(self) -> bool:
        """Whether it reads pairs of texts."""
        return self.task.about.head == "pair"

    @property
    def calibrated(self) -> bool:
        """Whether its probabilities are those after the temperature that training fitted."""
        return self.task.about.temperature is not None

    @property
    def temperature(self) -> float:
        """What its logits are divided by."""
        return self.task.heat() if self.calibrated else 1.0

    @property
    def labels(self) -> list[str]:
        """Names by number, without control characters, each different.

        Labels come from a file that anyone may have written.
        """
        return distinct([one_line(label) for label in self.task.labels or ()])

    @property
    def about(self) -> str:
        """The method, the model, and whether its probabilities are calibrated."""
        config = self.task.run.result.config
        model = Path(config.model.name).name
        state = "calibrated" if self.calibrated else "not calibrated"
        return one_line(f"{config.method.name}, {model}, {state}")

    def told(self, answer: Prediction, digits: int = 0) -> str:
        """The label and its probability, such as `good 93%`."""
        shares = list(answer.probabilities.values())
        return f"{self.labels[shares.index(max(shares))]} {max(shares):.{digits}%}"

    def moved(self, first: Prediction, last: Prediction) -> str:
        """Two answers, such as `good 93% → bad 61%`; with a decimal where both would have the same number."""
        shares = {f"{max(answer.probabilities.values()):.0%}" for answer in (first, last)}
        return " → ".join(self.told(answer, digits=int(len(shares) == 1)) for answer in (first, last))


def distinct(names: Sequence[str]) -> list[str]:
    """The names, with a number after those that were there before or are empty.

    >>> distinct(["good", "", "good"])
    ['good', '(2)', 'good (3)']
    """
    seen: list[str] = []
    for number, name in enumerate(names, 1):
        seen.append(name if name and name not in seen else f"{name} ({number})".strip())
    return seen


def open_models(
    places: Sequence[Path], *, task: str | None = None, trust_remote_code: bool = False, device: str | None = None
) -> list[Model]:
    """Open finished runs and load their models; what the page cannot show is an error."""
    if not places:
        raise InputError("expected at least one finished run, got none; name its folder")
    names = short_names(places)
    runs = [open_run(place, trust_remote_code=trust_remote_code, device=device) for place in places]
    models = [Model(name, run.task(task)) for name, run in zip(names, runs, strict=True)]
    for model, place in zip(models, places, strict=True):
        if model.task.labels is None:
            raise InputError(
                f"expected classifiers, got {place}, which predicts numbers; `uegr predict` shows what it answers"
            )
    if len({model.paired for model in models}) > 1:
        single, pair = (next(m.name for m in models if m.paired is kind) for kind in (False, True))
        raise InputError(
            f"expected runs that all read single texts or all read pairs, got {single} (single texts) and {pair} "
            "(pairs); open them one by one"
        )
    for run in runs:
        run.loaded  # noqa: B018  a damaged file, or code that is not trusted, is an error before the page opens
    return models


def short_names(places: Sequence[Path]) -> list[str]:
    """The last parts of the paths, as many as tell them apart; the same folder twice is an error.

    >>> short_names([Path("runs/a/plain"), Path("runs/b/plain")])
    ['a/plain', 'b/plain']
    """
    whole = [place.expanduser().resolve() for place in places]
    if len(set(whole)) < len(whole):
        twice = next(place for place, path in zip(places, whole, strict=True) if whole.count(path) > 1)
        raise InputError(f"expected different runs, got {twice} twice; leave one out")
    length = 1
    while len({path.parts[-length:] for path in whole}) < len(whole):
        length += 1
    return distinct([one_line("/".join(path.parts[-length:])) for path in whole])


def checked_text(text: str | None, pair: str | None, paired: bool) -> Text:
    """What the models are asked: a text or a pair, without control characters, so that the page shows all of it."""
    sides = [clean(side or "").strip() for side in ((text, pair) if paired else (text,))]
    if not all(sides):
        raise InputError("expected two texts, got an empty one; type both" if paired else "type a sentence")
    if (length := max(map(len, sides))) > MOST:
        raise InputError(f"expected at most {MOST:,} characters, got {length:,}; shorten the text")
    return (sides[0], sides[1]) if paired else sides[0]


def limit_note(texts: Sequence[str | None]) -> str:
    """A line where a box is full, so that the browser may have left out the end; it counts UTF-16 units.

    >>> limit_note(["a short text"])
    ''
    """
    longest = max(len((text or "").encode("utf-16-le", "surrogatepass")) // 2 for text in texts)
    return f"a text ends after {MOST:,} characters; what is beyond is left out" if longest >= MOST else ""
