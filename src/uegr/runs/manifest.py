"""manifest.json: which files make up a checkpoint or a finished run, and what they were trained from.

It is written last, after all other files have reached the disk. A checkpoint without one, or with a file that is
missing, cut or changed, is damaged. Hashing costs one reading of the files (benchmarks/perf/manifest.py), once per
checkpoint and once when a finished run is opened.
"""

import hashlib
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from uegr.errors import InputError
from uegr.files import flush_folder, write_text

NAME = "manifest.json"
EXPORT = ".onnx"
MOST_THREADS = 8  # that hash weights
# written again later, or removed when the run is done
CHANGING = {NAME, "result.json", "README.md", "metrics.jsonl", "failure.json", "answers.safetensors", "answers.part"}


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Listed(Part):
    """One file."""

    size: int
    sha256: str


class Origin(Part):
    """What the weights depend on, beside the configuration."""

    config: str  # the hash of the resolved configuration
    rows: dict[str, list[str]]  # task -> the fingerprints of its tokenised training and validation rows
    weights: str  # the hash of the weights that training started from
    versions: dict[str, str]
    threads: int
    processes: int
    commit: str | None  # of the code, where it runs from a clone


class Manifest(Part):
    """What manifest.json holds."""

    files: dict[str, Listed]
    origin: Origin

    @field_validator("files")
    @classmethod
    def are_names(cls, files: dict[str, Listed]) -> dict[str, Listed]:
        """A manifest may come from anyone: what it lists is in its own folder."""
        if wrong := [name for name in files if name in ("", ".", "..") or "/" in name or "\\" in name]:
            raise ValueError(f"expected names of files, got the path {wrong[0]}")
        return files


def origin(settings: Mapping[str, Any], rows: Mapping[str, Any], weights: str, versions: dict[str, str]) -> Origin:
    """What a run is trained from; `rows` are the tokenised rows by task, `weights` the hash of the model's."""
    return Origin(
        config=settings_hash(settings),
        rows={task: [part._fingerprint for part in parts] for task, parts in rows.items()},
        weights=weights,
        versions=versions,
        threads=torch.get_num_threads(),
        processes=int(os.environ.get("WORLD_SIZE", 1)),
        commit=commit(),
    )


def settings_hash(settings: Mapping[str, Any]) -> str:
    """The hash of a resolved configuration."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def hashing(model: Any) -> Callable[[], str]:
    """Start to hash all weights of a model in threads; the function that is returned waits for the hash.

    The weights must not change before. Hashing lets other Python threads work: a training hashes while it tokenises.

    >>> one, other = torch.nn.Linear(2, 3), torch.nn.Linear(2, 3)
    >>> hashing(one)() == hashing(one)(), hashing(one)() == hashing(other)()
    (True, False)
    """
    pool = ThreadPoolExecutor(min(MOST_THREADS, os.cpu_count() or 1))
    parts = [pool.submit(weight_digest, name, weight) for name, weight in sorted(model.state_dict().items())]
    pool.shutdown(wait=False)
    return lambda: hashlib.sha256("".join(part.result() for part in parts).encode()).hexdigest()


def weight_digest(name: str, weight: torch.Tensor) -> str:
    """The hash of one weight and its name; a single number has no dimension to view as bytes."""
    found = hashlib.sha256(name.encode())
    found.update(weight.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return found.hexdigest()


@cache
def commit() -> str | None:
    """The commit of this code, if it is a clone."""
    here = Path(__file__).parent
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, timeout=5)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None


def write(folder: Path, started_from: Origin) -> None:
    """Flush every file of the folder to the disk, then write the manifest."""
    files = {path.name: listed(path, flush=True) for path in parts(folder)}
    store(folder, Manifest(files=files, origin=started_from))


def store(folder: Path, content: Manifest) -> None:
    write_text(folder / NAME, content.model_dump_json(indent=2) + "\n")
    flush_folder(folder)


def record(folder: Path, name: str) -> None:
    """Add a file that was exported into the folder of a finished run."""
    known = read(folder)
    store(folder, known.model_copy(update={"files": known.files | {name: listed(folder / name, flush=True)}}))


def forget(folder: Path, name: str) -> None:
    """Leave an exported file out, before it is replaced."""
    known = read(folder)
    if name in known.files:
        store(folder, known.model_copy(update={"files": {one: f for one, f in known.files.items() if one != name}}))


def parts(folder: Path) -> list[Path]:
    """The files of a checkpoint or run that do not change once it is whole."""
    return sorted(path for path in folder.iterdir() if path.is_file() and not is_changing(path.name))


def is_changing(name: str) -> bool:
    """Whether a file may change, or go, after its run is done; what is hidden is a lock, or not whole yet.

    >>> is_changing("model.safetensors"), is_changing("model.onnx"), is_changing("damaged-result.json")
    (False, True, True)
    """
    return name in CHANGING or name.endswith(EXPORT) or name.startswith(("damaged-", "."))


def listed(path: Path, flush: bool = False) -> Listed:
    """The size and the hash of a file; `flush` waits until it is on the disk."""
    with path.open("rb") as file:
        if flush:
            os.fsync(file.fileno())
        return Listed(size=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest())


def read(folder: Path) -> Manifest:
    """The manifest of a folder."""
    path = folder / NAME
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise InputError(f"{folder} has no {NAME}") from None
    except (OSError, ValidationError) as error:
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())[:200]}") from None


def damage(folder: Path) -> str | None:
    """What is wrong with the files of a folder, in a few words; None if they are as they were written."""
    try:
        known = read(folder).files
    except InputError as error:
        return str(error)
    kept = {name: file for name, file in known.items() if not name.endswith(EXPORT)}
    return next((reason for name in kept if (reason := difference(folder / name, kept[name]))), None)


def check_whole(folder: Path) -> None:
    """Raise if a file of a finished run is not as it was written."""
    if reason := damage(folder):
        raise InputError(f"the run is damaged: {reason}; restore the file, or train the run again")


def damaged_export(folder: Path) -> str | None:
    """What is wrong with the files that were exported into a folder; they may be missing."""
    kept = {name: file for name, file in read(folder).files.items() if name.endswith(EXPORT)}
    there = [name for name in kept if (folder / name).exists()]
    return next((reason for name in there if (reason := difference(folder / name, kept[name]))), None)


def difference(path: Path, expected: Listed) -> str | None:
    """How a file differs from what was written."""
    if not path.is_file():
        return f"{path} is missing"
    if path.stat().st_size != expected.size:
        return f"{path} has {path.stat().st_size:,} bytes, expected {expected.size:,}"
    if listed(path).sha256 != expected.sha256:
        return f"{path} has changed since it was written: its sha256 is another"
    return None
