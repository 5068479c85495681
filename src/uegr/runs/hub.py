"""A finished run for the model hub: weights, tokenizer, the model card with its model-index, and `.eval_results`.

result.json, config.yaml and paths.json stay at home: they hold paths of this machine. The card has the settings and
the figures.
"""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from uegr.cache import box
from uegr.errors import InputError
from uegr.files import write_text
from uegr.result import Result, Task
from uegr.runs import folder, manifest, model_card, paths
from uegr.statistics import Figure

RESULTS = ".eval_results"
AT_HOME = {folder.CONFIG, paths.FILE}  # of the files that the manifest names
SPLITS = ("test", "validation")  # the first that has scores is reported


def write_hub_folder(place: Path, name: str, target: Path) -> list[str]:
    """Write what the repository `name` would hold into a new or empty folder; the names of the files."""
    check_name(name)
    result = folder.read(place)
    manifest.check_whole(place)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"expected a new or empty folder, got {target}; choose another --output")
    target.mkdir(parents=True, exist_ok=True)
    kept = (name for name in manifest.read(place).files if name not in AT_HOME and not name.endswith(manifest.EXPORT))
    for part in sorted(kept):
        shutil.copyfile(place / part, target / part)
    write_text(target / model_card.FILE, model_card.card(name.rpartition("/")[2], result))
    for file, entries in eval_results(result).items():
        (target / RESULTS).mkdir(exist_ok=True)
        write_text(target / RESULTS / file, yaml.safe_dump(entries, sort_keys=False, allow_unicode=True))
    return sorted(path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file())


def upload(place: Path, name: str, *, private: bool = True) -> str:
    """Create the repository if it is not there, and upload; its address."""
    from huggingface_hub import HfApi

    check_name(name)
    with box(place) as target:
        write_hub_folder(place, name, target)
        try:
            address = HfApi().create_repo(name, private=private, exist_ok=True)
            HfApi().upload_folder(repo_id=name, folder_path=str(target), commit_message="Upload a uegr run")
        except Exception as error:  # whatever the network stack or the hub's client raises: nothing was uploaded
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
            raise InputError(f"cannot upload to {name}: {reason}; {remedy(error)}") from error
    return str(address)


def check_name(name: str) -> None:
    """Raise for what is no name of a repository with its owner.

    >>> check_name("my-model")
    Traceback (most recent call last):
    ...
    uegr.errors.InputError: expected a repository as owner/name, such as me/my-model, got my-model...
    """
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]  # public, but not in __all__

    try:
        validate_repo_id(name)
        valid = name.count("/") == 1
    except HFValidationError:
        valid = False
    if not valid:
        raise InputError(
            f"expected a repository as owner/name, such as me/my-model, got {name}; use letters, digits, and - _ . "
            "inside of a name"
        )


def remedy(error: Exception) -> str:
    """What to do, by what went wrong: no permission, another answer of the hub, offline mode, or no answer at all.

    >>> remedy(TimeoutError())
    'connect to the network, or write the folder with --output FOLDER and upload it later'
    """
    from huggingface_hub.errors import LocalTokenNotFoundError, OfflineModeIsEnabled

    status = getattr(getattr(error, "response", None), "status_code", None)
    instead = "or write the folder with --output FOLDER and upload it later"
    if status in (401, 403) or isinstance(error, LocalTokenNotFoundError):
        return "log in with `hf auth login` as somebody who may write there, and check the owner's name"
    if status is not None:
        return f"check the name, try again later, {instead}"
    if isinstance(error, OfflineModeIsEnabled):
        return f"unset HF_HUB_OFFLINE, {instead}"
    return f"connect to the network, {instead}"


def eval_results(result: Result) -> dict[str, list[dict[str, Any]]]:
    """File name -> entries, for every data set that is on the hub: the hub links scores to its data sets only."""
    cards = model_card.data_cards(result)
    found = {}
    for task in result.tasks.values():
        name = model_card.short(task.dataset)
        if cards.get(name) is not None and cards[name].where.hub is not None:
            found[f"{name}.yaml"] = list(entries(task, cards[name].where.hub))
    return {file: some for file, some in found.items() if some}


def entries(task: Task, hub: Any) -> Iterator[dict[str, Any]]:
    """The main metric on the test split, else on the validation split, in percent."""
    split = next((one for one in SPLITS if task.scores.get(one)), None)
    metric = next((one for one in task.metrics if split and one in task.scores[split]), None)
    if split is not None and metric is not None:
        figure = task.scores[split][metric]
        dataset = {"id": hub.path, "task_id": hub.config or "default"}
        yield {"dataset": dataset, "value": round(100 * figure.value, 2), "notes": notes(metric, split, figure)}


def notes(metric: str, split: str, figure: Figure) -> str:
    """
    >>> notes("accuracy", "test", Figure(0.9, 0.88, 0.92, 872))
    'accuracy on test, 872 rows, 95% interval 88.0-92.0'
    """
    ends = f", 95% interval {100 * figure.low:.1f}-{100 * figure.high:.1f}" if figure.bounded else ""
    return f"{metric} on {split}, {figure.n:,} rows{ends}"
