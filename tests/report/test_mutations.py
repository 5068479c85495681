"""The report never fails on a result file: one that cannot be shown is named and left out, the rest is shown."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.report.synthetic_runs import result, write_run
from uegr.errors import InputError
from uegr.report.build import Report
from uegr.report.reading import collect
from uegr.result import parsed

VALUES: list[Any] = [
    None, True, "", "x" * 5000, "<script>", "\x1b]52;c;\x07", "\ud800", -1, 0, 2**70, 1e308, -1e308, 0.5, float("nan"),
    float("inf"), [], [[]], {}, {"": {}}, {"value": 1}, [None] * 3,
]  # fmt: skip
MUTATIONS, SHOWN = 400, 12  # of those that still fit, so many are drawn as whole pages in the fast part


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mutated")
    for method in ("vanilla", "uegr"):
        for seed in range(2):
            write_run(folder / f"{method}-{seed}", result("imdb", method, seed), attacked=True)
    return folder


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from places(item, (*path, key))


def mutated(stored: Any, draw: random.Random) -> str:
    """The JSON with one value replaced, deleted, or under another key."""
    changed = copy.deepcopy(stored)
    *way, last = draw.choice(list(places(changed)))
    inside = changed
    for key in way:
        inside = inside[key]
    kind = draw.choice(["replace", "replace", "replace", "delete", "rename"])
    if kind == "replace":
        inside[last] = draw.choice(VALUES)
    elif kind == "delete" or isinstance(inside, list):
        del inside[last]
    else:
        inside[draw.choice(["", "<b>", "nan", "\n"])] = inside.pop(last)
    return json.dumps(changed)


def fits(text: str, path: Path) -> bool:
    try:
        parsed(text, path)
    except InputError:
        return False
    return True


def built(folder: Path, output: Path) -> str:
    """The whole report, as page, Markdown and CSV."""
    Report([folder], output / "page.html", output / "page.md", output / "page.csv").build()
    return (output / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("count", [SHOWN, pytest.param(MUTATIONS, marks=pytest.mark.slow)])
def test_every_mutation_is_shown_or_named_and_left_out(runs: Path, tmp_path: Path, count: int) -> None:
    path = runs / "uegr-0" / "result.json"
    whole, draw, drawn, left_out = path.read_text(encoding="utf-8"), random.Random(14), 0, 0
    counted = len(collect([runs]).runs)
    try:
        for number in range(MUTATIONS):
            text = mutated(json.loads(whole), draw)
            path.write_text(text, encoding="utf-8")
            found = collect([runs])
            assert len(found.runs) + len(found.left) == counted, (number, text[:300])
            if fits(text, path) and drawn < count:
                drawn += 1
                page = built(runs, tmp_path)
                assert "\x1b" not in page
            left_out += not fits(text, path)
    finally:
        path.write_text(whole, encoding="utf-8")
    assert left_out > 100
    assert drawn >= SHOWN
