"""Train, attack and evaluate in one process, again and again: memory, open handles and threads after each round.

    python benchmarks/soak.py --rounds 16
    python benchmarks/soak.py --minutes 60

One JSON line per round, with the resident memory in MB; last come the tenth and the last round as ratios to the second.
Nothing is collected by hand. The rows are synthetic. `--record FILE` writes the summary to a file, for the docs.
"""

import argparse
import json
import os
import random
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

from uegr.runs.attack import attack_run
from uegr.runs.evaluate import evaluate_run
from uegr.runs.train import train
from uegr.training.config import RunConfig

WORDS = ("good", "fine", "great", "bad", "poor", "dull", "film", "plot", "scene", "story", "the", "a", "was", "with")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--minutes", type=float, help="stop after this time; the default is to count rounds")
    parser.add_argument("--model", default="minilm-l3")
    parser.add_argument("--method", default="uegr")
    parser.add_argument("--record", type=Path, help="also write the summary to this file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as box:
        rows(Path(box) / "data")
        found: list[dict[str, Any]] = []
        started = time.time()
        while more(options, len(found), started):
            one_round(options, Path(box))
            found.append(measured(len(found) + 1, started))
            print(json.dumps(found[-1]), flush=True)
    report(options, found)


def report(options: argparse.Namespace, found: list[dict[str, Any]]) -> None:
    """The second, the tenth and the last round, and their ratios."""
    about = {"date": time.strftime("%Y-%m-%d"), "model": options.model, "method": options.method}
    summary = about | {"rounds": len(found), "minutes": round(found[-1]["seconds"] / 60, 1)}
    for name, number in {"second": 1, "tenth": 9, "last": len(found) - 1}.items():
        if 1 <= number < len(found):
            summary[name] = {key: found[number][key] for key in MEASURED}
            summary[f"{name} / second"] = {key: round(found[number][key] / found[1][key], 4) for key in MEASURED}
    print(json.dumps(summary))
    if options.record:
        options.record.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")


def more(options: argparse.Namespace, done: int, started: float) -> bool:
    """Whether another round follows."""
    return time.time() - started < 60 * options.minutes if options.minutes else done < options.rounds


def rows(folder: Path) -> None:
    """Short texts with one telling word."""
    folder.mkdir()
    draw = random.Random(0)
    for split, count in {"train": 64, "validation": 16, "test": 16}.items():
        lines = [f"{text_of(row % 2, draw)} {row},{row % 2}" for row in range(count)]
        (folder / f"{split}.csv").write_text("text,label\n" + "".join(f"{line}\n" for line in lines), encoding="utf-8")


def text_of(label: int, draw: random.Random) -> str:
    return " ".join([draw.choice(WORDS[3 * label : 3 * label + 3]), *draw.choices(WORDS[6:], k=8)])


def one_round(options: argparse.Namespace, box: Path) -> None:
    """One short run, attacked and evaluated."""
    config = RunConfig.model_validate(
        {
            "method": {"name": options.method},
            "model": {"name": options.model},
            "dataset": {"name": str(box / "data")},
            "training": {"max_steps": 4, "batch_size": 8},
        }
    )
    train(config, box / "run", quiet=True)
    attack_run(box / "run", attack="deepwordbug", examples=4, quiet=True)
    evaluate_run(box / "run", rows=8, quiet=True)
    shutil.rmtree(box / "run")


MEASURED = ("megabytes", "handles", "threads")


def measured(number: int, started: float) -> dict[str, Any]:
    """What the process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "round": number,
        "seconds": round(time.time() - started, 1),
        "megabytes": round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1),
        "handles": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),  # also those that Python does not know
    }


if __name__ == "__main__":
    main()
