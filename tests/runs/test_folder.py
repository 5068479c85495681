"""The folder of a run: one writer of result.json that loses nothing, and folders that are left alone."""

import os
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.forks import command, end_of, forked
from tests.tiny_run import data_folder, model_folder
from uegr.errors import InputError
from uegr.result import Evaluation, Result
from uegr.runs import folder
from uegr.runs.evaluate import with_evaluations
from uegr.runs.train import train
from uegr.training.config import RunConfig

TIMES = 20


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("folder")
    config = RunConfig(
        method={"name": "vanilla"},
        model={"name": str(model_folder(home / "model"))},
        dataset={"name": str(data_folder(home / "data", train=32, other=8))},
        training={"epochs": 1},
    )
    train(config, home / "run", quiet=True)
    return home / "run"


def test_the_result_is_typed_and_says_what_was_trained_and_how_long_texts_may_be(run: Path) -> None:
    result = folder.read(run)
    assert list(result.tasks) == ["data"]
    task = result.tasks["data"]
    assert (task.head, task.labels, task.metrics, task.rows) == (
        "single",
        ("bad", "good"),
        ("accuracy", "macro_f1", "balanced_accuracy"),
        32,
    )
    accuracy = task.scores["test"]["accuracy"]
    assert accuracy.n == 8
    assert 0 <= accuracy.low <= accuracy.value <= accuracy.high <= 1
    assert (result.training.steps, result.training.passes) == (2, (1, 1))
    assert result.training.max_length == 32  # the tokenizer's own
    assert result.training.processor_seconds >= 0
    assert set(result.versions) == {"uegr", "torch", "transformers", "accelerate", "datasets"}
    assert folder.results.parsed(result.to_json(), run) == result


def commands(run: Path) -> list[int]:
    """An evaluation and an attack of one run, as a user starts them."""
    attack = ["attack", run, "--attack", "deepwordbug", "--examples", 4, "--quiet"]
    evaluation = ["evaluate", run, "--quiet"]
    return [command(*words, output=run.with_suffix(f".{words[0]}")) for words in (evaluation, attack)]


def evaluations(run: Path) -> None:
    for number in range(TIMES):
        found = {"data": Evaluation(data="data", split="test", clean={}, seed=number)}
        folder.update(run, partial(with_evaluations, found=found))


def attacks(run: Path) -> None:
    attack = next(iter(folder.read(run).tasks["data"].attacks.values()))

    def with_attack(result: Result, name: str) -> Result:
        return result.with_task("data", attacks=result.tasks["data"].attacks | {name: attack})

    for number in range(TIMES):
        folder.update(run, partial(with_attack, name=f"attack {number}"))


def finish(processes: list[int]) -> None:
    assert [end_of(process) for process in processes] == [0, 0]


def test_an_evaluation_and_an_attack_at_the_same_time_lose_nothing(run: Path) -> None:
    """The two commands once, for their wiring; then their writes, TIMES each, as fast as two processes can."""
    finish(commands(run))
    task = folder.read(run).tasks["data"]
    assert task.evaluation is not None
    assert list(task.attacks) == ["deepwordbug on data, 4 examples"]
    finish([forked(partial(writes, run)) for writes in (evaluations, attacks)])
    task = folder.read(run).tasks["data"]
    assert task.evaluation is not None
    assert task.evaluation.seed == TIMES - 1
    assert list(task.attacks) == ["deepwordbug on data, 4 examples", *(f"attack {number}" for number in range(TIMES))]


@pytest.mark.slow
def test_twenty_evaluations_and_attacks_side_by_side(run: Path) -> None:
    for _ in range(TIMES):
        folder.update(run, lambda result: result.with_task("data", evaluation=None, attacks={}))
        for journal in (run / "attacks").glob("*.jsonl"):
            journal.unlink()
        finish(commands(run))
        task = folder.read(run).tasks["data"]
        assert task.evaluation is not None
        assert list(task.attacks) == ["deepwordbug on data, 4 examples"]


def test_an_exception_in_a_change_leaves_the_file_and_lets_go_of_the_lock(run: Path) -> None:
    before = (run / "result.json").read_bytes()

    def broken(result: Result) -> Result:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        folder.update(run, broken)
    assert (run / "result.json").read_bytes() == before
    folder.update(run, lambda result: result)


def test_a_folder_with_other_content_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="expected a new or empty folder"):
        folder.check(tmp_path, {}, resume=True)


def test_a_run_is_resumed_only_with_the_same_settings(tmp_path: Path) -> None:
    folder.write_config(tmp_path, {"seed": 0, "training": {"epochs": 1}})
    folder.check(tmp_path, {"seed": 0, "training": {"epochs": 1}}, resume=True)
    with pytest.raises(InputError, match="an unfinished run; continue it with --resume"):
        folder.check(tmp_path, {"seed": 0}, resume=False)
    with pytest.raises(InputError, match="started with another seed"):
        folder.check(tmp_path, {"seed": 1, "training": {"epochs": 1}}, resume=True)


def test_everything_is_on_the_disk_before_the_result_and_the_result_before_checkpoints_go(
    run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The order of flushes, renames and removals: after a power failure nothing counts that is not whole."""
    seen: list[tuple[str, str]] = []
    flush, replace, rmtree = os.fsync, os.replace, shutil.rmtree

    def flushed(handle: int) -> None:
        seen.append(("flush", Path(os.readlink(f"/proc/self/fd/{handle}")).name))
        flush(handle)

    def renamed(source: Path, target: Path) -> None:
        seen.append(("rename", Path(target).name))
        replace(source, target)

    def removed(path: Path, *args: Any, **options: Any) -> None:
        seen.append(("remove", Path(path).name))
        rmtree(path, *args, **options)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(os, "replace", renamed)
    monkeypatch.setattr(shutil, "rmtree", removed)
    config = RunConfig.model_validate(folder.read(run).config.model_dump())
    train(config, tmp_path / "new", quiet=True)
    done = seen.index(("rename", "result.json"))
    assert {("flush", name) for name in ("model.safetensors", "tokenizer.json", "new")} <= set(seen[:done])
    checkpoint = seen.index(("flush", "optimizer.pt"))
    assert ("flush", "metrics.jsonl") in seen[:checkpoint]
    assert seen.index(("flush", "checkpoint-2")) > checkpoint
    assert seen.index(("flush", "new"), done) < seen.index(("remove", "checkpoint-2"), done)


def test_a_folder_that_is_not_there_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"in runs/x, but there is no such folder in {tmp_path}; correct the path"):
        folder.read(Path("runs/x"))
    with pytest.raises(InputError, match="but there is no such folder; correct the path"):
        folder.read(tmp_path / "x")
    (tmp_path / "x.csv").touch()
    with pytest.raises(InputError, match="but it is a file; name the folder of the run"):
        folder.read(Path("x.csv"))
    with pytest.raises(InputError, match=r"in \., got none; run `uegr train` first"):
        folder.read(Path())
