"""Run many searches in lockstep, so that the model always gets full batches and never the same text twice.

    results = uegr.attacks.attack(predict, [("a fine film", 1), ...], attack="pwws")

`predict` is any function from a list of texts (or of pairs) to probabilities (n, classes): a transformers model
through `Victim` or as a pipeline, a scikit-learn pipeline's predict_proba, a model behind an API. Every search is a
generator (attacks/search.py); a round collects what all running searches want, scores it, and sends each its part.
"""

import hashlib
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import numpy as np

from uegr.attacks.catalogue import make
from uegr.attacks.journal import Journal
from uegr.attacks.outcome import Effort, Example, Outcome, Results, as_examples, changes, summarise
from uegr.attacks.progress import Report, reporting
from uegr.attacks.scorer import Scorer
from uegr.attacks.search import Attack, Attempt, Queries, Scores, Target
from uegr.attacks.subject import Predict, as_predict, label_names
from uegr.attacks.surface import Surface, load_surface, without_lexicon
from uegr.attacks.victim import Victim
from uegr.errors import InputError

Examination = Generator[Queries, Scores, Outcome]


class AttackStopped(InputError):
    """The attack ended before its last example; `outcomes` are those that finished."""

    def __init__(self, message: str, outcomes: list[Outcome]) -> None:
        super().__init__(message)
        self.outcomes = outcomes


def attack(
    predict: Predict,
    examples: Iterable[Any],
    attack: str | Attack = "pwws",
    *,
    labels: Sequence[str] | None = None,
    surface: str | Path | Surface = "default",
    side: Literal["first", "second"] = "second",
    budget: int | None = None,
    seed: int = 0,
    batch_size: int | None = None,
    width: int = 256,
    output: str | Path | None = None,
    resume: bool = False,
    progress: bool | None = None,
    **settings: Any,
) -> Results:
    """Attack every example: `Example`s or (text, label), where a text may be a pair, of which `side` may change.

    A label is the number of its column in what `predict` gives, or its name: `labels` are the names in that order; a
    `Victim`, a pipeline and the `predict_proba` of a scikit-learn model know theirs.
    `budget` is the maximum number of model queries per example; `width` is how many searches run at once; `output` is a
    file of JSON lines that `resume` continues; `progress` defaults to a bar on a terminal; `settings` are the attack's
    own (`variant="greedy"`). `batch_size` is texts per call; default: 64, or what a `Victim` chooses.
    """
    if side not in ("first", "second") or width < 1 or (budget is not None and budget < 1):
        raise InputError(f"expected side first or second, width and budget >= 1, got {side}, {width}, {budget}")
    predict = as_predict(predict)
    names = label_names(predict, labels)
    listed = as_examples(examples, names)
    tool = tool_of(attack, settings, surface, predict)
    known = surface if isinstance(surface, Surface) else load_surface(surface) if tool.lexical else without_lexicon()
    plan = Plan(tool, known, side, budget, seed, predict if isinstance(predict, Victim) else None)
    journal = Journal(Path(output) if output else None, plan.described(listed), resume)
    batch = batch_size or (predict.slice if isinstance(predict, Victim) else 64)
    scorers = {"predict": Scorer(predict, "predict", batch)}
    scorers |= {name: Scorer(function, name, batch, 20_000) for name, function in tool.scorers().items()}
    todo = ((index, example) for index, example in enumerate(listed) if index not in journal.outcomes)
    with journal, reporting(len(listed), list(journal.outcomes.values()), progress) as report:
        run(todo, plan, scorers, width, journal, report)
    outcomes = in_order(journal)
    return Results(outcomes, summarise(tool.name, outcomes, journal.effort), names)


def tool_of(attack: str | Attack, settings: dict[str, Any], surface: Any, predict: Any = None) -> Attack:
    """The attack with its settings; a surface that it would not use is an error."""
    tool = make(attack, settings, predict)
    if not tool.lexical and surface != "default" and not isinstance(surface, Surface):
        raise InputError(f"{tool.name} replaces no words by others, got the surface {surface}; leave out --surface")
    return tool


def in_order(journal: Journal) -> list[Outcome]:
    """Outcomes in the order of the examples."""
    return [journal.outcomes[index] for index in sorted(journal.outcomes)]


@dataclass(frozen=True)
class Plan:
    """What is done to every example."""

    attack: Attack
    surface: Surface
    side: str
    budget: int | None
    seed: int
    victim: Victim | None = None  # what knows its temperature, and how much of a text it reads

    def described(self, examples: list[Example]) -> dict[str, Any]:
        """What must be the same when a journal is resumed."""
        mark = hashlib.sha256(repr([(example.text, example.label) for example in examples]).encode("utf-8", "replace"))
        own = {field.name: plain(getattr(self.attack, field.name)) for field in fields(self.attack)}  # type: ignore[arg-type]
        setup = {"attack": self.attack.name, **own, "surface": self.surface.name, "side": self.side}
        heat = self.victim.temperature if self.victim else 1.0
        setup |= {"calibrated": round(heat, 6)}  # the genetic attack has a `temperature` of its own
        return setup | {"budget": self.budget, "seed": self.seed, "examples": len(examples), "sha256": mark.hexdigest()}


def plain(value: Any) -> Any:
    """A setting as JSON; a function by the name of its type."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return list(value) if isinstance(value, tuple) else type(value).__name__


def run(
    todo: Iterator[tuple[int, Example]],
    plan: Plan,
    scorers: dict[str, Scorer],
    width: int,
    journal: Journal,
    report: Report,
) -> None:
    """Run rounds until all examples are finished. The cost of the session is recorded even after an error."""
    start = time.perf_counter()
    try:
        for outcome in lockstep((examine(index, example, plan) for index, example in todo), scorers, width):
            journal.add(outcome)
            report(outcome)
    except InputError as error:
        kept = f", kept in {journal.path}; resume to continue from there (--resume)" if journal.path else ""
        done = f"{len(journal.outcomes)} examples are finished{kept}"
        raise AttackStopped(f"{error} ({done})", in_order(journal)) from error
    finally:
        model = scorers["predict"]
        extra = {name: scorer.scored for name, scorer in scorers.items() if name != "predict"}
        journal.close_session(Effort(model.scored, model.calls, time.perf_counter() - start, model.seconds, extra))


@dataclass
class Running:
    """A search between two rounds, and what it waits for."""

    search: Examination
    wants: Queries


def lockstep(searches: Iterator[Examination], scorers: dict[str, Scorer], width: int) -> Iterator[Outcome]:
    """Run up to `width` searches at once; yield each outcome as soon as it is known."""
    running: list[Running] = []
    while True:
        for search in searches:
            running.append(Running(search, next(search)))
            if len(running) >= width:
                break
        if not running:
            return
        replies = answers([one.wants for one in running], scorers)
        going = []
        for one, reply in zip(running, replies, strict=True):
            try:
                one.wants = one.search.send(reply)
                going.append(one)
            except StopIteration as stop:
                yield stop.value
        running = going


def answers(wanted: list[Queries], scorers: dict[str, Scorer]) -> list[Scores]:
    """The rows that each search waits for, from one call of each scorer."""
    replies: list[Scores] = [np.empty(0)] * len(wanted)
    for name, scorer in scorers.items():
        mine = [at for at, queries in enumerate(wanted) if queries.of == name]
        if mine:
            rows = scorer([text for at in mine for text in wanted[at].texts])
            ends = np.cumsum([len(wanted[at].texts) for at in mine])
            for at, part in zip(mine, np.split(rows, ends[:-1]), strict=True):
                replies[at] = part
    return replies


def examine(index: int, example: Example, plan: Plan) -> Examination:
    """One example from its first score to its outcome."""
    before = (yield Queries([example.text]))[0]
    if example.label >= len(before):
        raise InputError(f"example {index}: expected a label below the {len(before)} classes, got {example.label}")
    target = targeted(example, before, plan)
    known: dict[str, Any] = {"index": index, "text": example.text, "label": example.label, "words": len(target.words)}
    known |= {"predicted": int(before.argmax()), "probability": float(before[example.label])}
    if target.flipped(before):
        return Outcome(status="skipped", reason="misclassified", queries=1, **known)
    if not len(target.words):
        return Outcome(status="skipped", reason="no words", queries=1, **known)
    random = np.random.default_rng([plan.seed, index])
    attempt, asked = yield from limited(plan.attack(target, plan.surface, random), plan.budget)
    if isinstance(attempt, Attempt):
        return concluded(attempt, target, plan, known | {"queries": asked})
    reason = attempt or f"nothing to change ({plan.surface.lexicon.name})"
    return Outcome(status="failure" if attempt else "skipped", reason=reason, queries=asked, **known)


def targeted(example: Example, before: Scores, plan: Plan) -> Target:
    """The example as the search sees it."""
    alone, first = isinstance(example.text, str), plan.side == "first"
    read = plan.victim.reads(example.text, 0 if alone or first else 1) if plan.victim else None
    if isinstance(example.text, str):
        return Target(plan.surface.split(example.text, read), example.label, before)
    changing, other = example.text if first else reversed(example.text)
    return Target(plan.surface.split(changing, read), example.label, before, other, first)


def limited(search: Any, budget: int | None) -> Generator[Queries, Scores, tuple[Attempt | str | None, int]]:
    """Run a search and count its queries; a request beyond the budget ends it: (attempt or reason, queries)."""
    asked, reply = 1, None
    while True:
        try:
            wants = search.send(reply)
        except StopIteration as stop:
            return stop.value, asked
        if wants.of == "predict":
            if budget is not None and asked + len(wants.texts) > budget:
                search.close()
                return "budget spent", asked
            asked += len(wants.texts)
        reply = yield wants


def concluded(attempt: Attempt, target: Target, plan: Plan, known: dict[str, Any]) -> Outcome:
    """The outcome of a search that ran to its end."""
    return Outcome(
        status="success" if target.flipped(attempt.scores) else "failure",
        reason="",
        found=target.of(attempt.text),
        found_predicted=int(attempt.scores.argmax()),
        found_probability=float(attempt.scores[target.label]),
        changes=changes(plan.surface.split(target.words.text), plan.surface.split(attempt.text)),
        **known,
    )
