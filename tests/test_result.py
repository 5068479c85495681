"""result.json by its types: what is written is read, and what does not fit is one line with the file and the field."""

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from uegr.errors import InputError
from uegr.result import Figure, Result, Task, Training, parsed, read

FILE = Path("runs/first/result.json")


def example(**changes: Any) -> Result:
    figure = Figure(0.5, 0.4, math.nan, 10)
    task = Task(
        dataset="my data/films.csv",
        head="single",
        labels=("bad", "good"),
        metrics=("accuracy",),
        rows=3,
        scores={"test": {"accuracy": figure}},
    )
    content: dict[str, Any] = {
        "config": {
            "method": {"name": "uegr", "epsilon": 0.1},
            "model": {"name": "minilm"},
            "dataset": {"name": "films"},
            "seed": 3,
        },
        "tasks": {"films": task},
        "training": Training(
            rows=3, steps=2, epochs=1.0, seconds=1, processor_seconds=1, passes=(3, 3), max_length=None
        ),
        "machine": {"python": "3", "platform": "", "processor": "", "cores": 1, "threads": 1, "gpu": None},
        "versions": {"uegr": "1"},
        "command": "uegr train",
    }
    return Result(**content | changes)


def test_what_is_written_is_read_and_null_stands_for_no_number() -> None:
    text = example().to_json()
    assert json.loads(text)["tasks"]["films"]["scores"]["test"]["accuracy"]["high"] is None
    again = parsed(text, FILE)
    figure = again.tasks["films"].scores["test"]["accuracy"]
    assert (figure.value, figure.low, figure.n) == (0.5, 0.4, 10)
    assert math.isnan(figure.high)
    assert again.to_json() == text
    assert again.config.method.model_extra == {"epsilon": 0.1}


def changed(*path: str, value: Any = None, remove: bool = False) -> str:
    """The example's JSON with one value replaced."""
    stored = json.loads(example().to_json())
    place = stored
    for part in path[:-1]:
        place = place[part]
    if remove:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return json.dumps(stored)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (
            "{",
            "is not valid JSON: line 1, column 2: expecting property name enclosed in double quotes; restore the file",
        ),
        ("[]", "expected schema 1, got 'no mapping'; train it again"),
        ("{}", "expected schema 1, got 'none'; train it again with this version"),
        (changed("schema", value=2), "expected schema 1, got 2; train it again with this version"),
        (changed("training", "steps", remove=True), "training.steps: field required"),
        (changed("tasks", "films", "labels", value=5), "tasks.films.labels: input should be a valid tuple, got 5"),
        (changed("tasks", value={}), "tasks: dictionary should have at least 1 item"),
        (changed("surprise", value=1), "surprise: extra inputs are not permitted"),
        (
            changed("tasks", "films", "scores", "test", "accuracy", "low", value="q"),
            "tasks.films.scores.test.accuracy.low: input should be a valid number",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_one_line_with_its_name_and_the_field(text: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        parsed(text, FILE)
    assert str(caught.value).startswith(str(FILE))
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read .*none.json: No such file"):
        read(tmp_path / "none.json")
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="is not valid JSON"):
        read(tmp_path / "bytes.json")


def test_a_task_is_found_by_its_name_or_its_data_set_and_the_only_one_by_none() -> None:
    one = example()
    assert {one.task_named(name) for name in (None, "films", "my data/films.csv")} == {"films"}
    two = one.model_copy(update={"tasks": one.tasks | {"books": one.tasks["films"]}})
    with pytest.raises(InputError, match="the run has the tasks films, books; choose one with --task"):
        two.task_named(None)
    with pytest.raises(InputError, match="the run has no task book; did you mean books"):
        two.task_named("book")


def test_it_knows_no_torch() -> None:
    code = "import sys, uegr.result, uegr.statistics; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
