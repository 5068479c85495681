"""`uegr attack RUN`: a model that fails in the middle ends in one line, and --resume ends as if it never had."""

import json

import pytest
from typer.testing import CliRunner

from tests.tiny_run import data_folder, model_folder
from uegr import cli
from uegr.attacks import Victim
from uegr.errors import InputError
from uegr.runs.train import train
from uegr.training.config import read_config

WORDS = "great\tawful\nlovely\tgrim\nfine\tdull\nbright\tpoor\nawful\tgreat\ngrim\tlovely\ndull\tfine\npoor\tbright\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("home")
    model_folder(folder / "model")
    data_folder(folder / "data", train=80, other=20)
    (folder / "words.tsv").write_text(WORDS)
    flags = {"method.name": "vanilla", "model.name": str(folder / "model"), "dataset.name": str(folder / "data")}
    settings = ["training.batch_size=8", "training.learning_rate=0.01", "training.epochs=8"]
    train(read_config(None, flags, settings), folder / "run", quiet=True)
    return folder


def attack(home, name, *more):
    small = ["--set", "population=4", "--set", "iterations=2"] if name == "genetic" else []
    base = ["attack", home / "run", "--attack", name, "--surface", home / "words.tsv", "--examples", 20, "--quiet"]
    return CliRunner().invoke(cli.app, [str(part) for part in [*base, *small, "--json", *more]])


def forget(home):
    for journal in (home / "run" / "attacks").glob("*.jsonl"):
        journal.unlink()


def outcomes(home, name):
    (journal,) = (home / "run" / "attacks").glob(f"{name}-data-20-*.jsonl")
    lines = [json.loads(line) for line in journal.read_text().split("\n")[:-1]]
    return sorted((line for line in lines if line["kind"] == "outcome"), key=lambda line: line["index"])


@pytest.mark.parametrize(("name", "good"), [("pwws", 1), ("pwws", 2), ("genetic", 1)])
def test_resume_after_a_failure_equals_an_uninterrupted_attack(home, monkeypatch, name, good):
    forget(home)
    whole = attack(home, name)
    assert whole.exit_code == 0, whole.exception
    expected, summary = outcomes(home, name), json.loads(whole.stdout)
    assert summary["success_rate"] > 0.3
    forget(home)
    calls, real = 0, Victim.__call__

    def failing(self, texts):
        nonlocal calls
        calls += 1
        if calls > good:
            raise MemoryError("no room\nat all")
        return real(self, texts)

    with monkeypatch.context() as patch:
        patch.setattr(Victim, "__call__", failing)
        cut = attack(home, name)
    assert isinstance(cut.exception, InputError)
    assert "MemoryError: no room" in str(cut.exception)
    assert "resume to continue from there" in str(cut.exception)
    assert "\n" not in str(cut.exception)
    assert len(outcomes(home, name)) < 20
    resumed = attack(home, name, "--resume")
    assert resumed.exit_code == 0, resumed.exception
    assert outcomes(home, name) == expected
    again = json.loads(resumed.stdout)
    figures = ("accuracy_before", "accuracy_after", "success_rate", "words_changed", "queries", "skipped", "examples")
    assert {figure: again[figure] for figure in figures} == {figure: summary[figure] for figure in figures}
