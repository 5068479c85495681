"""What the guards of a training cost: the check of each step, and the hashes of base weights and checkpoints.

    python benchmarks/perf/guards.py              minilm on snippets
    python benchmarks/perf/guards.py --rounds 40  more steps

In one process, alternating. `step`: a step of vanilla with the check that loss and gradient are finite, and the same
step without it; medians, and the median of the ratios. `start`: the hash of the weights that training starts from,
beside preparing the run (reading rows, tokenising, loading the model), with everything cached. `checkpoint`: writing a
checkpoint as transformers does, and then flushing and hashing it for the manifest. Prints one JSON object, in seconds.
`manifest.py` beside this file has the same hashes for a file of 1 GB.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from step_cost import Contender, snippets

from uegr.runs import manifest, outcome
from uegr.runs.prepare import prepare, resolved
from uegr.training.config import RunConfig
from uegr.training.engine import RobustTrainer


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def unchecked(trainer: RobustTrainer) -> None:
    """Leave out the check, and all that it keeps."""
    trainer.guard.note = lambda loss, batch: loss  # type: ignore[method-assign]
    trainer.guard.is_finite = lambda model, several_processes: True  # type: ignore[method-assign]


def step(rounds: int) -> dict[str, float]:
    """A step with and without the check, taking turns, the order alternating."""
    rows, batches = snippets()
    checked, plain = Contender("vanilla", rows), Contender("vanilla", rows)
    unchecked(plain.trainer)
    times: dict[Contender, list[float]] = {checked: [], plain: []}
    for turn in range(-2, rounds):
        for contender in (checked, plain) if turn % 2 else (plain, checked):
            taken = contender.step(batches[turn % len(batches)])
            if turn >= 0:
                times[contender].append(taken)
    ratios = [one / other for one, other in zip(times[checked], times[plain], strict=True)]
    return {
        "checked": statistics.median(times[checked]),
        "unchecked": statistics.median(times[plain]),
        "ratio": statistics.median(ratios),
    }


def start(rounds: int) -> dict[str, float]:
    """Preparing a run that was prepared before, and the hash of its weights."""
    config = RunConfig.model_validate(
        {"method": {"name": "vanilla"}, "model": {"name": "minilm"}, "dataset": {"name": "snippets"}}
    )
    prepared, settings = prepare(config), resolved(config)
    hashing = [
        seconds(lambda: manifest.origin(settings, prepared.rows, prepared.loaded.model, outcome.versions()))
        for _ in range(rounds)
    ]
    return {
        "prepare": statistics.median(seconds(lambda: prepare(config)) for _ in range(rounds)),
        "hash": statistics.median(hashing),
        "megabytes": sum(weight.nbytes for weight in prepared.loaded.model.state_dict().values()) / 1e6,
    }


def checkpoint(rounds: int) -> dict[str, float]:
    """Writing a checkpoint, and its manifest."""
    rows, batches = snippets()
    contender = Contender("vanilla", rows)
    contender.step(batches[0])
    origin = manifest.Origin(config="", rows={}, weights="", versions={}, threads=1, processes=1, commit=None)
    with tempfile.TemporaryDirectory() as folder:
        writing = [seconds(lambda: save(contender.trainer, folder)) for _ in range(rounds)]
        sealing = [seconds(lambda: manifest.write(Path(folder), origin)) for _ in range(rounds)]
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
    return {"write": statistics.median(writing), "manifest": statistics.median(sealing), "megabytes": size}


def save(trainer: RobustTrainer, folder: str) -> None:
    """Weights, and the state of the optimizer."""
    trainer.save_model(folder)
    torch.save(trainer.optimizer.state_dict(), Path(folder) / "optimizer.pt")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=24, help="steps of each kind; default: 24")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    few = max(3, options.rounds // 6)
    found = {"step": step(options.rounds), "start": start(few), "checkpoint": checkpoint(few)}
    print(json.dumps(found | vars(options), indent=2))


if __name__ == "__main__":
    main()
