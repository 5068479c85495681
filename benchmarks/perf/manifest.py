"""What the manifest of a run costs: hashing and flushing its files, and hashing the weights that training starts from.

python benchmarks/perf/manifest.py [--megabytes 1024]

Prints one JSON object: seconds per GB for each, beside a plain read of the same file, in one process.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from uegr.runs import manifest


def timed(work: Callable[[], Any]) -> float:
    """The least of three times."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def plain_read(path: Path) -> None:
    """Read a file in pieces of 1 MiB."""
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


def measure(megabytes: int) -> dict[str, float]:
    """Seconds per GB."""
    per_gb = 1024 / megabytes
    model = torch.nn.Linear(1024, megabytes * 256, bias=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        with path.open("wb") as file:
            for _ in range(megabytes):
                file.write(os.urandom(1 << 20))
        return {
            "read": timed(lambda: plain_read(path)) * per_gb,
            "sha256": timed(lambda: manifest.listed(path)) * per_gb,
            "sha256_and_flush": timed(lambda: manifest.listed(path, flush=True)) * per_gb,
            "weights": timed(lambda: manifest.hashing(model)()) * per_gb,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=1024, help="size of the file; default: 1024")
    arguments = parser.parse_args()
    found = measure(arguments.megabytes)
    print(json.dumps({"megabytes": arguments.megabytes, "seconds_per_gb": found}, indent=2))


if __name__ == "__main__":
    main()
