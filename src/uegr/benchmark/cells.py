"""What is done for a cell, once: search, train, measure, attack; each step is kept, and the next run goes on from it.

    OUT/grid.yaml            what is run, and what the paper printed
    OUT/cells/NAME/          an ordinary run folder; result.json is the proof that it is trained
    OUT/locks/NAME.lock      held by the process that works on the cell; the kernel lets go of it when that process dies
    OUT/journal.jsonl        who began and ended what, for people and for tests; nothing is decided by it

A cell is done when its result.json holds everything that was asked for. A failure is written down beside it as
failure.json, and the cell is tried again the next time.
"""

import gc
import json
import os
import shutil
import socket
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from uegr.benchmark.plan import Cell
from uegr.errors import InputError
from uegr.runs import folder as store
from uegr.training.config import RunConfig

FAILURE, JOURNAL = "failure.json", "journal.jsonl"
State = Literal["done", "failed", "busy"]


@dataclass(frozen=True)
class Work:
    """Where a grid is worked on, since when, and the command that asked for it."""

    root: Path
    since: float
    command: str = ""

    def folder(self, cell: Cell) -> Path:
        return self.root / "cells" / cell.name

    def lock(self, name: str, *, wait: bool) -> FileLock:
        """The lock of a cell or a search; a new one each time, so that no two threads share it."""
        path = self.root / "locks" / f"{name}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        return FileLock(path, timeout=-1 if wait else 0, is_singleton=False)

    def note(self, cell: Cell, event: str) -> None:
        """One line in the journal, in one write."""
        entry = {"time": round(time.time(), 3), "cell": cell.name, "event": event}
        entry |= {"process": os.getpid(), "host": socket.gethostname()}
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / JOURNAL).open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")


def journal(root: Path) -> list[dict[str, Any]]:
    """The whole lines of the journal; a killed process may leave one that is cut."""
    path, entries = root / JOURNAL, []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entries.append(json.loads(line))
        except ValueError:
            continue
    return entries


def attempt(work: Work, cell: Cell, *, wait: bool = False) -> State:
    """Do what the cell lacks, unless another process is at it; `wait` waits for that process first."""
    if is_complete(work, cell):
        return "done"
    try:
        with work.lock(cell.name, wait=wait):
            if is_complete(work, cell):  # another process was faster
                return "done"
            if failed_since(work, cell):
                return "failed"
            return guarded(work, cell)
    except Timeout:
        return "busy"


def guarded(work: Work, cell: Cell) -> State:
    """Do it; whatever goes wrong is written down, and the grid goes on."""
    try:
        complete(work, cell)
    except Exception as error:
        record_failure(work, cell, error)
        return "failed"
    finally:
        gc.collect()  # a model may hang in a cycle, and the next cell needs its memory
    return "done"


def complete(work: Work, cell: Cell) -> None:
    """Every step that is missing."""
    started, folder = time.time(), work.folder(cell)
    tidy(folder)
    if not store.is_done(folder):
        trained(work, cell)
    for name, spec in missing(store.read_result(folder), cell):
        work.note(cell, f"measure {name}")
        measured(folder, name, spec)
    result = store.read_result(folder)
    spent = result.get("cell", {}).get("seconds", 0) + time.time() - started
    block = {**cell.called, "varied": cell.varied, "stands_for": cell.stands_for, "seconds": round(spent, 1)}
    said = {"command": work.command} if work.command else {}
    search = {"search": found_by_search(work, cell)[1]} if cell.search else {}
    store.write_json(folder / store.RESULT, result | said | search | {"cell": block})
    (folder / FAILURE).unlink(missing_ok=True)
    work.note(cell, "done")


def tidy(folder: Path) -> None:
    """Take away what a killed process left: a folder in which no run had begun, temporary files."""
    if folder.exists() and not (folder / store.CONFIG).is_file():
        shutil.rmtree(folder)
    for name in (store.RESULT, store.CONFIG, FAILURE):
        for rest in folder.glob(f".{name}.*"):
            rest.unlink(missing_ok=True)


def trained(work: Work, cell: Cell) -> None:
    """Train, from the last checkpoint on, with the settings that a search has chosen where one is asked for."""
    config = found_by_search(work, cell)[0] if cell.search else RunConfig(**cell.config)
    work.note(cell, "train")
    if cell.processes > 1:
        from uegr.benchmark.processes import train_together

        train_together(work, cell, config)
    else:
        from uegr.runs.train import train

        train(config, work.folder(cell), resume=True, quiet=True)


def found_by_search(work: Work, cell: Cell) -> tuple[RunConfig, dict[str, Any]]:
    from uegr.benchmark.search import chosen_settings

    return chosen_settings(work, cell)


def wanted(cell: Cell) -> dict[str, dict[str, Any]]:
    """What is to be measured, by name, with the settings that decide the figures."""
    measure = dict(cell.measure)
    attacks = {name_of(attack): attack for attack in measure.pop("attacks", [])}
    evaluation = {"evaluation": measure} if measure.pop("evaluate", False) else {}
    return evaluation | attacks


def name_of(attack: dict[str, Any]) -> str:
    """
    >>> name_of({"attack": "pwws", "dataset": None}), name_of({"attack": "pwws", "dataset": "mr"})
    ('pwws', 'pwws on mr')
    """
    return attack["attack"] if attack["dataset"] is None else f"{attack['attack']} on {attack['dataset']}"


def missing(result: dict[str, Any], cell: Cell) -> Iterator[tuple[str, dict[str, Any]]]:
    """What was not measured yet, or with other settings."""
    for name, spec in wanted(cell).items():
        if result.get("measured", {}).get(name) != spec:
            yield name, spec


def measured(folder: Path, name: str, spec: dict[str, Any]) -> None:
    """Measure one thing, and note with which settings."""
    if name == "evaluation":
        from uegr.runs.evaluate import measure

        measure(folder, datasets=spec["datasets"], figures=spec["figures"], rows=spec["rows"], quiet=True)
    else:
        attacked(folder, name, spec)
    result = store.read_result(folder)
    store.write_json(folder / store.RESULT, result | {"measured": result.get("measured", {}) | {name: spec}})


def attacked(folder: Path, name: str, spec: dict[str, Any]) -> None:
    """Attack, going on with an interrupted attack; one with other settings is begun anew."""
    from uegr.runs.attack import attack_run

    begun = folder / "attacks" / f"{name.replace('/', '_')}.json"
    begun.parent.mkdir(exist_ok=True)
    if not begun.is_file() or json.loads(begun.read_text(encoding="utf-8")) != spec:
        own = "*" if spec["dataset"] is None else spec["dataset"].replace("/", "_")
        for journal_file in begun.parent.glob(f"{spec['attack']}-{own}.jsonl"):
            journal_file.unlink()
        store.write_json(begun, spec)
    attack_run(folder, resume=True, quiet=True, **spec)


def is_complete(work: Work, cell: Cell) -> bool:
    """Whether result.json is there and has everything."""
    folder = work.folder(cell)
    if not store.is_done(folder):
        return False
    result = store.read_result(folder)
    return "cell" in result and not any(missing(result, cell))


def record_failure(work: Work, cell: Cell, error: BaseException | str) -> None:
    """failure.json: the last error as one line, and where it came from."""
    said = str(error) if isinstance(error, InputError | str) else f"{type(error).__name__}: {error}"
    lines = traceback.format_exception(error) if isinstance(error, BaseException) else []
    content = {"error": " ".join(said.split())[:2000], "time": time.time(), "traceback": "".join(lines)}
    folder = work.folder(cell)
    folder.mkdir(parents=True, exist_ok=True)
    store.write_json(folder / FAILURE, content)
    work.note(cell, "failed")


def failure(work: Work, cell: Cell) -> dict[str, Any] | None:
    """The last failure of a cell."""
    path = work.folder(cell) / FAILURE
    try:
        return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]
    except (OSError, ValueError):
        return None


def failed_since(work: Work, cell: Cell) -> bool:
    """Whether it failed since this command began: then it is for the next one."""
    last = failure(work, cell)
    return last is not None and last["time"] >= work.since
