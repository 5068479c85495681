"""A run is a folder: config.yaml, model.safetensors, tokenizer, metrics.jsonl, and last of all result.json.

result.json is written by atomic rename: it exists, or the run is not done.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import yaml

from uegr.errors import InputError
from uegr.files import write_text

RESULT, CONFIG, METRICS = "result.json", "config.yaml", "metrics.jsonl"
ANSWERS = "answers.safetensors"  # of teachers, while a run that has some is not done


def write_json(path: Path, content: Any) -> None:
    """Readable JSON, atomically."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def is_done(folder: Path) -> bool:
    """Whether the run has finished."""
    return (folder / RESULT).is_file()


def read_result(folder: Path) -> dict[str, Any]:
    """The result of a finished run."""
    path = folder / RESULT
    if not path.is_file():
        raise InputError(f"expected a finished run with {RESULT} in {folder}, got none; run `uegr train` first")
    try:
        return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]
    except ValueError as error:
        raise InputError(f"{path} is no JSON: {error}") from None


def read_config(folder: Path) -> dict[str, Any] | None:
    """The resolved configuration of a run that has begun."""
    path = folder / CONFIG
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else None


def write_config(folder: Path, config: dict[str, Any]) -> None:
    """The resolved configuration, before anything else is written."""
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / CONFIG, yaml.safe_dump(config, sort_keys=False, allow_unicode=True))


def check_folder(folder: Path, config: dict[str, Any], resume: bool) -> None:
    """A run may begin in a new or empty folder, or go on where the same run began; anything else is left alone."""
    before = read_config(folder)
    if before is None:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder} exists and is no run of this tool; choose another --output")
        return
    if not resume:
        state = "a finished run" if is_done(folder) else "an unfinished run"
        raise InputError(f"{folder} holds {state}; go on with --resume, or choose another --output")
    if changed := [key for key in config | before if config.get(key) != before.get(key)]:
        raise InputError(f"{folder} was begun with another {', '.join(changed)} (see its {CONFIG}); say the same again")


def last_checkpoint(folder: Path) -> Path | None:
    """The newest whole checkpoint: its trainer_state.json is written last and must parse."""
    found = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]), reverse=True)
    for path in found:
        try:
            json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        return path
    return None


def clear_checkpoints(folder: Path) -> None:
    """Drop what only an unfinished run needs."""
    for path in [*folder.glob("checkpoint-*"), folder / "best"]:
        shutil.rmtree(path, ignore_errors=True)
    (folder / ANSWERS).unlink(missing_ok=True)
