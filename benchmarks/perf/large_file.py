"""The memory of a training on a file of millions of rows: `uegr train` on a synthetic csv, as one JSON line.

    python benchmarks/perf/large_file.py                        5,000,000 rows, textcnn, 200 steps
    python benchmarks/perf/large_file.py --rows 200000          a shorter run
    python benchmarks/perf/large_file.py --model minilm-l3      another model

`held_mib` is the peak memory of the process minus that of the imports, in anonymous pages: the system can drop a
mapped file at any time, so it does not count. The words that a vocabulary counts do: of a file with a new word in
every row, it holds them all. Two thousand rows are held out for validation. Everything is written into a temporary
folder, more than twice the size of the file; `--folder` sets its place.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VALIDATION = 2000
TRAINING = """
import sys, threading, time
import torch, datasets, transformers.trainer, transformers.models.bert.modeling_bert
from uegr.cli import main

def held():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))

before, most = held(), 0

def watch():
    global most
    while True:
        most = max(most, held())
        time.sleep(0.02)

threading.Thread(target=watch, daemon=True).start()
torch.set_num_threads(int(sys.argv.pop(1)))
try:
    main()
finally:
    print("held", (most - before) // 1024, file=sys.stderr)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--model", default="textcnn")
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where there is room (default: the system's temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        file = written(folder / "rows.csv", options.rows)
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", TRAINING, str(options.threads), *command(file, folder, options)],
            env=os.environ | {"XDG_CACHE_HOME": str(folder / "cache"), "OMP_NUM_THREADS": str(options.threads)},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            sys.exit(done.stderr)
        trained = json.loads(done.stdout)
        figures = {
            "rows": options.rows,
            "file_mib": file.stat().st_size // 2**20,
            "held_mib": int(done.stderr.split("held ")[-1]),
            "steps": trained["training"]["steps"],
            "seconds": round(time.perf_counter() - start),
        }
    print(json.dumps(figures | {"model": options.model, "threads": options.threads}))


def command(file: Path, folder: Path, options: argparse.Namespace) -> list[str]:
    """The training, as a user would ask for it."""
    wanted = ["train", "--method", "vanilla", "--model", options.model, "--dataset", str(file), "--max-length", "32"]
    steps = ["--set", f"training.max_steps={options.steps}", "--set", f"dataset.holdout={VALIDATION / options.rows}"]
    return [*wanted, *steps, "--output", str(folder / "run"), "--quiet", "--json"]


def written(path: Path, rows: int) -> Path:
    """A csv of texts of 4 to 10 words from a list of two thousand, in two alternating classes."""
    draw, words = random.Random(0), [f"word{number}" for number in range(2000)]
    with path.open("w", encoding="utf-8") as out:
        out.write("text,label\n")
        for row in range(rows):
            text = " ".join(draw.choices(words, k=4 + row % 7))
            out.write(f"{text},{'good' if row % 2 else 'bad'}\n")
    return path


if __name__ == "__main__":
    main()
