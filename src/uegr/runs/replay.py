"""Adversarial texts that were found on another run, scored on this one: does a gain survive without its gradients?

A model whose gradients or probabilities mislead a search looks robust; texts found on a plain model show it
(Athalye et al. 2018). Nothing is searched: the journal of the other run has the texts.
"""

import time
from pathlib import Path
from typing import Any

from uegr.attacks.journal import outcomes_of
from uegr.attacks.outcome import Outcome
from uegr.errors import InputError
from uegr.result import Attack
from uegr.runs import folder
from uegr.runs.attack import keep
from uegr.runs.finished import FinishedTask, open_run
from uegr.statistics import packed, proportion


def replay_run(
    place: Path,
    other: Path,
    *,
    attack: str = "pwws",
    task: str | None = None,
    called: str | None = None,
    trust_remote_code: bool = False,
    device: str | None = None,
) -> dict[str, Attack]:
    """The accuracy on what an attack found on another run, by the attack's name there; written into result.json.

    `called` is the other run's name in it; without one, that of its folder.
    """
    chosen = open_run(place, trust_remote_code=trust_remote_code, device=device).task(task)
    theirs = folder.read(other)
    source = theirs.tasks[theirs.task_named(task)]
    if source.labels != chosen.labels:
        raise InputError(
            f"expected a run with the labels {chosen.labels}, got {source.labels}; choose another --replay"
        )
    found = {name: one for name, one in source.attacks.items() if one.attack == attack and one.journal}
    if not found:
        raise InputError(f"{other} was not attacked with {attack}; run `uegr attack {other} --attack {attack}` first")
    source_name = called or other.resolve().name
    made = {f"{name}, from {source_name}": replayed(chosen, other, one, source_name) for name, one in found.items()}
    for name, figures in made.items():
        keep(chosen, name, figures, alone=called is not None)
    return made


def replayed(task: FinishedTask, other: Path, found: Attack, called: str) -> Attack:
    """One attack's texts on this model; a text that was not flipped there is scored as it was."""
    outcomes, started = outcomes_of(other / "attacks" / found.journal), time.perf_counter()
    before = right(task, outcomes, [outcome.text for outcome in outcomes])
    moved = [outcome.found if outcome.status == "success" else outcome.text for outcome in outcomes]
    after = right(task, outcomes, moved) & before
    seconds, rows = time.perf_counter() - started, len(outcomes)
    return Attack(
        attack=f"{found.attack} replayed",
        data=found.data,
        examples=rows,
        accuracy_before=proportion(int(before.sum()), rows),
        accuracy_after=proportion(int(after.sum()), rows),
        success_rate=proportion(int((before & ~after).sum()), int(before.sum())) if before.any() else None,
        words_changed=None,
        words_changed_share=None,
        queries=None,
        skipped={},
        scored=2 * rows,
        calls=2,
        seconds=seconds,
        seconds_predicting=seconds,
        max_length=task.max_length,
        seed=found.seed,
        right=packed(after),
        settings=found.settings | {"replayed_from": called},
    )


def right(task: FinishedTask, outcomes: list[Outcome], texts: list[Any]) -> Any:
    """Whether the model has each text right, (texts,)."""
    return task.probabilities(texts).argmax(1) == [outcome.label for outcome in outcomes]
