"""What is done for a cell, once: search, train, measure, attack; each step is kept, and the next command resumes.

    OUT/grid.yaml            what is run, and what the paper printed
    OUT/cells/NAME/          an ordinary run folder; result.json is the proof that it is trained
    OUT/locks/NAME.lock      held by the process that works on the cell; released by the kernel when that process dies
    OUT/journal.jsonl        who started and ended what, for people and tests; nothing depends on it

A cell is done when its result.json holds everything that was asked for. A failure is recorded beside it in
failure.json, and the next command tries the cell again.
"""

import gc
import json
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from filelock import Timeout

from uegr import result as results
from uegr.benchmark import recording
from uegr.benchmark.grid import AttackSpec, Measure
from uegr.benchmark.plan import Cell
from uegr.benchmark.work import START, Work, attempts
from uegr.errors import InputError
from uegr.runs import folder
from uegr.training.config import RunConfig

FAILURE = "failure.json"
EVALUATION, TRANSFER = "evaluation", "transfer"  # what is measured besides attacks
State = Literal["done", "failed", "busy"]


def attempt(work: Work, cell: Cell, *, wait: bool = False) -> State:
    """Do what the cell lacks, unless another process works on it; `wait` waits for that process first.

    A cell that waits for the one it starts from is busy, too.
    """
    if is_complete(work, cell):
        return "done"
    if waits(work, cell):
        return "busy"
    try:
        with work.lock(cell.name, wait=wait):
            if is_complete(work, cell):  # another process was faster
                return "done"
            if failed_since(work, cell):
                return "failed"
            work.note(cell, START)
            return guarded(work, cell)
    except Timeout:
        return "busy"


def guarded(work: Work, cell: Cell) -> State:
    """Complete the cell; an error is recorded, and the grid continues."""
    try:
        complete(work, cell)
    except Exception as error:
        record_failure(work, cell, error)
        return "failed"
    finally:
        gc.collect()  # a model may be in a reference cycle, and the next cell needs its memory
    return "done"


def waits(work: Work, cell: Cell) -> bool:
    """Whether the cell that this one starts from is neither trained yet nor has failed since the command started."""
    start = work.start_folder(cell)
    if start is None or folder.is_done(start) or folder.is_done(work.folder(cell)):
        return False
    return failed_in(start, work.since) is None


def check_start(work: Work, cell: Cell) -> None:
    """Raise, with its error, if the cell that this one starts from is not trained."""
    start = work.start_folder(cell)
    if start is not None and not folder.is_done(start):
        last = failure_in(start)
        raise InputError(f"it starts from {start.name}, which failed: {last['error'] if last else 'no result'}")


def complete(work: Work, cell: Cell) -> None:
    """Every step that is missing."""
    started, place = time.time(), work.folder(cell)
    folder.tidy(place)
    if not folder.is_done(place):
        check_start(work, cell)
        trained(work, cell)
    for name, spec in missing(folder.read(place), cell):
        work.note(cell, f"measure {name}")
        measured(work, cell, name, spec)
    search = found_by_search(work, cell)[1] if cell.search else None
    spent = time.time() - started
    result = folder.update(place, lambda result: finished(result, work, cell, search, spent))
    recording.record(work, cell, result)
    (place / FAILURE).unlink(missing_ok=True)
    work.note(cell, "done")


def finished(
    result: results.Result, work: Work, cell: Cell, search: results.Search | None, spent: float
) -> results.Result:
    """The result with what the grid knows of it: its names, the search, the command and the time of all attempts."""
    block = block_of(result, cell)
    spent, workers = round(block.seconds + spent, 1), max(block.workers, work.workers)
    block = block.model_copy(update={"seconds": spent, "workers": workers, "complete": True})
    return result.model_copy(update={"cell": block, "search": search, "command": work.command or result.command})


def block_of(result: results.Result, cell: Cell) -> results.Cell:
    """What the grid calls the run, with what was measured so far."""
    named = {**cell.called, "varied": cell.varied, "stands_for": cell.stands_for}
    named |= {"start": cell.start.label} if cell.start else {}
    return (result.cell or results.Cell(**named)).model_copy(update=named)


def trained(work: Work, cell: Cell) -> None:
    """Train, from the last checkpoint, with the settings that a search has chosen where there is one."""
    config = found_by_search(work, cell)[0] if cell.search else RunConfig(**cell.config)
    work.note(cell, "train")
    if cell.processes > 1:
        from uegr.benchmark.processes import train_together

        train_together(work, cell, config)
    else:
        from uegr.runs.train import train

        train(config, work.folder(cell), resume=True, quiet=True)


def found_by_search(work: Work, cell: Cell) -> tuple[RunConfig, results.Search]:
    from uegr.benchmark.search import chosen_settings

    return chosen_settings(work, cell)


def wanted(cell: Cell) -> dict[str, dict[str, Any]]:
    """What must be measured, by name, with the settings that decide the figures."""
    measure = dict(cell.measure)
    attacks = {name_of(attack): attack for attack in measure.pop("attacks", [])}
    source = measure.pop("transfer", None)
    evaluation = {EVALUATION: measure} if measure.pop("evaluate", False) else {}
    moved = {TRANSFER: {"transfer": source, "attacks": list(attacks.values())}} if cell.transfer else {}
    return evaluation | attacks | moved


def name_of(attack: dict[str, Any]) -> str:
    """
    >>> name_of({"attack": "pwws", "dataset": None}), name_of({"attack": "pwws", "dataset": "mr"})
    ('pwws', 'pwws on mr')
    """
    return attack["attack"] if attack["dataset"] is None else f"{attack['attack']} on {attack['dataset']}"


def missing(result: results.Result, cell: Cell) -> Iterator[tuple[str, dict[str, Any]]]:
    """What was not measured yet, or with other settings; one that did not exist then had its default."""
    known = result.cell.measured if result.cell else {}
    for name, spec in wanted(cell).items():
        usual = (Measure if name in (EVALUATION, TRANSFER) else AttackSpec)().model_dump(mode="json")
        then = {key: known.get(name, {}).get(key, usual.get(key)) for key in spec}
        if name not in known or then != spec:
            yield name, spec


def measured(work: Work, cell: Cell, name: str, spec: dict[str, Any]) -> None:
    """Measure one thing, and note with which settings."""
    place = work.folder(cell)
    if name == EVALUATION:
        from uegr.runs.evaluate import evaluate_run

        options = {key: value for key, value in spec.items() if key != "calibration"}
        evaluate_run(place, **options, **spec["calibration"], quiet=True, trust_remote_code=trusts(cell))
    elif name == TRANSFER:
        transferred(work, cell, spec)
    else:
        attacked(place, spec, trusts(cell))

    def noted(result: results.Result) -> results.Result:
        block = block_of(result, cell)
        block = block.model_copy(update={"measured": block.measured | {name: spec}})
        return result.model_copy(update={"cell": block})

    folder.update(place, noted)


def trusts(cell: Cell) -> bool:
    """Whether the grid, not the folder of the run, allows the code of the cell's model."""
    return RunConfig(**cell.config).model.trust_remote_code


def attacked(place: Path, spec: dict[str, Any], trust_remote_code: bool) -> None:
    """Attack, resuming an interrupted attack; one with other settings takes the place of an earlier one."""
    from uegr.runs.attack import attack_run

    attack_run(place, resume=True, alone=True, quiet=True, trust_remote_code=trust_remote_code, **spec)


def transferred(work: Work, cell: Cell, spec: dict[str, Any]) -> None:
    """Score what attacks found on another cell, which is finished first; a ledger does not have the texts."""
    from uegr.runs.replay import replay_run

    source = cell.transfer
    assert source is not None
    if attempt(replace(work, study=None), source, wait=True) != "done":
        raise InputError(f"expected the texts that attacks found on {source.title}, got none: that cell has failed")
    for attack in dict.fromkeys(one["attack"] for one in spec["attacks"]):
        replay_run(
            work.folder(cell),
            work.folder(source),
            attack=attack,
            called=spec["transfer"],
            trust_remote_code=trusts(cell),
        )


def is_complete(work: Work, cell: Cell) -> bool:
    """Whether result.json is there and has everything, and so has the ledger, where there is one."""
    result = result_of(work, cell)
    return result is not None and has_everything(result, cell) and recording.is_recorded(work, cell, result)


def has_everything(result: results.Result, cell: Cell) -> bool:
    """Whether the grid has finished the cell, and measured all that is asked for."""
    return result.cell is not None and result.cell.complete and not any(missing(result, cell))


def result_of(work: Work, cell: Cell) -> results.Result | None:
    """The result of a cell that is trained; a damaged one does not count."""
    place = work.folder(cell)
    try:
        return folder.read(place) if folder.is_done(place) else None
    except InputError:
        return None


def record_failure(work: Work, cell: Cell, error: BaseException | str) -> None:
    """failure.json: the last error as one line, and where it came from."""
    text = str(error) if isinstance(error, InputError | str) else f"{type(error).__name__}: {error}"
    lines = traceback.format_exception(error) if isinstance(error, BaseException) else []
    content: dict[str, Any] = {"error": " ".join(text.split())[:2000], "time": time.time()}
    content |= {"attempts": attempts(work.root, cell), "traceback": "".join(lines)}
    place = work.folder(cell)
    place.mkdir(parents=True, exist_ok=True)
    folder.write_json(place / FAILURE, content)
    work.note(cell, "failed")


def failure(work: Work, cell: Cell) -> dict[str, Any] | None:
    """The last failure of a cell."""
    return failure_in(work.folder(cell))


def failure_in(place: Path) -> dict[str, Any] | None:
    """The last failure of the cell in a folder."""
    try:
        found = json.loads((place / FAILURE).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    fits = isinstance(found, dict) and isinstance(found.get("error"), str) and isinstance(found.get("time"), float)
    return found if fits else None


def failed_since(work: Work, cell: Cell) -> bool:
    """Whether it failed since this command started: then the next command tries it."""
    return failed_in(work.folder(cell), work.since) is not None


def failed_in(place: Path, since: float) -> dict[str, Any] | None:
    """The failure of the cell in a folder, if it is not older."""
    last = failure_in(place)
    return last if last is not None and last["time"] >= since else None
