"""A run is a folder: config.yaml, model.safetensors, tokenizer, metrics.jsonl, and last of all result.json.

This is the only writer of result.json. It is replaced by an atomic rename: it exists, or the run is not done. Whoever
adds to it calls `update`, which takes the run's lock, reads the file again, changes one section and replaces it: `uegr
evaluate` and `uegr attack` can work on one run at the same time.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

import yaml
from filelock import FileLock, Timeout

from uegr import result as results
from uegr import safe_yaml
from uegr.errors import InputError
from uegr.files import flush_folder, naming, remove_abandoned, write_text
from uegr.result import Result
from uegr.runs import model_card

RESULT, CONFIG, METRICS = results.NAME, "config.yaml", "metrics.jsonl"
GRID = "grid.yaml"  # in the folder of a grid
LOCK = ".lock"  # held while a run is trained, and while result.json is replaced
ANSWERS = "answers.safetensors"  # of teachers, while a run that has some is not done


def tidy(folder: Path) -> None:
    """Remove what a killed process left: a folder in which no run had started, temporary files."""
    if folder.exists() and not (folder / CONFIG).is_file():
        shutil.rmtree(folder)
    remove_abandoned(folder)


def write_json(path: Path, content: Any) -> None:
    """Readable JSON, atomically."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def is_done(folder: Path) -> bool:
    """Whether the run has finished."""
    return (folder / RESULT).is_file()


def read(folder: Path) -> Result:
    """The result of a finished run."""
    if not is_done(folder) and (folder / CONFIG).is_file():
        finish = f"finish it with `uegr train --resume {quote(str(folder))}`"
        raise InputError(f"{folder} is an unfinished run: it has no file {RESULT}; {finish}")
    if not is_done(folder):
        raise InputError(f"expected a finished run with {RESULT} in {folder}, {found_instead(folder)}")
    return results.read(folder / RESULT)


def found_instead(folder: Path) -> str:
    """What there is in the place of a run, and what to do."""
    if folder.is_dir():
        return "got none; run `uegr train` first"
    if folder.exists():
        return "but it is a file; name the folder of the run"
    where = "" if folder.is_absolute() else f" in {Path.cwd()}"
    return f"but there is no such folder{where}; correct the path, or run `uegr train` first"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """The lock of a run, for as long as it is trained; a second training in the same folder is an error."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        taken = lock(folder).acquire(timeout=0)
    except Timeout:
        raise InputError(f"another process trains in {folder}; wait for it, or choose another --output") from None
    with taken, naming(folder):
        yield


def lock(folder: Path) -> FileLock:
    """The one lock of a run; whoever holds it may take it again."""
    return FileLock(folder / LOCK, is_singleton=True)


def create(folder: Path, result: Result) -> Result:
    """The model card, then result.json, which says that the run is done; checkpoints are not needed any more."""
    with lock(folder):
        write(folder, result)
    flush_folder(folder)  # the name of result.json is on the disk before the names of checkpoints go
    clear_checkpoints(folder)
    return result


def update(folder: Path, change: Callable[[Result], Result]) -> Result:
    """Replace result.json by `change` of what it holds now; nobody else's section is lost."""
    with lock(folder):
        done = write(folder, change(read(folder)))
        clear_checkpoints(folder)  # of a training that was killed after its last file
    return done


def finished(folder: Path) -> Result:
    """The result of a run that is done, without the checkpoints that a training leaves if it is killed at its end."""
    clear_checkpoints(folder)
    return read(folder)


def write(folder: Path, result: Result) -> Result:
    """Both files; only with the lock."""
    write_text(folder / model_card.FILE, model_card.card(folder.resolve().name, result))
    write_text(folder / RESULT, result.to_json())
    return result


def read_config(folder: Path) -> dict[str, Any] | None:
    """The resolved configuration of a run that has started."""
    path = folder / CONFIG
    return safe_yaml.load(path.read_text(encoding="utf-8"), str(path)) if path.is_file() else None


def write_config(folder: Path, config: dict[str, Any]) -> None:
    """The resolved configuration, before anything else is written."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / CONFIG, yaml.safe_dump(config, sort_keys=False, allow_unicode=True))


def check(folder: Path, config: dict[str, Any], resume: bool) -> None:
    """A run may start in a new or empty folder, or resume where the same run started; any other folder is an error."""
    remove_abandoned(folder)
    before = read_config(folder)
    if before is None:
        if folder.exists() and (not folder.is_dir() or {path.name for path in folder.iterdir()} - {LOCK}):
            raise InputError(f"expected a new or empty folder, got {folder}; choose another --output")
        return
    if not resume and is_done(folder):
        raise InputError(f"{folder} holds a finished run; choose another --output, or remove the folder")
    if not resume:
        raise InputError(f"{folder} holds an unfinished run; continue it with --resume, or choose another --output")
    if changed := [key for key in config | before if config.get(key) != before.get(key)]:
        raise InputError(
            f"{folder} was started with another {', '.join(changed)} (see its {CONFIG}); "
            "use the same settings, or choose another --output"
        )


def check_started(folder: Path, start: str) -> None:
    """Raise if there is no run to resume; `start` is what to do instead."""
    if (folder / CONFIG).is_file():
        return
    if (folder / GRID).is_file():
        command = f"uegr benchmark FILE --output {quote(str(folder))}"
        raise InputError(
            f"{folder} is the folder of a grid, not of a run; resume it with `{command}` and the grid's FILE"
        )
    found = (
        f"it has no {CONFIG}" if folder.is_dir() else "it is a file" if folder.exists() else "there is no such folder"
    )
    free = not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
    raise InputError(f"nothing to resume in {folder}: {found}; {start if free else 'name the folder of a run'}")


def clear_checkpoints(folder: Path) -> None:
    """Drop what only an unfinished run needs."""
    for path in [*folder.glob("*checkpoint-*"), *folder.glob("best-*"), folder / "best.partial"]:
        shutil.rmtree(path, ignore_errors=True)
    (folder / ANSWERS).unlink(missing_ok=True)
