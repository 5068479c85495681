"""Attack a finished run: outcomes as JSON lines in its folder, the figures in its result.json."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from uegr import data as data_room
from uegr.attacks import Example, Results, Victim, load_surface
from uegr.attacks import attack as attack_model
from uegr.attacks.engine import tool_of
from uegr.attacks.journal import discard, outcomes_so_far
from uegr.data.card import changeable
from uegr.errors import InputError
from uegr.models.texts import labels_of, texts_of
from uegr.result import Attack, Result
from uegr.runs import folder
from uegr.runs.calibrate import honest_temperature
from uegr.runs.finished import FinishedTask, held_out_rows, open_run
from uegr.statistics import packed, proportion

USUAL = {"seed": 0, "surface": "default", "budget": None, "calibrate": True}


def attack_run(
    place: Path,
    *,
    attack: str,
    examples: int,
    dataset: str | None = None,
    task: str | None = None,
    surface: str = "default",
    side: Literal["first", "second"] | None = None,
    budget: int | None = None,
    seed: int = 0,
    calibrate: bool = True,
    resume: bool = False,
    overwrite: bool = False,
    alone: bool = False,
    quiet: bool = False,
    trust_remote_code: bool = False,
    device: str | None = None,
    settings: dict[str, Any] | None = None,
    **reading: Any,
) -> Results:
    """Attack `examples` held-out rows of a task's own data set, or of another; the same rows for every run.

    Other settings, another seed or more examples have a journal and figures of their own; `alone` drops the others of
    the same attack and data. The attack reads probabilities after a temperature, unless `calibrate` is False.
    Of a pair `side` changes; default: as the card of the data says. `settings` are the attack's own; `reading` as in
    `uegr.data.load`.
    """
    if resume and overwrite:
        raise InputError("expected --resume or --overwrite, got both; --overwrite starts over")
    lexical = tool_of(attack, settings or {}, surface).lexical  # raises before anything is read
    known = load_surface(surface) if lexical and surface != "default" else surface
    run = open_run(place, trust_remote_code=trust_remote_code, device=device)
    chosen = run.task(task or own_task(run.tasks, dataset))
    data = chosen.held_out(dataset, **reading)
    rows = held_out_rows(data)
    rows = rows if examples >= len(rows) else data_room.subsample(rows, size=examples, seed=0)
    heat = honest_temperature(chosen, set(texts_of(rows))) if calibrate else None
    usual = changeable(data.card)
    side = side or usual
    given = {"seed": seed, "surface": surface, "budget": budget, "calibrate": calibrate}
    given |= {} if side == usual else {"side": side}
    parts = differing(given | (settings or {}))
    journal = place / "attacks" / journal_name(attack, data.name, len(rows), parts)
    journal.parent.mkdir(exist_ok=True)
    if overwrite:
        discard(journal)
    results = attack_model(
        Victim(chosen.model, chosen.tokenizer, max_length=chosen.max_length, temperature=heat.value if heat else 1.0),
        [Example(text, int(label)) for text, label in zip(texts_of(rows), labels_of(rows), strict=True)],
        attack,
        surface=known,
        side=side,
        budget=budget,
        seed=seed,
        output=journal,
        resume=resume,
        progress=False if quiet else None,
        **(settings or {}),
    )
    options = {"surface": surface, "side": side, "budget": budget, "calibrated": heat is not None} | (settings or {})
    found = figures(results, chosen, data.name, seed, options, journal.name)
    found = found.model_copy(update={"temperature": heat})
    keep(chosen, ", ".join([f"{attack} on {data.name}", f"{len(rows)} examples", *parts]), found, alone)
    return replace(results, labels=chosen.labels or ())


def differing(given: dict[str, Any]) -> list[str]:
    """Settings that are not the usual ones, in words.

    >>> differing({"seed": 1, "surface": "default", "variant": "greedy"})
    ['seed 1', 'variant greedy']
    """
    return [f"{name} {value}" for name, value in given.items() if name not in USUAL or value != USUAL[name]]


def journal_name(attack: str, data: str, examples: int, parts: list[str]) -> str:
    """The file of an attack's outcomes; its settings are in the name.

    >>> journal_name("pwws", "my/films", 200, ["seed 1", "surface lists/words.tsv"])
    'pwws-my_films-200-seed_1-surface_lists_words_tsv.jsonl'
    """
    named = [re.sub(r"\W+", "_", part).strip("_") for part in parts]
    return "-".join([attack, data.replace("/", "_"), str(examples), *named])[:200] + ".jsonl"


def own_task(tasks: Any, dataset: str | None) -> str | None:
    """The task that a data set is of, where it is one of the run's own."""
    return next((name for name, one in tasks.items() if dataset in (name, one.about.dataset)), None)


def figures(
    results: Results, task: FinishedTask, data: str, seed: int, settings: dict[str, Any], journal: str
) -> Attack:
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
        journal=journal,
        right=packed([outcome.right_after for outcome in outcomes]),
    )


def keep(task: FinishedTask, name: str, found: Attack, alone: bool) -> None:
    """Write the figures of an attack beside those of others, or in place of those with other settings."""

    def added(result: Result) -> Result:
        before = result.tasks[task.name].attacks
        if alone:
            before = {key: one for key, one in before.items() if (one.attack, one.data) != (found.attack, found.data)}
        return result.with_task(task.name, attacks=before | {name: found})

    stale = set(journals(task)) if alone else set()
    folder.update(task.run.folder, added)
    for journal in stale - set(journals(task)):
        journal.unlink(missing_ok=True)


def journals(task: FinishedTask) -> list[Path]:
    """The journals that the result names now."""
    known = folder.read(task.run.folder).tasks[task.name].attacks.values()
    return [task.run.folder / "attacks" / one.journal for one in known if one.journal]


def damaged_journals(place: Path) -> dict[Path, str]:
    """The journals in a run's folder that cannot be read, and why."""
    found = {}
    for path in sorted((place / "attacks").glob("*.jsonl")):
        if path.name.startswith("damaged-"):
            continue
        try:
            outcomes_so_far(path)
        except InputError as error:
            found[path] = str(error).removeprefix(f"{path} ").partition(";")[0]
    return found
