"""Attack a finished run: outcomes as JSON lines in its folder, the figures in its result.json."""

from pathlib import Path
from typing import Any

from uegr import data as data_room
from uegr.attacks import Example, Results, Victim
from uegr.attacks import attack as attack_model
from uegr.models.texts import labels_of, texts_of
from uegr.result import Attack
from uegr.runs import folder
from uegr.runs.finished import FinishedTask, held_out_rows, open_run
from uegr.statistics import proportion


def attack_run(
    place: Path,
    *,
    attack: str,
    examples: int,
    dataset: str | None = None,
    task: str | None = None,
    surface: str = "default",
    side: str = "second",
    budget: int | None = None,
    seed: int = 0,
    resume: bool = False,
    quiet: bool = False,
    trust_remote_code: bool = False,
    settings: dict[str, Any] | None = None,
    **reading: Any,
) -> Results:
    """Attack `examples` held-out rows of a task's own data set, or of another; the same rows for every run.

    `settings` are the attack's own; `reading` says how a file is read, as in `uegr.data.load`.
    """
    run = open_run(place, trust_remote_code=trust_remote_code)
    chosen = run.task(task or own_task(run.tasks, dataset))
    data = chosen.held_out(dataset, **reading)
    rows = held_out_rows(data)
    rows = rows if examples >= len(rows) else data_room.subsample(rows, size=examples, seed=0)
    journal = place / "attacks" / f"{attack}-{data.name.replace('/', '_')}.jsonl"
    journal.parent.mkdir(exist_ok=True)
    results = attack_model(
        Victim(chosen.model, chosen.tokenizer, max_length=chosen.max_length),
        [Example(text, int(label)) for text, label in zip(texts_of(rows), labels_of(rows), strict=True)],
        attack,
        surface=surface,
        side=side,  # type: ignore[arg-type]
        budget=budget,
        seed=seed,
        output=journal,
        resume=resume,
        progress=False if quiet else None,
        **(settings or {}),
    )
    options = {"surface": surface, "side": side, "budget": budget} | (settings or {})
    keep(chosen, data.name, figures(results, chosen, data.name, seed, options))
    return results


def own_task(tasks: Any, dataset: str | None) -> str | None:
    """The task that a data set is of, where it is one of the run's own."""
    return next((name for name, one in tasks.items() if dataset in (name, one.about.dataset)), None)


def figures(results: Results, task: FinishedTask, data: str, seed: int, settings: dict[str, Any]) -> Attack:
    """The summary of an attack, its shares with their intervals."""
    found, outcomes = results.summary, results.outcomes
    right = sum(outcome.right_before for outcome in outcomes)
    kept = sum(outcome.right_after for outcome in outcomes)
    return Attack(
        attack=found.attack,
        data=data,
        examples=found.examples,
        accuracy_before=proportion(right, found.examples),
        accuracy_after=proportion(kept, found.examples),
        success_rate=proportion(right - kept, right) if right else None,
        words_changed=found.words_changed,
        words_changed_share=found.words_changed_share,
        queries=found.queries,
        skipped=found.skipped,
        scored=found.scored,
        calls=found.calls,
        seconds=found.seconds,
        seconds_predicting=found.seconds_predicting,
        max_length=task.max_length,
        seed=seed,
        settings=settings,
    )


def keep(task: FinishedTask, data: str, found: Attack) -> None:
    """Write the figures of an attack beside those of the others."""
    name = f"{found.attack} on {data}"
    folder.update(
        task.run.folder,
        lambda result: result.with_task(task.name, attacks=result.tasks[task.name].attacks | {name: found}),
    )
