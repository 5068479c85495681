"""How long `uegr report` takes over 1,000 result folders, and how long the page takes to open in Chromium.

    python benchmarks/perf/report_speed.py            one line each; exit code 1 above 20 s to build or 3 s to open
    python benchmarks/perf/report_speed.py --json     one JSON line
    python benchmarks/perf/report_speed.py --runs 100

The folders are synthetic (tests/report/synthetic_runs.py), each with every kind of measurement: methods, data sets,
models and a varied option over five seeds. `build` is from the folders to the written page, in one process that has
imported everything. `open` is the median of three, from the request to the load event and the first drawing, by the
browser's own clock; the browser is already running.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT)]

from tests.report.chromium import browser, program
from tests.report.synthetic_runs import DATASETS, METHODS, result, write_run
from uegr.report.build import Report

MOST_BUILD, MOST_OPEN, SEEDS = 20.0, 3.0, 5
OPENED = "performance.getEntriesByType('navigation')[0].loadEventEnd"


def main() -> None:
    options = parsed()
    with tempfile.TemporaryDirectory() as folder:
        write_folders(Path(folder) / "runs", options.runs)
        figures = measured(Path(folder), options.runs)
    if options.json:
        print(json.dumps(figures))
    else:
        for name, value in figures.items():
            print(f"{name:<16} {value}")
    sys.exit(figures["build"] > MOST_BUILD or (figures["open"] or 0) > MOST_OPEN)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def write_folders(top: Path, count: int) -> None:
    """Every combination, until there are as many as asked for."""
    models = (f"model{number}" for number in range(10**6))
    cells = (cell for model in models for cell in product((model,), DATASETS, METHODS, (2, 3), range(SEEDS)))
    for number, (model, dataset, method, submodels, seed) in zip(range(count), cells, strict=False):
        option = {} if method == "vanilla" and submodels == 2 else {"submodels": submodels}
        run = result(dataset, method, seed, model=model, **option)
        write_run(top / f"{number}", run, attacked=seed == 0)


def measured(folder: Path, runs: int) -> dict[str, Any]:
    page = folder / "report.html"
    report = Report([folder / "runs"], page)
    started, used = time.perf_counter(), time.process_time()
    report.build()
    seconds, processor = time.perf_counter() - started, time.process_time() - used
    figures = {"runs": runs, "build": round(seconds, 2), "build_processor": round(processor, 2)}
    figures |= {"megabytes": round(page.stat().st_size / 1e6, 2), "open": None}
    return figures | ({"open": opening(page)} if program() else {})


def opening(page: Path) -> float:
    """The median of three, in seconds."""
    with browser() as tab:
        tab.size(1280, 900)
        return round(statistics.median(opened(tab, page) for _ in range(3)), 2)


def opened(tab: Any, page: Path) -> float:
    tab.open(page)
    tab.until(f"{OPENED} > 0")
    loaded = float(tab.run(OPENED))
    drawing = "{ const at = performance.now(); draw(document.querySelector('.plot')); performance.now() - at }"
    return (loaded + float(tab.run(drawing))) / 1000


if __name__ == "__main__":
    main()
