"""YAML from anyone is read within bounds, and every reader of YAML goes through one loader."""

import re
import time
import tracemalloc
from pathlib import Path

import pytest

from uegr import safe_yaml
from uegr.errors import InputError
from uegr.safe_yaml import DEPTH, load

SOURCE = Path(__file__).parent.parent / "src" / "uegr"
READER = re.compile(r"(?<!safe_)\byaml\.(\w*load|compose|parse|scan)|SafeLoader")
LAUGHS = "a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
MERGES = "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 12))
BAD = {
    "aliases": (LAUGHS, "its aliases stand for more than 100,000 values; write them out or leave them out"),
    "merges": (MERGES, "its aliases stand for more than 100,000 values"),
    "a circle": ("a: &a [*a]", "an alias contains itself"),
    "a merged circle": ("a: &a {<<: *a}", "an alias contains itself"),
    "brackets": ("[" * 200_000, "expected at most 100 levels of nesting"),
    "closed brackets": ("[" * 200_000 + "]" * 200_000, "expected at most 100 levels"),
    "dashes": ("- " * 5000, "expected at most 100 levels"),
    "an object": ("!!python/object/apply:os.system [echo]", "could not determine a constructor"),
    "a date that is none": ("a: 2020-13-45", "month must be in"),
    "a number that is none": ("a: !!int x", "invalid literal"),
    "a large number": (f"a: {'1' * 5000}", "Exceeds the limit"),
    "two documents": ("a: 1\n---\nb: 1", "expected a single document"),
    "control characters": ("a: \x1b]52;c;YQ==\x07", "control characters are not allowed"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_would_not_end_well_is_refused_at_once_in_one_line(name: str) -> None:
    text, reason = BAD[name]
    tracemalloc.start()
    started = time.process_time()
    with pytest.raises(InputError) as caught:
        load(text, "x.yaml")
    assert time.process_time() - started < 2
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()
    error = str(caught.value)
    assert error.startswith("x.yaml is not valid YAML: ")
    assert reason in error
    assert "\n" not in error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: 1\nb: [1, 2\nc: 3\n", "line 3, column 2: while parsing a flow sequence, did not find expected ',' or ']'"),
        ("a: 1\n  b: 2\n", "line 2, column 4: mapping values are not allowed in this context"),
        ("a: \x07", "control characters are not allowed"),
    ],
)
def test_what_is_wrong_has_its_place_and_no_word_of_the_parsers_own(text: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        load(text, "x.yaml")
    assert said in str(caught.value)
    assert "unicode string" not in str(caught.value)


def test_a_file_that_is_not_there_or_cannot_be_read_is_said_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^no file .*gone\.yaml; check the path$"):
        safe_yaml.read_mapping(tmp_path / "gone.yaml", "a")
    with pytest.raises(InputError, match=r"^cannot read [^']*: Is a directory$"):
        safe_yaml.read_mapping(tmp_path, "a")
    (tmp_path / "bytes.yaml").write_bytes(b"a: \xff")
    with pytest.raises(InputError, match=r"bytes\.yaml: it is not text in UTF-8$"):
        safe_yaml.read_mapping(tmp_path / "bytes.yaml", "a")


def test_ordinary_aliases_and_merges_are_read() -> None:
    found = load("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\nd: null", "x.yaml")
    assert found == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}, "d": None}
    assert load("", "x.yaml") is None
    assert load("[" * DEPTH + "]" * DEPTH, "x.yaml")


def test_a_long_file_without_aliases_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_yaml, "REPEATED", 100)
    assert len(load("- {a: 1, b: 2}\n" * 600, "x.yaml")) == 600
    with pytest.raises(InputError, match="its aliases stand for more than 100 values"):
        load("- &a {a: 1, b: 2}\n" + "- *a\n" * 30, "x.yaml")


def test_no_other_module_reads_yaml() -> None:
    readers = [file.name for file in SOURCE.rglob("*.py") if READER.search(file.read_text(encoding="utf-8"))]
    assert readers == ["safe_yaml.py"]
