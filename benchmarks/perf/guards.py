"""What the guards of a training cost: the check of each step, and the hashes of base weights and checkpoints.

    python benchmarks/perf/guards.py              minilm on snippets
    python benchmarks/perf/guards.py --rounds 40  more steps

Medians, and the median of the ratios. `step`: a step of vanilla with the check that loss and gradient are finite,
alternating with one without it. `start`: `uegr train` in a fresh interpreter until its first step, with everything
cached, and the same less the time in which it waits for the hash of its weights or checks the cache; `start_1_gb` the
same with a model of 1 GB in a folder. `checkpoint`: writing a checkpoint as transformers does, and then flushing and
hashing it for the manifest. `gigabyte`: the hashes alone (`manifest.py` beside this file). Prints one JSON object, in
seconds. `--record FILE` adds it to the figures of the docs.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from manifest import measure
from second_start import TRAINING
from step_cost import Contender, snippets
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

from uegr import models
from uegr.runs import manifest
from uegr.training.engine import RobustTrainer

TIMED = TRAINING.replace("os._exit(0)", "done()").replace(
    "    run.fitted = ",
    """    from uegr import cache
    from uegr.models import download
    hashing = run.manifest.hashing
    run.manifest.hashing = lambda model: timed(hashing(model))
    cache.damage = download.damage = timed(cache.damage)
    run.fitted = """,
)
TIMED = (
    """
import time
spent = 0.0

def timed(work):
    def measured(*arguments):
        global spent
        start = time.perf_counter()
        try:
            return work(*arguments)
        finally:
            spent += time.perf_counter() - start
    return measured

def done():
    print(spent, flush=True)
    os._exit(0)
"""
    + TIMED
)


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
    return compared("checked", times[checked], "unchecked", times[plain])


def start(rounds: int, model: str, box: Path) -> dict[str, float]:
    """Fresh interpreters until the first step, and the part of it that hashes; the first start fills the caches."""
    times, hashed = [], []
    for turn in range(-1, rounds):
        words = ["train", "--model", model, "--dataset", "snippets", "--output", str(box / "run"), "--quiet"]
        begun = time.perf_counter()
        spent = float(subprocess.check_output([sys.executable, "-c", TIMED, *words], text=True))
        taken = time.perf_counter() - begun
        shutil.rmtree(box / "run")
        if turn >= 0:
            times.append(taken)
            hashed.append(spent)
    without = [one - spent for one, spent in zip(times, hashed, strict=True)]
    return compared("hashed", times, "unhashed", without)


def compared(name: str, times: list[float], other_name: str, other_times: list[float]) -> dict[str, float]:
    """Medians, and the median of the ratios."""
    ratios = [one / other for one, other in zip(times, other_times, strict=True)]
    medians = {name: statistics.median(times), other_name: statistics.median(other_times)}
    return medians | {"ratio": statistics.median(ratios)}


def write_gigabyte(folder: Path) -> str:
    """A model of 258 million random weights."""
    config = BertConfig(hidden_size=1024, num_hidden_layers=18, num_attention_heads=16, intermediate_size=4096)
    BertForSequenceClassification(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(models.fetch("minilm")).save_pretrained(folder)
    return str(folder)


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
    parser.add_argument("--record", type=Path, help="a JSON file; other parts in it stay")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    few = max(3, options.rounds // 6)
    found: dict[str, Any] = {"step": step(options.rounds), "checkpoint": checkpoint(few), "gigabyte": measure(1024)}
    with tempfile.TemporaryDirectory() as folder:
        box = Path(folder)
        found |= {"start": start(few, "minilm", box), "start_1_gb": start(few, write_gigabyte(box / "model"), box)}
    found |= {"date": time.strftime("%Y-%m-%d"), "rounds": options.rounds, "threads": options.threads}
    print(json.dumps(found, indent=2))
    if options.record:
        stored = json.loads(options.record.read_text(encoding="utf-8")) if options.record.exists() else {}
        options.record.write_text(json.dumps(stored | {"guards": found}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
