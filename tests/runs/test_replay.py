"""`uegr attack RUN --replay OTHER`: the texts of another run's attack, scored on this run."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.tiny_run import data_folder, model_folder
from uegr import cli, open_run
from uegr.attacks.journal import outcomes_of
from uegr.errors import InputError
from uegr.runs import folder
from uegr.runs.attack import attack_run
from uegr.runs.train import train
from uegr.training.config import read_config


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    place = tmp_path_factory.mktemp("home")
    model_folder(place / "model")
    data_folder(place / "data", train=64, other=24)
    for seed in (0, 1):
        flags = {"method.name": "vanilla", "model.name": str(place / "model"), "dataset.name": str(place / "data")}
        settings = ["training.batch_size=8", "training.learning_rate=0.01", "training.epochs=4", f"seed={seed}"]
        train(read_config(None, flags, settings), place / f"run{seed}", quiet=True)
    return place


def replay(home, run, other, *more):
    command = ["attack", home / run, "--replay", home / other, "--attack", "deepwordbug", "--json", *more]
    return CliRunner().invoke(cli.app, [str(part) for part in command])


def test_what_was_never_attacked_cannot_be_replayed(home):
    assert isinstance(replay(home, "run1", "run1").exception, InputError)
    assert "was not attacked with deepwordbug" in str(replay(home, "run1", "run1").exception)


def test_texts_of_another_run_are_scored_on_this_one(home):
    results = attack_run(home / "run0", attack="deepwordbug", examples=24, quiet=True)
    assert results.summary.success_rate > 0
    done = replay(home, "run1", "run0")
    assert done.exit_code == 0, done.exception
    ((name, printed),) = json.loads(done.stdout).items()
    assert name == "deepwordbug on data, 24 examples, from run0"
    texts = [one.found if one.status == "success" else one.text for one in results.outcomes]
    task = open_run(home / "run1").task()
    labels = np.array([one.label for one in results.outcomes])
    before = task.probabilities([one.text for one in results.outcomes]).argmax(1) == labels
    after = before & (task.probabilities(texts).argmax(1) == labels)
    stored = folder.read(home / "run1").tasks["data"].attacks[name]
    assert stored.accuracy_before.value == pytest.approx(before.mean())
    assert stored.accuracy_after.value == pytest.approx(after.mean()) == printed["accuracy_after"]["value"]
    assert stored.settings["replayed_from"] == "run0"


def test_replayed_on_itself_an_attack_is_as_strong_as_it_was(home):
    """Up to one text whose two logits are nearly equal: only the search rounds them."""
    attack_run(home / "run0", attack="deepwordbug", examples=24, resume=True, quiet=True)
    assert replay(home, "run0", "run0").exit_code == 0
    attacks = folder.read(home / "run0").tasks["data"].attacks
    own, again = (attacks[f"deepwordbug on data, 24 examples{more}"] for more in ("", ", from run0"))
    assert again.accuracy_after.value == pytest.approx(own.accuracy_after.value, abs=1 / 24 + 1e-9)


def test_a_damaged_journal_is_one_line(tmp_path):
    (tmp_path / "a.jsonl").write_text("{\n")
    with pytest.raises(InputError, match="is not the journal of an attack"):
        outcomes_of(tmp_path / "a.jsonl")


SEARCHING = ["--examples 200", "--surface wordnet", "--side first", "--seed 0", "--overwrite", "--no-calibrate",
             "--calibrate", "--budget 5", "--dataset x", "--set a=b", "--resume", "--encoding utf-8",
             "--kind regression", "--drop-missing"]  # fmt: skip


@pytest.mark.parametrize("given", SEARCHING)
def test_what_only_a_search_uses_is_refused(home, given):
    """Even where it has its usual value: nothing that is typed is ignored."""
    error = replay(home, "run1", "run0", *given.split()).exception
    assert isinstance(error, InputError)
    assert str(error) == f"{given.split()[0]}: for a search, and --replay searches nothing; leave it out"
