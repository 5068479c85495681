"""Settings chosen on validation rows (Optuna), once for a cell and its other seeds.

A trial is a run folder below OUT/.search, trained without test rows: they are not in its data, so that no search can
look at them (`train(..., development=True)`). The sampler is seeded and the trials are kept, so an interrupted search
resumes: asked again, it proposes the same settings and finds their results.
"""

import hashlib
import json
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import ValidationError

from uegr import result as results
from uegr.benchmark.plan import Cell
from uegr.benchmark.work import Work
from uegr.errors import InputError, did_you_mean
from uegr.files import set_aside
from uegr.runs import folder
from uegr.safe_json import complaint
from uegr.training.config import RunConfig
from uegr.training.overrides import put

FOUND = "search.json"


def chosen_settings(work: Work, cell: Cell) -> tuple[RunConfig, results.Search]:
    """The cell's configuration with the settings that did best, and the whole search."""
    name = search_name(cell)
    place = work.root / ".search" / name
    with work.lock(name, wait=True):  # cells of other seeds wait here, and then read the same file
        found = read_search(place / FOUND)
        if found is None:
            place.mkdir(parents=True, exist_ok=True)
            found = search(cell, place)
            folder.write_json(place / FOUND, found.model_dump(mode="json"))
    if not set(found.chosen) <= set((cell.search or {})["space"]):  # no other setting may come from this file
        raise InputError(f"{place / FOUND} sets {', '.join(found.chosen)}, which were not searched; delete the file")
    return with_settings(cell.config, found.chosen), found


def read_search(path: Path) -> results.Search | None:
    """A finished search; a damaged file is set aside, and its trials, which are kept, give it again."""
    if not path.is_file():
        return None
    try:
        return results.Search.model_validate_json(path.read_bytes())
    except ValidationError as error:
        set_aside(path, complaint(error))
        return None


def search_name(cell: Cell) -> str:
    """The same for every seed of a cell."""
    content = {"config": {**cell.config, "seed": None}, "search": cell.search}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]
    return f"{RunConfig(**{**cell.config, 'seed': 0}).label()}-{digest}"


def with_settings(config: dict[str, Any], settings: dict[str, Any]) -> RunConfig:
    """A configuration with `section.key` settings put in."""
    copy = json.loads(json.dumps(config))
    for key, value in settings.items():
        put(copy, key.split("."), value)
    return RunConfig(**copy)


def search(cell: Cell, place: Path) -> results.Search:
    """Run the trials; the best score on validation wins, the first of equals."""
    spec = cell.search or {}
    study = new_study(spec["seed"])
    trials: list[results.Trial] = []
    for number in range(spec["trials"]):
        trial = study.ask()
        settings = {key: proposed(trial, key, values) for key, values in spec["space"].items()}
        score = tried(cell, settings, place / f"trial-{number}")
        study.tell(trial, score)
        trials.append(results.Trial(number=number, settings=settings, score=score))
    best = max(trials, key=lambda one: one.score)
    return results.Search(chosen=best.settings, score=best.score, split="validation", asked=spec, trials=trials)


def new_study(seed: int) -> Any:
    try:
        import optuna
    except ImportError:
        raise InputError("a search needs Optuna, which is not installed; pip install 'uegr[search]'") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))


def proposed(trial: Any, key: str, values: Any) -> Any:
    """A value from a list, or from a range."""
    if not isinstance(values, dict):
        return values[trial.suggest_categorical(key, list(range(len(values))))]  # by place: a value may be a pair
    low, high, log = values["low"], values["high"], values["log"]
    whole = isinstance(low, int) and isinstance(high, int)
    return trial.suggest_int(key, low, high, log=log) if whole else trial.suggest_float(key, low, high, log=log)


def tried(cell: Cell, settings: dict[str, Any], place: Path) -> float:
    """The score on validation of one choice; of a finished trial only its result is kept."""
    from uegr.runs.train import train

    spec = cell.search or {}
    different = {f"{section}.{key}": value for section, part in spec["trial"].items() for key, value in part.items()}
    config = with_settings({**cell.config, "seed": spec["seed"]}, different | settings)
    folder.tidy(place)
    train(config, place, resume=True, quiet=True, development=True)
    (place / "model.safetensors").unlink(missing_ok=True)
    return validation_score(folder.read(place), spec["metric"])


def validation_score(result: results.Result, metric: str | None) -> float:
    """The mean over tasks of the metric of the one split that a trial is scored on."""
    return fmean(task_score(task, metric) for task in result.tasks.values())


def task_score(task: results.Task, metric: str | None) -> float:
    """The metric of one task on its validation rows."""
    if len(task.scores) != 1:
        raise InputError(f"expected a trial that saw validation rows only, got {', '.join(task.scores)}")
    (scores,) = task.scores.values()
    if metric is not None and metric not in scores:
        raise InputError(f"the search uses {metric}, which validation does not have; {did_you_mean(metric, scores)}")
    return scores[metric or next(iter(scores))].value
