"""The check that two processes stay equal: `python -m uegr.testing.processes FILE` is one of them.

FILE holds pickled subjects by name. Each process trains every one of them and prints one line of JSON per subject:
{"subject": ..., "problem": "" or what went wrong}.
"""

import json
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import distributed
from transformers import TrainerCallback

from uegr.testing.models import classifier
from uegr.testing.subject import Subject, expect
from uegr.testing.trainings import differ, trainer, weights

SECONDS = 400


def two_processes(subject: Subject) -> None:
    """Two processes that draw different random numbers end with bitwise the same weights."""
    found = problems({"it": subject})
    expect(not found, found.get("it", ""))


def problems(subjects: Mapping[str, Subject]) -> dict[str, str]:
    """What went wrong, by subject; one pair of processes trains all of them."""
    for subject in subjects.values():
        module = getattr(subject.factory, "__module__", None)
        expect(module != "__main__", "expected a method in a module that a second process can import, got __main__")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "subjects"
        file.write_bytes(pickle.dumps(dict(subjects)))
        lines = run_pair(file)
    counts = {name: sum(line["subject"] == name for line in lines) for name in subjects}
    missing = {name: f"expected 2 processes, got {count}" for name, count in counts.items() if count != 2}
    return missing | {line["subject"]: line["problem"] for line in lines if line["problem"]}


def run_pair(file: Path) -> list[dict[str, str]]:
    """What both processes printed; if one of them fails, its errors are raised."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    paths = os.pathsep.join(sys.path)
    shared = os.environ | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
    outputs = [file.parent / f"{rank}.out" for rank in range(2)]
    running = [start(rank, file, shared, output) for rank, output in enumerate(outputs)]
    codes = exit_codes(running)
    texts = [output.read_text() for output in outputs]
    if codes != [0, 0]:
        raise AssertionError(f"expected exit codes 0 and 0, got {codes}\n" + "\n".join(text[-3000:] for text in texts))
    lines = [line for text in texts for line in text.splitlines()]
    return [json.loads(line) for line in lines if line.startswith('{"subject"')]


def start(rank: int, file: Path, shared: dict[str, str], output: Path) -> subprocess.Popen[bytes]:
    """One of the two processes, its output and errors in a file."""
    place = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    command = [sys.executable, "-m", "uegr.testing.processes", str(file)]
    with output.open("w") as out:
        return subprocess.Popen(command, env=shared | place, stdout=out, stderr=subprocess.STDOUT)


def exit_codes(running: list[subprocess.Popen[bytes]]) -> list[int]:
    """Wait for the processes; none is left behind."""
    try:
        return [process.wait(timeout=SECONDS) for process in running]
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.wait()


class OwnNumbers(TrainerCallback):
    """Each process draws different random numbers, as replicas with different data soon do."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        torch.manual_seed(1000 + args.process_index)


def problem(subject: Subject, folder: Path) -> str:
    """Train in this process and compare the weights with the other's."""
    model = classifier()
    before = weights(model)
    settings = {"per_device_train_batch_size": 4, "max_steps": 3, "ddp_backend": "gloo", "ddp_timeout": 60}
    method = subject.made("two_processes")
    trainer(method, folder, model, [OwnNumbers()], logging_strategy="no", **settings).train()
    if not differ(before, weights(model)):
        return "nothing was trained"
    for key, value in weights(model).items():
        both = [torch.empty_like(value) for _ in range(distributed.get_world_size())]
        distributed.all_gather(both, value)
        if not torch.equal(*both):
            return f"{key} differs between two processes by {float((both[0] - both[1]).abs().max())}"
    return ""


def main() -> None:
    """Train every subject in this process."""
    subjects: dict[str, Subject] = pickle.loads(Path(sys.argv[1]).read_bytes())  # our own file  # nosec B301
    with TemporaryDirectory() as folder:
        for name, subject in subjects.items():
            print(json.dumps({"subject": name, "problem": problem(subject, Path(folder))}), flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
