"""Real data and large files."""

import os
import subprocess
import sys

import pytest

from uegr.data import load
from uegr.data.card import card, names
from uegr.data.check import check
from uegr.data.duplicates import leaks
from uegr.data.resolve import card_files

pytestmark = pytest.mark.slow

needs_data = pytest.mark.skipif(not os.environ.get("UEGR_DATA"), reason="UEGR_DATA does not point at the data sets")

MEASURE = """
import sys, threading, time
import torch, transformers, datasets
from uegr.data import holdout, load, subsample, vocabulary
from uegr.models import tokenized

def held():
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("RssAnon"))

before, most = held(), [0]
def watch():
    while True:
        most[0] = max(most[0], held())
        time.sleep(0.02)
threading.Thread(target=watch, daemon=True).start()
{work}
print((most[0] - before) // 1024)
"""


def most_memory(work, cache):
    """MiB that `work` holds at most, beyond the interpreter and its libraries, mapped files not counted."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MEASURE.replace("{work}", work)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "XDG_CACHE_HOME": str(cache), "OMP_NUM_THREADS": "1"},
    )
    return int(done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("snippets", {"train": 7173, "validation": 1000, "test": 1000}),
        ("snippets_products", {"test": 2455}),
        ("snippets_tweets", {"test": 2667}),
        ("snippets_editorials", {"test": 1554}),
        ("snippets_rating", {"train": 8605, "validation": 1000, "test": 1000}),
    ],
)
def test_the_snippets_come_out_of_the_registry(name, sizes):
    data = load(name)
    assert {split: len(rows) for split, rows in data.splits.items()} == sizes
    assert leaks(data.splits) == {}
    assert not any("Ã" in text for rows in data.splits.values() for text in rows["text"])


@needs_data
@pytest.mark.parametrize("name", [name for name in names() if not card(name).where.package])
def test_every_card_with_files_passes_its_check(name):
    if not card_files(card(name)):
        pytest.skip(f"UEGR_DATA has no files for {name}")
    report = check(load(name), noise=False)
    assert report.passed, report.sizes


@needs_data
def test_50_000_reviews_take_less_than_a_gibibyte(tmp_path):
    work = """
data = load("imdb")
words = vocabulary(data.splits["train"])
rows = sum(len(tokenized(split, words, 256)) for split in data.splits.values())
assert rows == 50_000
"""
    assert most_memory(work, tmp_path / "cache") < 1024


def test_memory_does_not_grow_with_the_file(tmp_path):
    """Eight times the rows: what is held grows by some bytes a row, not by the rows."""
    peaks = []
    for rows in (20_000, 160_000):
        path = tmp_path / f"{rows}.csv"
        with path.open("w") as out:
            out.write("text,label\n")
            out.writelines(f"row {n} {'many words ' * 50},{n % 2}\n" for n in range(rows))  # 560 bytes each
        work = f"""
data = load({str(path)!r})
words = vocabulary(data.splits["train"].select(range(1000)))
tokenized(data.splits["train"], words, 16)
holdout(data, 0.01, 0)
"""
        peaks.append(most_memory(work, tmp_path / f"cache{rows}"))
    grown = (peaks[1] - peaks[0]) * 2**20 / 140_000
    assert grown < 280, peaks  # bytes a row, half of what the text alone would take
