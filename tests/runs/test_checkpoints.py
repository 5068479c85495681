"""Checkpoints and finished runs are whole, or are not used: what is damaged is named, what changed is refused."""

import json
import os
import shutil
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.forks import end_of, forked
from tests.tiny_run import data_folder, model_folder
from uegr import RobustTrainer
from uegr.errors import DataWarning, InputError
from uegr.runs import folder, manifest
from uegr.runs.checkpoints import check_origin, numbered
from uegr.runs.finished import open_run
from uegr.runs.hub import write_hub_folder
from uegr.runs.prepare import resolved
from uegr.runs.train import train
from uegr.training.callbacks import MetricsFile, best_folders
from uegr.training.config import RunConfig

STOP = 17  # in the third epoch of 6 steps, after checkpoints at 12 and 16


def configured(home: Path, **training: Any) -> RunConfig:
    return RunConfig(
        method={"name": "uegr", "epsilon": 0.01},
        model={"name": str(home / "model")},
        dataset={"name": str(home / "data")},
        training={"batch_size": 8, "epochs": 4, "learning_rate": 0.01, "checkpoint_steps": 4, **training},
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Data, model, and a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("checkpoints")
    model_folder(folder / "model")
    data_folder(folder / "data", train=48, other=8)
    train(configured(folder), folder / "whole", quiet=True)
    with pytest.MonkeyPatch.context() as patch:
        interrupt(configured(folder), folder / "interrupted", patch)
    return folder


@pytest.fixture
def cut(home: Path, tmp_path: Path) -> Path:
    """The same run, interrupted."""
    shutil.copytree(home / "interrupted", tmp_path / "cut")
    assert [path.name for path in numbered(tmp_path / "cut")] == ["checkpoint-16", "checkpoint-12"]
    return tmp_path / "cut"


def interrupt(config: RunConfig, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == STOP:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MetricsFile, "on_step_end", stop)
        with pytest.raises(KeyboardInterrupt):
            train(config, place, quiet=True)


def flip(path: Path) -> None:
    """One bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def same_weights(one: Path, other: Path) -> bool:
    first, second = (load_file(place / "model.safetensors") for place in (one, other))
    return all(torch.equal(first[name], second[name]) for name in first)


def warned(home: Path, place: Path) -> list[str]:
    """Resume, and what was said about it."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = train(configured(home), place, resume=True, quiet=True)
    assert result is not None
    return [str(one.message) for one in found if "checkpoint" in str(one.message) or "threads" in str(one.message)]


def test_a_resumed_run_ends_with_the_same_weights_and_the_same_metrics(home: Path, cut: Path) -> None:
    with (cut / "metrics.jsonl").open("a") as file:
        file.write('{"step": 17, "epoch": 2.8, "loss": 0.5}\n{"step": 18, "ep')  # logged after the checkpoint, and cut
    assert warned(home, cut) == []
    assert same_weights(home / "whole", cut)
    assert (cut / "metrics.jsonl").read_text() == (home / "whole" / "metrics.jsonl").read_text()
    assert not [*cut.glob("*checkpoint-*"), *cut.glob("best*")]


def test_a_run_that_is_stopped_between_the_last_step_of_an_epoch_and_its_evaluation_makes_it_later(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Step 12 is the end of an epoch and has a checkpoint, which must not come before the evaluation."""
    evaluate = RobustTrainer.evaluate

    def stop(self: RobustTrainer, *args: Any, **options: Any) -> Any:
        if self.state.global_step == 12:
            raise KeyboardInterrupt
        return evaluate(self, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(RobustTrainer, "evaluate", stop)
        with pytest.raises(KeyboardInterrupt):
            train(configured(home), tmp_path / "run", quiet=True)
    train(configured(home), tmp_path / "run", resume=True, quiet=True)
    for name in ("model.safetensors", "metrics.jsonl"):
        assert (tmp_path / "run" / name).read_bytes() == (home / "whole" / name).read_bytes()


PARTS = ("model.safetensors", "optimizer.pt", "scheduler.pt", "trainer_state.json", "rng_state.pth")


WAYS: dict[str, Callable[[Path], object]] = {
    "flipped": flip,
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-9]),
    "missing": Path.unlink,
}


@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("how", WAYS)
def test_damage_of_any_part_is_found(cut: Path, name: str, how: str) -> None:
    checkpoint = cut / "checkpoint-16"
    assert manifest.damage(checkpoint) is None
    WAYS[how](checkpoint / name)
    assert name in str(manifest.damage(checkpoint))


@pytest.mark.parametrize(("name", "how"), list(zip(PARTS, [*WAYS, *WAYS], strict=False)))
def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(home: Path, cut: Path, name: str, how: str) -> None:
    WAYS[how](cut / "checkpoint-16" / name)
    (line,) = warned(home, cut)
    assert "damaged-checkpoint-16" in line
    assert name in line
    assert same_weights(home / "whole", cut)


def test_a_checkpoint_that_was_not_finished_is_not_used(home: Path, cut: Path) -> None:
    (cut / "checkpoint-16" / manifest.NAME).unlink()
    assert warned(home, cut) == []
    assert same_weights(home / "whole", cut)


def test_a_manifest_that_cannot_be_read_is_damage(home: Path, cut: Path) -> None:
    (cut / "checkpoint-16" / manifest.NAME).write_text("{")
    (line,) = warned(home, cut)
    assert "manifest.json cannot be read" in line
    assert same_weights(home / "whole", cut)


def test_without_a_whole_checkpoint_the_run_starts_over(home: Path, cut: Path) -> None:
    for path in numbered(cut):
        flip(path / "optimizer.pt")
    assert len(warned(home, cut)) == 2
    assert same_weights(home / "whole", cut)


def test_damaged_best_weights_are_refused(home: Path, cut: Path) -> None:
    (best,) = best_folders(cut)
    flip(best / "model.safetensors")
    with pytest.raises(InputError, match=r"the best weights of this run are damaged: .*sha256"):
        train(configured(home), cut, resume=True, quiet=True)
    for file in best.iterdir():
        file.unlink()
    best.rmdir()
    with pytest.raises(InputError, match=r"best-.* is missing"):
        train(configured(home), cut, resume=True, quiet=True)


def test_other_rows_and_other_base_weights_are_refused(home: Path, cut: Path) -> None:
    rows = home / "data" / "train.csv"
    before = rows.read_bytes()
    rows.write_bytes(before.replace(b",bad", b",good", 1))
    try:
        with pytest.raises(InputError, match=r"expected the rows that .* was started with, got others of data"):
            train(configured(home), cut, resume=True, quiet=True)
    finally:
        rows.write_bytes(before)
    weights = (home / "model" / "model.safetensors").read_bytes()
    state = load_file(home / "model" / "model.safetensors")

    save_file(
        {name: weight + 1 for name, weight in state.items()}, home / "model" / "model.safetensors", {"format": "pt"}
    )
    try:
        with pytest.raises(InputError, match="expected the base weights"):
            train(configured(home), cut, resume=True, quiet=True)
    finally:
        (home / "model" / "model.safetensors").write_bytes(weights)


def test_another_number_of_threads_is_said(home: Path, cut: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    threads = torch.get_num_threads()
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads + 1)
    (line,) = warned(home, cut)
    assert f"set OMP_NUM_THREADS={threads} for the same bits" in line


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("rows", {"data": ["another", "another"]}, "expected the rows that"),
        ("weights", "another", "expected the base weights that"),
        ("processes", 3, "expected the 1 processes that .* was started with, got 3; start as many with torchrun"),
    ],
)
def test_what_a_checkpoint_was_trained_from_must_be_the_same(cut: Path, key: str, value: Any, line: str) -> None:
    before = manifest.read(numbered(cut)[0]).origin
    check_origin(cut, before, before)
    with pytest.raises(InputError, match=line):
        check_origin(cut, before, before.model_copy(update={key: value}))


def test_another_configuration_is_refused_before_what_it_names_is_looked_for(home: Path, cut: Path) -> None:
    config = configured(home)
    config = config.model_copy(update={"dataset": config.dataset.model_copy(update={"name": "/nowhere"})})
    folder.write_config(cut, resolved(config))
    (numbered(cut)[0] / manifest.NAME).unlink()  # the one before it knows too
    with pytest.raises(InputError, match=r"expected the configuration that .* restore its config.yaml"):
        train(config, cut, resume=True, quiet=True)


def test_other_versions_are_said(cut: Path) -> None:
    before = manifest.read(numbered(cut)[0]).origin
    with pytest.warns(DataWarning, match=r"was started with torch .*: the weights may differ"):
        check_origin(cut, before, before.model_copy(update={"versions": before.versions | {"torch": "0"}}))


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_changed_file_of_a_finished_run_is_refused(home: Path, cut: Path, name: str) -> None:
    train(configured(home), cut, resume=True, quiet=True)
    open_run(cut).predict(["a fine film"])
    flip(cut / name)
    with pytest.raises(InputError, match=f"the run is damaged: .*{name} has changed since it was written"):
        open_run(cut).predict(["a fine film"])


def test_a_result_with_a_setting_that_cannot_be_is_refused_by_name(home: Path, cut: Path) -> None:
    train(configured(home), cut, resume=True, quiet=True)
    result = json.loads((cut / "result.json").read_text())
    result["config"]["training"]["batch_size"] = ""
    (cut / "result.json").write_text(json.dumps(result))
    with pytest.raises(InputError, match=r"result\.json: config\.training\.batch_size: .*, got ''; restore the file"):
        open_run(cut)


def test_a_second_training_in_a_folder_is_refused(home: Path, cut: Path) -> None:
    before = {path: path.read_bytes() for path in cut.rglob("*") if path.is_file()}
    told, tell = os.pipe()

    def hold() -> None:
        with folder.held(cut):
            os.write(tell, b"held")
            signal.pause()

    other = forked(hold)
    assert os.read(told, 4) == b"held"
    try:
        with pytest.raises(InputError, match=r"another process trains in .*; wait for it, or choose another --output"):
            train(configured(home), cut, resume=True, quiet=True)
    finally:
        os.kill(other, signal.SIGKILL)
    assert end_of(other) == -signal.SIGKILL
    assert {path: path.read_bytes() for path in cut.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("name", ["../model.safetensors", "/etc/hostname", "sub\\x", ".."])
def test_a_manifest_lists_nothing_outside_of_its_folder(home: Path, tmp_path: Path, name: str) -> None:
    """What it lists is read, and copied by `uegr export --hub`; a received one may name anything."""
    run = shutil.copytree(home / "whole", tmp_path / "run")
    stored = json.loads((run / manifest.NAME).read_text())
    stored["files"][name] = stored["files"]["model.safetensors"]
    (run / manifest.NAME).write_text(json.dumps(stored))
    shutil.copy(run / "model.safetensors", tmp_path)
    with pytest.raises(InputError, match=r"manifest.json cannot be read: .*expected names of files, got the path"):
        open_run(run).predict(["a fine film"])
    with pytest.raises(InputError, match="expected names of files, got the path"):
        write_hub_folder(run, "me/run", tmp_path / "sub" / "out")


def test_a_manifest_says_what_the_run_was_trained_from(home: Path) -> None:
    stored = json.loads((home / "whole" / manifest.NAME).read_text())
    assert {"model.safetensors", "config.yaml", "tokenizer.json"} <= set(stored["files"])
    assert not {"result.json", "README.md", "metrics.jsonl"} & set(stored["files"])
    assert list(stored["origin"]["rows"]) == ["data"]
    assert stored["origin"]["threads"] == torch.get_num_threads()
    assert manifest.damage(home / "whole") is None
