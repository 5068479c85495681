"""How long the second start of a training takes, from the command to its first step, and how much of it is imports.

    UEGR_DATA=... python benchmarks/perf/second_start.py                  IMDB, minilm
    UEGR_DATA=... python benchmarks/perf/second_start.py --paper-split    40,000 reviews to train on, not 22,500
    python benchmarks/perf/second_start.py --dataset snippets             another data set

The first start fills the caches, including compiled modules, and does not count. Then, alternating, each in a fresh
interpreter: `uegr train` until its first training step; only the imports that any training with transformers' Trainer
needs; the same with Python's garbage collector off, which is the minimum; and the import of torch alone. The output is
the medians, as one JSON line.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

IMPORTS = """
import os, torch, datasets
from transformers import AutoTokenizer, Trainer
from transformers.models.bert import BertForSequenceClassification
os._exit(0)
"""
UNCOLLECTED = "import gc; gc.disable()" + IMPORTS
TORCH = "import os, torch; os._exit(0)"
TRAINING = """
import os
from uegr.cli import program

def settled(quieten=program.quieten):
    quieten()
    from uegr.runs import train as run
    run.fitted = stopped(run.fitted)

def stopped(fitted):
    def until_the_first_step(trainer, *rest):
        trainer.training_step = lambda *args, **kwargs: os._exit(0)
        fitted(trainer, *rest)
    return until_the_first_step

program.quieten = settled  # called when the command line has made its settings, before a command imports
program.main()
"""


def seconds(code: str, *arguments: str) -> float:
    """Wall time of a fresh interpreter that runs the code."""
    compiled = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, env=compiled)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="imdb")
    parser.add_argument("--model", default="minilm")
    parser.add_argument("--paper-split", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()

    def started() -> float:
        with tempfile.TemporaryDirectory() as folder:
            wanted = ["--dataset", options.dataset, "--model", options.model, "--method", "uegr"]
            wanted += ["--set", f"dataset.paper_split={str(options.paper_split).lower()}"]
            return seconds(TRAINING, "train", *wanted, "--output", f"{folder}/run", "--quiet")

    first = started()
    turns = [(started(), seconds(IMPORTS), seconds(UNCOLLECTED), seconds(TORCH)) for _ in range(options.rounds)]
    names = ("second", "imports", "imports_uncollected", "torch")
    result = dict(zip(names, (statistics.median(times) for times in zip(*turns, strict=True)), strict=True))
    result["beyond_imports"] = statistics.median(whole - least for whole, _, least, _ in turns)
    result = {name: round(value, 2) for name, value in ({"first": first} | result).items()}
    print(json.dumps(result | vars(options)))


if __name__ == "__main__":
    main()
