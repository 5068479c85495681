"""Training on what an attack finds: it adds what it says, resumes to the same bits wherever it was cut, and refuses."""

import json
import os
import signal

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from tests.forks import end_of, forked
from tests.tiny_run import data_folder, model_folder, sentences, write_csv
from uegr import cli
from uegr.attacks import Outcome
from uegr.errors import InputError
from uegr.runs import attacked_rows
from uegr.runs.attacked_rows import Plan
from uegr.runs.prepare import resolved
from uegr.runs.train import train
from uegr.training.config import read_config
from uegr.training.engine import RobustTrainer

WORDS = "great\tawful\nlovely\tgrim\nfine\tdull\nbright\tpoor\nawful\tgreat\ngrim\tlovely\ndull\tfine\npoor\tbright\n"
SMALL = ["training.batch_size=8", "training.learning_rate=0.001", "training.warmup=0", "training.select=last"]
ROWS, EXAMPLES = 80, 24


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Data, what may replace what, and a model that has learnt: there is something to flip."""
    folder = tmp_path_factory.mktemp("home")
    model_folder(folder / "fresh")
    data_folder(folder / "data", train=ROWS, other=8)
    (folder / "words.tsv").write_text(WORDS)
    plain = {"augment.name": None, "augment.surface": None, "augment.examples": None}
    learning = {"model.name": str(folder / "fresh"), "training.epochs": 10}
    result = train(configured(folder, "training.learning_rate=0.01", **plain, **learning), folder / "model", quiet=True)
    assert result.tasks["data"].scores["test"]["accuracy"].value == 1
    return folder


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(attacked_rows, "BLOCK", 8)


def configured(home, *settings, **flags):
    chosen = {
        "method.name": "vanilla",
        "model.name": str(home / "model"),
        "dataset.name": str(home / "data"),
        "training.epochs": 3,
        "augment.name": "pwws",
        "augment.surface": str(home / "words.tsv"),
        "augment.examples": EXAMPLES,
    }
    return read_config(None, chosen | flags, [*SMALL, *settings])


def lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture
def seen(monkeypatch):
    """The token ids of every training row, by epoch."""
    epochs = {}
    step = RobustTrainer.training_step

    def watched(self, model, inputs, *rest):
        rows = [tuple(row[mask == 1].tolist()) for row, mask in zip(*(inputs[n] for n in NAMES), strict=True)]
        epochs.setdefault(int(self.state.epoch or 0), []).extend(zip(rows, inputs["labels"].tolist(), strict=True))
        return step(self, model, inputs, *rest)

    monkeypatch.setattr(RobustTrainer, "training_step", watched)
    return epochs


NAMES = ("input_ids", "attention_mask")


@pytest.mark.parametrize("grouped", ["true", "false"])
def test_every_epoch_has_all_rows_and_the_sample_once_more(home, tmp_path, seen, grouped):
    from transformers import AutoTokenizer

    config = configured(home, f"training.group_by_length={grouped}")
    result = train(config, tmp_path / "run", quiet=True)
    tokenizer = AutoTokenizer.from_pretrained(home / "model")
    texts = [f"{text} s0" for text, _ in sentences(ROWS)]
    clean = sorted((tuple(tokenizer(text).input_ids), number % 2) for number, text in enumerate(texts))
    assert [len(rows) for rows in seen.values()] == [ROWS + EXAMPLES] * 3
    assert not (tmp_path / "run" / "augment" / "epoch-0.jsonl").exists()
    flips = 0
    for epoch in range(3):
        sample = np.sort(np.random.default_rng([0, epoch]).choice(ROWS, EXAMPLES, replace=False))
        extra = [(texts[row], int(row) % 2) for row in sample]
        if epoch > 0:
            outcomes = [Outcome.decoded(line) for line in lines(tmp_path / "run" / "augment" / f"epoch-{epoch}.jsonl")]
            assert [(one.index, one.text) for one in outcomes] == [(row, texts[row]) for row in sample]
            flips += sum(one.status == "success" for one in outcomes)
            extra = [(one.found if one.status == "success" else one.text, one.label) for one in outcomes]
            assert all(set(one.found.split()) - set(one.text.split()) for one in outcomes if one.status == "success")
        added = [(tuple(tokenizer(text).input_ids), label) for text, label in extra]
        assert sorted(seen[epoch]) == sorted(clean + added)
    assert flips > 5, "a test in which little is found shows little"
    counts = result.training.augment
    assert [count["epoch"] for count in counts] == [1, 2]
    assert sum(count["found"] for count in counts) == flips
    logged = [line for line in lines(tmp_path / "run" / "metrics.jsonl") if "augment_found" in line]
    assert [line["augment_found"] for line in logged] == [count["found"] for count in counts]
    assert [line["augment_attacked"] for line in logged] == [EXAMPLES] * 2


class Cut(Exception):
    """Stands for a power cut."""


def uninterrupted(home, folder, *settings):
    train(configured(home, *settings), folder, quiet=True)
    return folder


@pytest.fixture(scope="module")
def whole(home, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attacked_rows, "BLOCK", 8)
        return uninterrupted(home, tmp_path_factory.mktemp("whole") / "run", "training.checkpoint_steps=9")


def same(one, other):
    """Weights to the bit, what was found, and what was logged."""
    weights = [load_file(folder / "model.safetensors") for folder in (one, other)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    files = [sorted((folder / "augment").iterdir()) for folder in (one, other)]
    assert [file.name for file in files[0]] == [file.name for file in files[1]] == ["epoch-1.jsonl", "epoch-2.jsonl"]
    assert [file.read_text() for file in files[0]] == [file.read_text() for file in files[1]]
    logs = [[line for line in lines(folder / "metrics.jsonl") if "augment_found" in line] for folder in (one, other)]
    assert logs[0] == logs[1]


@pytest.mark.parametrize("epoch", [1, 2])
def test_cut_in_the_middle_of_an_attack(home, whole, tmp_path, monkeypatch, epoch):
    attacked, blocks = Plan.attacked, []

    def cut(self, model, rows, number):
        if number == epoch and len(blocks) == 2:
            raise Cut
        blocks.extend([rows[0]] if number == epoch else [])
        return attacked(self, model, rows, number)

    config = configured(home, "training.checkpoint_steps=9")
    with monkeypatch.context() as patch:
        patch.setattr(Plan, "attacked", cut)
        with pytest.raises(Cut):
            train(config, tmp_path / "run", quiet=True)
    part = tmp_path / "run" / "augment" / f"epoch-{epoch}.part"
    assert len(lines(part)) == 16
    with part.open("a") as file:
        file.write('{"index": 3, "cut o')
    again = []

    def counted(self, model, rows, number):
        again.extend([rows[0]] if number == epoch else [])
        return attacked(self, model, rows, number)

    monkeypatch.setattr(Plan, "attacked", counted)
    train(config, tmp_path / "run", resume=True, quiet=True)
    assert len(again) == 1  # the finished blocks are not attacked again
    same(tmp_path / "run", whole)


@pytest.mark.parametrize("step", [15, 31])
def test_cut_in_the_middle_of_an_epoch(home, whole, tmp_path, monkeypatch, step):
    real = RobustTrainer.training_step

    def cut(self, *arguments):
        if self.state.global_step == step:
            raise Cut
        return real(self, *arguments)

    config = configured(home, "training.checkpoint_steps=9")
    with monkeypatch.context() as patch:
        patch.setattr(RobustTrainer, "training_step", cut)
        with pytest.raises(Cut):
            train(config, tmp_path / "run", quiet=True)
    train(config, tmp_path / "run", resume=True, quiet=True)
    same(tmp_path / "run", whole)


def killed(home, folder):
    """In a process of its own: the first line of the second block is the last thing it does."""
    attacked = Plan.attacked

    def fatal(self, model, rows, epoch):
        if (self.sample(epoch)[8] == rows[0]) and epoch == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return attacked(self, model, rows, epoch)

    Plan.attacked = fatal
    train(configured(home, "training.checkpoint_steps=9"), folder, quiet=True)


def test_killed_in_the_middle_of_an_attack(home, whole, tmp_path):
    assert end_of(forked(lambda: killed(home, tmp_path / "run"))) == -signal.SIGKILL
    assert len(lines(tmp_path / "run" / "augment" / "epoch-2.part")) == 8
    train(configured(home, "training.checkpoint_steps=9"), tmp_path / "run", resume=True, quiet=True)
    same(tmp_path / "run", whole)


def test_what_was_found_for_a_begun_epoch_must_be_there(home, tmp_path, monkeypatch):
    def cut(self, args, state, control, **kwargs):
        if state.global_step == 18:
            raise Cut

    config = configured(home, "training.checkpoint_steps=9")
    with monkeypatch.context() as patch:
        patch.setattr("uegr.training.callbacks.MetricsFile.on_step_begin", cut, raising=False)
        with pytest.raises(Cut):
            train(config, tmp_path / "run", quiet=True)
    found = tmp_path / "run" / "augment" / "epoch-1.jsonl"
    kept = found.read_text()
    for content, says in ((None, "no such file"), ("[]\n", "no outcomes"), (kept.split("\n")[0] + "\n", "other rows")):
        found.unlink(missing_ok=True)
        if content is not None:
            found.write_text(content)
        with pytest.raises(InputError, match=says):
            train(config, tmp_path / "run", resume=True, quiet=True)


@pytest.mark.parametrize(
    ("method", "setting"),
    [("uegr", "training.clip=1"), ("rift", "model.lora=2"), ("mixout", "training.accumulation=2")],
)
def test_any_method_and_attack(home, tmp_path, method, setting):
    flags = {"method.name": method, "training.epochs": 2, "augment.name": "deepwordbug", "augment.examples": 10}
    result = train(configured(home, setting, **flags), tmp_path / "run", quiet=True)
    assert [count["attacked"] for count in result.training.augment] == [10]


def test_pairs_change_on_one_side(home, tmp_path):
    rows = [(f"pair {number} s0", text, label) for number, (text, label) in enumerate(sentences(ROWS))]
    file = write_csv(tmp_path / "pairs.csv", rows, header=("premise", "hypothesis", "label"))
    columns = {"dataset.text_column": "premise", "dataset.pair_column": "hypothesis"}
    train(configured(home, **columns, **{"dataset.name": str(file)}), tmp_path / "run", quiet=True)
    outcomes = [Outcome.decoded(line) for line in lines(tmp_path / "run" / "augment" / "epoch-2.jsonl")]
    found = [one for one in outcomes if one.status == "success"]
    assert found
    assert all(one.found[0] == one.text[0] and one.found[1] != one.text[1] for one in found)


def test_regression_is_refused_and_nothing_is_written(home, tmp_path):
    rows = [(text, str(number / 7)) for number, (text, _) in enumerate(sentences(40))]
    file = write_csv(tmp_path / "rated.csv", rows)
    flags = {"dataset.name": str(file), "dataset.kind": "regression"}
    with pytest.raises(InputError, match=r"--augment flips labels, got the regression") as caught:
        train(configured(home, **flags), tmp_path / "run", quiet=True)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ({"augment.name": "pwsw"}, "no attack 'pwsw'; did you mean pwws"),
        ({"augment.surface": "nowhere.tsv"}, "nowhere.tsv"),
        ({"augment.settings": {"variannt": "ren"}}, "pwws has no setting variannt; did you mean variant"),
        ({"augment.name": None}, "expected an attack beside the settings of augment"),
        ({"augment.example": 3}, "unknown key augment.example; did you mean examples"),
        ({"augment.examples": 0}, "augment.examples: input should be greater than or equal to 1"),
    ],
)
def test_mistakes_are_one_clear_line_and_nothing_is_written(home, tmp_path, flags, says):
    with pytest.raises(InputError, match=says) as caught:
        train(configured(home, **flags), tmp_path / "run", quiet=True)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_without_augmentation_the_configuration_says_nothing_of_it(home):
    plain = configured(home, **dict.fromkeys(["augment.name", "augment.surface", "augment.examples"]))
    assert "augment" not in resolved(plain)
    assert resolved(configured(home))["augment"]["examples"] == EXAMPLES
    assert configured(home).label() == "data-model-vanilla_pwws-0"
    assert plain.label() == "data-model-vanilla-0"


def test_the_flags_of_the_command_line(home, tmp_path):
    base = ["train", "--model", home / "model", "--dataset", home / "data", "--method", "vanilla", "--epochs", "2"]
    flags = ["--augment", "pwws", "--augment-examples", "9", "--augment-start", "0", "--set"]
    more = [f"augment.surface={home / 'words.tsv'}", "--quiet", "--json", "--output", tmp_path / "run"]
    result = CliRunner().invoke(cli.app, [str(part) for part in [*base, *flags, *more]])
    assert result.exit_code == 0, result.exception
    counts = json.loads(result.stdout)["training"]["augment"]
    assert [(count["epoch"], count["attacked"]) for count in counts] == [(0, 9), (1, 9)]
