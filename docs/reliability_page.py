"""docs/reliability.md: the table of faults of tests/faults, and what came out when they were run."""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from method_pages import table

ROOT = Path(__file__).parents[1]
NOTE = "<!-- Written by docs/generate.py from tests/faults and docs/reliability.json; change it there. -->"
CAMPAIGN = 1000  # kills of a whole one
DONE = ("kills", "signals", "files damaged", "pairs")
BROKEN = ("tracebacks", "finished runs lost", "bytes lost", "silently different weights", "hung", "odd ends")
INTRODUCTION = """# Reliability

What happens to a run when the machine, a file or another process misbehaves. Every row below is caused by a test, and
judged by the same laws: no traceback, no process that hangs, no exit code except 0, 2 (one line with the remedy) and
those of signals, no finished run lost, no byte of a `result.json` lost. The weights of a resumed run are bitwise those
of the undisturbed one, or the run is refused with one line."""
WAYS = "A row may be caused in several ways, drawn with a seed. The outcome counts those that were measured."
COMMANDS = """## Run it

    pytest tests/faults
    make test-slow
    python -m tests.faults.campaign --kills 1000 --output docs/reliability.json
    python -m tests.faults.campaign --rows --output docs/reliability.json
    python benchmarks/soak.py --minutes 60 --record docs/soak.json
    python benchmarks/perf/guards.py --record docs/reliability.json

The first command runs the rows that are not marked as slow, and is part of `make test`. The last four measure the
figures on this page, and `python docs/generate.py` writes it. A cell of a grid that runs out of memory is a test of
its own, in tests/benchmark."""


def page() -> str:
    """The whole page."""
    record, soak = stored("reliability.json"), stored("soak.json")
    parts = [NOTE, INTRODUCTION, *totals(record), *random_kills(record.get("kills", {})), *rows(record.get("rows", {}))]
    return "\n\n".join([*parts, *soaked(soak), *costs(record.get("guards", {})), COMMANDS]) + "\n"


def stored(name: str) -> dict[str, Any]:
    path = ROOT / "docs" / name
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def totals(record: dict[str, Any]) -> list[str]:
    """What was done in all, and what was lost."""
    counts: Counter[str] = Counter()
    for entry in record.get("kills", {}).get("found", {}).values():
        counts.update(numbers(entry))
    for kind in record.get("rows", {}).get("found", {}).values():
        for entry in kind.values():
            counts.update(numbers(entry))
    if not counts:
        return ["The figures of the campaign are not measured yet; `make test` runs the fast rows."]
    heads = [*DONE, *BROKEN[:4]]
    return [table(heads, [[f"{counts[head]:,}" for head in heads]])]


def numbers(entry: dict[str, Any]) -> dict[str, int]:
    return {key: value for key, value in entry.items() if isinstance(value, int)}


def random_kills(record: dict[str, Any]) -> list[str]:
    """The long part."""
    if not record:
        return []
    heads = ["work", "rounds", "kills or signals", *BROKEN]
    lines = [
        [work, *(f"{number:,}" for number in (entry["rounds"], hits(entry), *(entry.get(one, 0) for one in BROKEN)))]
        for work, entry in record["found"].items()
    ]
    about = (
        "A folder is hit up to five times at random moments and resumed each time, then may end, and must be that of "
        "the undisturbed command. Trainings take all methods in turn. Grids keep every finished cell byte for byte; "
        "their cells run in the process that is hit (tests/benchmark/test_kill.py has cells in processes of their "
        "own). A signal is SIGTERM. "
        f"{stopped(record)}"
        f"Run on {record['date']}, {record['minutes']:.0f} minutes on one core of a busy machine."
    )
    return ["## Kills at random moments", about, table(heads, lines)]


def stopped(record: dict[str, Any]) -> str:
    """How much of a campaign these figures are."""
    count = sum(entry.get("kills", 0) for entry in record["found"].values())
    return f"The campaign was stopped after {count} of {CAMPAIGN:,} kills. " if count < CAMPAIGN else ""


def hits(entry: dict[str, Any]) -> int:
    return int(entry.get("kills", 0) + entry.get("signals", 0))


def rows(record: dict[str, Any]) -> list[str]:
    """The table of faults, a section per kind."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))  # the table is in tests
    from tests.faults.table import faults

    parts, found = [], record.get("found", {})
    when = f"Run on {record['date']}. " if record else ""
    parts = [
        "## Table of faults",
        f"{when}{WAYS}",
    ]
    kinds = list(dict.fromkeys(fault.kind for fault in faults()))
    for kind in kinds:
        named = {fault.name: fault for fault in faults() if fault.kind == kind}
        ways = Counter(fault.name for fault in faults() if fault.kind == kind)
        lines = [
            [name, str(ways[name]), "; ".join(law.says for law in fault.holds), outcome(found.get(kind, {}).get(name))]
            for name, fault in named.items()
        ]
        parts += [f"### {kind.capitalize()}", table(["fault", "ways", "what must hold as well", "outcome"], lines)]
    return parts


def outcome(entry: dict[str, Any] | None) -> str:
    """What was measured of a row."""
    if not entry or not entry["ways"]:
        return "not measured"
    failed = len(entry.get("wrong", []))
    done = [f"{entry[name]} {name}" for name in DONE if name in entry]
    return ", ".join([f"broken in {failed}" if failed else f"holds in {len(entry['ways'])}", *done])


def soaked(record: dict[str, Any]) -> list[str]:
    """The soak: memory, handles and threads of one process."""
    if not record:
        return []
    heads = ["round", "memory, MB", "handles", "threads"]
    keys = ("megabytes", "handles", "threads")
    lines = [[name, *(f"{record[name][key]:,}" for key in keys)] for name in ("second", "tenth", "last")]
    lines += [[name, *(f"{record[name][key]:.3f}" for key in keys)] for name in ("tenth / second", "last / second")]
    about = (
        f"Train, attack and evaluate in one Python process, again and again: {record['rounds']} rounds of "
        f"`{record['method']}` on `{record['model']}` in {record['minutes']:.0f} minutes, on {record['date']}. "
        "Garbage is not collected by hand."
    )
    return ["## Soak", about, table(heads, lines)]


COMPARED = {
    "step": (
        "a step of `vanilla` on `minilm`; checked: loss and gradient are finite",
        "checked",
        "unchecked",
    ),
    "start": ("`uegr train` on `minilm` until its first step, with all hashes", "hashed", "unhashed"),
    "start_1_gb": ("the same with a model of 1 GB", "hashed", "unhashed"),
}
HASHED = {
    "weights": "1 GB of weights that a training starts from; a start does this beside its other preparation",
    "sha256": "a file of 1 GB, when a run is opened or resumed",
    "sha256_and_flush": "the same, and until it is on the disk: the manifest of a checkpoint",
}


def costs(record: dict[str, Any]) -> list[str]:
    """What the checks cost: those of a step, of a start, and the hashes alone."""
    if not record:
        return []
    timed = [
        [says, *(f"{record[part][name]:.3f}" for name in (one, other, "ratio"))]
        for part, (says, one, other) in COMPARED.items()
        if part in record
    ]
    hashed = [[says, f"{record['gigabyte'][name]:.2f}"] for name, says in HASHED.items()]
    about = f"Medians in seconds, measured on {record['date']} on an idle machine with two cores."
    return [
        "## Cost",
        about,
        table(["what", "with", "without", "ratio"], timed),
        table(["what is hashed", "seconds"], hashed),
    ]
