"""Which runs the page takes, what it calls them, and which texts it asks them."""

import shutil
from pathlib import Path

import pytest

from uegr.errors import InputError
from uegr.playground.opened import MOST, Model, checked_text, distinct, limit_note, open_models
from uegr.runs import folder


def test_runs_have_short_names_and_say_what_they_are(runs: list[Path]) -> None:
    models = open_models(runs)
    assert [model.name for model in models] == ["short", "long"]
    assert models[0].about == "vanilla, model, calibrated"
    assert [model.labels for model in models] == [["bad", "good"]] * 2
    assert not models[0].paired


def test_folders_of_the_same_name_are_told_apart(runs: list[Path], tmp_path: Path) -> None:
    other = Path(shutil.copytree(runs[0], tmp_path / "b" / "short"))
    names = [model.name for model in open_models([runs[0], other])]
    assert names == [f"{runs[0].parent.name}/short", "b/short"]


def test_a_run_without_a_temperature_is_shown_as_it_is(runs: list[Path], tmp_path: Path) -> None:
    other = Path(shutil.copytree(runs[0], tmp_path / "old"))
    folder.update(other, lambda result: result.with_task("data", temperature=None))
    (model,) = open_models([other])
    assert (model.calibrated, model.temperature, model.about) == (False, 1.0, "vanilla, model, not calibrated")


def test_what_the_page_cannot_show_is_refused(runs: list[Path], pair_run: Path, number_run: Path, home: Path) -> None:
    refused = {
        (number_run,): "which predicts numbers; `uegr predict` shows what it answers",
        (runs[0], pair_run): "got short (single texts) and pair (pairs); open them one by one",
        (runs[0], runs[0]): "twice; leave one out",
        (home / "data",): "expected a finished run with result.json",
        (home / "model",): "expected a finished run with result.json",
        (): "expected at least one finished run",
    }
    for places, reason in refused.items():
        with pytest.raises(InputError) as error:
            open_models(list(places))
        assert reason in str(error.value)


def test_an_unfinished_run_names_the_command_that_finishes_it(home: Path, tmp_path: Path) -> None:
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "config.yaml").write_text("seed: 0\n")
    with pytest.raises(InputError, match=r"is an unfinished run.*finish it with `uegr train --resume"):
        open_models([tmp_path / "half"])


def test_a_damaged_run_is_refused_before_the_page_opens(runs: list[Path], tmp_path: Path) -> None:
    other = Path(shutil.copytree(runs[0], tmp_path / "damaged"))
    (other / "model.safetensors").write_bytes(b"x")
    with pytest.raises(InputError, match="the run is damaged"):
        open_models([other])


def test_labels_with_control_characters_are_shown_without_them(home: Path, runs: list[Path]) -> None:
    (model,) = open_models(runs[:1])
    hostile = model.task.about.model_copy(update={"labels": ("a\x1b]0;x\x07\u202eb", "a]0;xb", "\x00")})
    task = model.task
    task.about, task.labels = hostile, hostile.labels
    assert Model("x", task).labels == ["a]0;xb", "a]0;xb (2)", "(3)"]


def test_names_stay_different() -> None:
    assert distinct(["a", "a", "a (2)"]) == ["a", "a (2)", "a (2) (3)"]


@pytest.mark.parametrize(
    ("given", "paired", "reason"),
    [
        (("", None), False, "type a sentence"),
        ((" \n\x00", None), False, "type a sentence"),
        ((None, None), False, "type a sentence"),
        (("a", ""), True, "expected two texts, got an empty one; type both"),
        (("a" * (MOST + 1), None), False, f"expected at most {MOST:,} characters, got {MOST + 1:,}; shorten the text"),
    ],
)
def test_a_text_that_cannot_be_asked_is_one_clear_line(given: tuple[str, str], paired: bool, reason: str) -> None:
    with pytest.raises(InputError) as error:
        checked_text(*given, paired)
    assert str(error.value) == reason


def test_a_text_loses_what_a_page_would_not_show() -> None:
    assert checked_text(" a\x1b[31m \ud800\u202e<b>", None, False) == "a[31m \ufffd<b>"
    assert checked_text("a", "b", True) == ("a", "b")


def test_a_full_box_is_said() -> None:
    said = f"a text ends after {MOST:,} characters; what is beyond is left out"
    assert limit_note(["a" * MOST]) == limit_note(["a", "b" * MOST]) == said
    assert limit_note(["\N{FACE WITH TEARS OF JOY}" * (MOST // 2)]) == said  # a browser counts two
    assert limit_note(["a" * (MOST - 1), None, ""]) == ""


def test_multi_task_runs_need_the_task(runs: list[Path]) -> None:
    with pytest.raises(InputError, match="has no task other"):
        open_models(runs, task="other")
