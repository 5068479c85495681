"""The cost of returning freed memory to the system: vanilla steps with and without it, alternating.

    python benchmarks/perf/freed_memory.py                     minilm, bilstm and texthan, as a table
    python benchmarks/perf/freed_memory.py --json minilm       one JSON line

In one process, glibc is told alternately to keep freed memory (docs/scale.md shows how) and to return it (its default).
`ratio` is the median over rounds of the time of a step that keeps memory divided by the other's; `faults` are the pages
that the system had to clear for a step. Synthetic rows, 16 per batch, as long as SST-2's for minilm and IMDB's for the
other two.
"""

import argparse
import ctypes
import json
import resource
import statistics
import time
from typing import Any

import torch
from datasets import Dataset

from uegr import models
from uegr.data.vocabulary import vocabulary

LENGTHS = {"minilm": (8, 16, 32), "bilstm": (120, 240, 500), "texthan": (120, 240, 500)}
WORDS, ROWS = 40_000, 16
OPTIONS = {  # the name in the environment: (its number in malloc.h, the value that keeps, the value that gives back)
    "MALLOC_MMAP_MAX_": (-4, 0, 65_536),
    "MALLOC_TRIM_THRESHOLD_": (-1, 2**31 - 1, 2**17),
    "MALLOC_TOP_PAD_": (-2, 2**26, 2**17),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=f"default: {', '.join(LENGTHS)}")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    found = {name: compared(name, options.rounds) for name in options.models or LENGTHS}
    if options.json:
        print(json.dumps(found | {"rounds": options.rounds, "threads": options.threads}))
        return
    for name, figures in found.items():
        print(f"{name:<10}" + "".join(f"{key:>20} {value:g}" for key, value in figures.items()))


def tell(kept: bool) -> None:
    """Tell glibc what to do with freed memory."""
    for name, (number, keeps, gives_back) in OPTIONS.items():
        if ctypes.CDLL(None).mallopt(number, keeps if kept else gives_back) != 1:
            raise SystemExit(f"this C library does not know {name}")


def compared(name: str, rounds: int) -> dict[str, float]:
    """Both in turns, after a round that does not count."""
    step = steps(name)
    times: dict[bool, list[float]] = {True: [], False: []}
    faults: dict[bool, float] = {}
    for turn in range(rounds + 1):
        for kept in (True, False):
            tell(kept)
            step()  # the heap finds its size
            before, start = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, time.perf_counter()
            count = step()
            if turn:
                times[kept].append((time.perf_counter() - start) / count)
            faults[kept] = (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / count
    ratio = statistics.median(one / other for one, other in zip(times[True], times[False], strict=True))
    return {
        "ratio": round(ratio, 3),
        "kept_milliseconds": round(1000 * statistics.median(times[True]), 1),
        "given_back_milliseconds": round(1000 * statistics.median(times[False]), 1),
        "kept_faults": round(faults[True]),
        "given_back_faults": round(faults[False]),
    }


def steps(name: str) -> Any:
    """A function that takes some training steps and returns their number."""
    if name == "minilm":
        model, words = models.load(name, labels=("no", "yes")).model, 30_000
    else:
        words = WORDS
        text = " ".join(f"w{number}" for number in range(WORDS))
        model = models.build(name, vocabulary(Dataset.from_dict({"text": [text, text]})), 2).model
    generator = torch.Generator().manual_seed(0)
    batches = [torch.randint(5, words, (ROWS, length), generator=generator) for length in LENGTHS[name]]
    labels = torch.arange(ROWS) % 2
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    model.train()

    def run() -> int:
        for batch in batches:
            model(input_ids=batch, attention_mask=torch.ones_like(batch), labels=labels).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            model.zero_grad()
        return len(batches)

    return run


if __name__ == "__main__":
    main()
