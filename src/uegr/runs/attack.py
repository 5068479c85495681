"""Attack a finished run: outcomes as JSON lines in its folder, the summary in its result.json."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from uegr import data as data_room
from uegr.attacks import Example, Results, Victim
from uegr.attacks import attack as attack_model
from uegr.models.texts import labels_of, texts_of
from uegr.runs import folder as store
from uegr.runs import model_card, multitask
from uegr.runs.evaluate import Finished, held_out


def attack_run(
    folder: Path,
    *,
    attack: str,
    examples: int,
    dataset: str | None = None,
    surface: str = "default",
    side: str = "second",
    budget: int | None = None,
    seed: int = 0,
    resume: bool = False,
    quiet: bool = False,
    settings: dict[str, Any] | None = None,
) -> Results:
    """Attack `examples` held-out rows of the run's own data set, or of another; the same rows for every run."""
    run = Finished(folder)
    if "tasks" in run.result:  # the data set says which head
        run, dataset = multitask.of_task(run, dataset), None
    data = run.held_out_data() if dataset is None else run.data(dataset)
    rows = held_out(data)
    chosen = rows if examples >= len(rows) else data_room.subsample(rows, size=examples, seed=0)
    victim = Victim(run.model, run.tokenizer, max_length=run.max_length)
    journal = folder / "attacks" / f"{attack}-{data.name.replace('/', '_')}.jsonl"
    journal.parent.mkdir(exist_ok=True)
    results = attack_model(
        victim,
        [Example(text, int(label)) for text, label in zip(texts_of(chosen), labels_of(chosen), strict=True)],
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
    summaries = run.result.get("attacks", {}) | {f"{attack} on {data.name}": asdict(results.summary)}
    result = run.result | {"attacks": summaries}
    store.write_json(folder / store.RESULT, result)
    model_card.write(folder, result)
    return results
