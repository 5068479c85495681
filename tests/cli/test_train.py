"""`uegr train`: the folder it leaves, and what it answers to mistakes."""

import json
import re
import shutil

import pytest
import typer

from tests.cli.conftest import ODD
from tests.tiny_run import data_folder, sentences, write_csv
from uegr.cli import app
from uegr.evaluation.metrics import METRICS
from uegr.runs.prepare import EPOCHS
from uegr.training.config import LORA_RATE, PRETRAINED_RATE, SCRATCH_RATE, RunConfig

SMALL = ["--batch-size", "8", "--learning-rate", "0.01", "--quiet", "--seed", "3"]


def test_a_finished_run_is_a_folder_that_plain_transformers_loads(finished):
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    result = json.loads((finished / "result.json").read_text())
    model = AutoModelForSequenceClassification.from_pretrained(finished)
    tokenizer = AutoTokenizer.from_pretrained(finished)
    assert model.config.id2label == {0: "bad", 1: "good"}
    logits = model(**tokenizer("the film was great", return_tensors="pt")).logits
    assert model.config.id2label[int(logits.argmax())] == "good"
    accuracy = result["tasks"]["data"]["scores"]["test"]["accuracy"]
    assert accuracy["value"] > 0.9
    assert accuracy["n"] == 24
    assert sorted(p.name for p in finished.iterdir()) == sorted(
        [
            ".lock",
            "README.md",
            "config.yaml",
            "config.json",
            "manifest.json",
            "metrics.jsonl",
            "model.safetensors",
            "result.json",
        ]
        + [p.name for p in finished.glob("tokenizer*")]
    )
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    assert {"loss_task", "loss_adversarial", "loss_divergence"} <= set(lines[0])
    assert any("eval_accuracy" in line for line in lines)


def test_no_pickle_is_left_in_a_run(finished):
    assert not [p.name for p in finished.rglob("*") if p.suffix in (".bin", ".pt", ".pth", ".pkl")]


MISTAKES = {
    "unknown method": (["--method", "uger"], "unknown method uger; did you mean uegr?"),
    "negative epsilon": (["--method", "uegr", "--set", "method.epsilon=-1"], "uegr: expected epsilon >= 0, got -1.0"),
    "alpha out of range": (
        ["--method", "uegr", "--set", "method.alpha=1.3"],
        "uegr: expected 0 <= alpha <= 1, got 1.3",
    ),
    "unknown option": (
        ["--method", "uegr", "--set", "method.epsilom=1"],
        "uegr has no option epsilom; did you mean epsilon?",
    ),
    "option of the wrong type": (["--set", "method.epsilon=large"], "method.epsilon: input should be a valid number"),
    "option outside its choice": (
        ["--method", "uegr", "--set", "method.norm=word"],
        "method.norm: input should be 'example', 'token'",
    ),
    "unknown key": (["--set", "training.epoch=3"], "unknown key training.epoch; did you mean epochs?"),
    "setting without value": (["--set", "training.epochs"], "expected --set section.key=value"),
    "negative epochs": (["--epochs", "-1"], "training.epochs: input should be greater than 0"),
    "infinite rate": (["--learning-rate", "1e400"], "training.learning_rate: input should be a finite number, got inf"),
    "infinite epochs": (["--epochs", "inf"], "training.epochs: input should be a finite number, got inf"),
    "no number": (["--set", "training.weight_decay=.nan"], "training.weight_decay: input should be a finite number"),
    "infinite option": (["--set", "method.epsilon=1e400"], "method.epsilon: input should be a finite number, got inf"),
    "unknown data set": (["--dataset", "snipets"], "did you mean snippets?"),
    "no module": (["--method", "nowhere:method"], "cannot import the method nowhere:method"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_clear_line_and_nothing_is_written(uegr, mistake, home, tmp_path):
    arguments, expected = MISTAKES[mistake]
    base = ["--model", home / "model", "--dataset", home / "data", "--output", tmp_path / "run", *SMALL]
    code, _, error = uegr("train", *base, *arguments)
    assert code == 2
    assert expected in error
    assert "\n" not in error.strip()
    assert not (tmp_path / "run").exists()


def bad_files(folder):
    """name -> (file or folder, words that must be in the line)."""
    folder.mkdir()
    (folder / "empty.csv").write_text("")
    write_csv(folder / "nolabel.csv", [("a fine film",), ("a dull film",)], header=("text",))
    write_csv(folder / "one.csv", [(text, "good") for text, _ in sentences(30)])
    write_csv(folder / "ids.csv", [(text, f"id{row}") for row, (text, _) in enumerate(sentences(30))])
    unseen = data_folder(folder / "unseen")
    write_csv(unseen / "validation.csv", [*sentences(4), ("a strange film", "odd")])
    return {
        "empty.csv": (folder / "empty.csv", ["empty.csv"]),
        "nolabel.csv": (folder / "nolabel.csv", ["label", "nolabel.csv"]),
        "one.csv": (folder / "one.csv", ["two labels", "--label-column"]),
        "ids.csv": (folder / "ids.csv", ["identifier", "--label-column"]),
        "unseen": (unseen, ["odd", "validation.csv"]),
    }


@pytest.mark.parametrize("case", ["empty.csv", "nolabel.csv", "one.csv", "ids.csv", "unseen"])
def test_bad_data_is_one_clear_line_and_nothing_is_written(uegr, case, home, tmp_path):
    file, words = bad_files(tmp_path / "bad")[case]
    base = ["--model", home / "model", "--output", tmp_path / "run", *SMALL]
    code, _, error = uegr("train", *base, "--dataset", file)
    assert code == 2
    assert all(word in error for word in words), error
    assert not (tmp_path / "run").exists()


def test_a_model_without_dropout_is_refused_before_anything_is_written(uegr, home, tmp_path):
    from tests.models.families import tiny

    model, _ = tiny("llama")
    model.save_pretrained(tmp_path / "llama")
    for file in (home / "model").glob("tokenizer*"):
        (tmp_path / "llama" / file.name).write_bytes(file.read_bytes())
    base = ["--model", tmp_path / "llama", "--dataset", home / "data", "--output", tmp_path / "run", *SMALL]
    code, _, error = uegr("train", *base, "--method", "uegr")
    assert code == 2
    assert "nn.Dropout" in error
    assert "Llama" in error
    assert not (tmp_path / "run").exists()


def test_a_folder_with_something_else_in_it_is_left_alone(train, finished, tmp_path):
    (tmp_path / "diary.txt").write_text("mine")
    code, _, error = train(tmp_path)
    assert code == 2
    assert "choose another --output" in error
    assert [p.name for p in tmp_path.iterdir()] == ["diary.txt"]
    code, _, error = train(finished)
    assert (code, error) == (2, f"{finished} holds a finished run; choose another --output, or remove the folder")


def test_a_finished_run_is_not_trained_again_and_another_configuration_is_refused(train, finished, settings):
    before = (finished / "result.json").read_bytes()
    code, out, error = train(finished, *settings, "--resume")
    assert (code, out, error) == (0, "", f"{finished} is finished: nothing is left to train\n")
    assert (finished / "result.json").read_bytes() == before
    code, _, error = train(finished, *settings, "--set", "training.clip=2", "--resume")
    assert code == 2
    assert "training" in error


def test_a_finished_run_with_a_changed_file_is_refused_when_it_is_resumed(train, finished, settings, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    weights = bytearray((tmp_path / "run" / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (tmp_path / "run" / "model.safetensors").write_bytes(bytes(weights))
    code, _, error = train(tmp_path / "run", *settings, "--resume")
    assert code == 2
    assert "the run is damaged" in error


def test_a_method_whose_name_is_a_number_is_one_line(uegr, tmp_path):
    (tmp_path / "odd.yaml").write_text("method: {name: 12}\n")
    code, _, error = uegr("train", "--config", tmp_path / "odd.yaml", "--dataset", "snippets")
    assert code == 2
    assert "12" in error


def test_a_yaml_file_is_read_and_flags_win(uegr, home, tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text(
        f"method: {{name: rat, epsilon: 0.5}}\nmodel: {home / 'model'}\ndataset: {home / 'data'}\n"
        "training: {epochs: 1, batch_size: 8}\nseed: 5\n"
    )
    code, out, error = uegr("train", "--config", file, "--output", tmp_path / "run", "--seed", "6", "--quiet", "--json")
    assert code == 0, error
    config = json.loads(out)["config"]
    assert (config["method"]["name"], config["method"]["epsilon"], config["seed"]) == ("rat", 0.5, 6)
    file.write_text("- a list\n")
    assert "expected a mapping" in uegr("train", "--config", file, "--output", tmp_path / "other")[2]


def test_a_method_of_the_users_own_trains(train, tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "from uegr.methods import Method, Objective, configured\n"
        "class Doubled(Objective):\n"
        "    def losses(self, model, batch):\n"
        "        yield {'task': 2 * model(**batch).loss}\n"
        "@configured\n"
        "def doubled(*, factor: float = 2.0) -> Method:\n"
        "    return Method(Doubled(), name='doubled')\n"
    )
    monkeypatch.chdir(tmp_path)
    code, out, error = train(tmp_path / "run", "--epochs", "1", "--json", method="mine:doubled")
    assert code == 0, error
    assert json.loads(out)["config"]["method"]["name"] == "mine:doubled"


def test_without_an_output_every_run_has_a_folder_of_its_own(uegr, home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for method in ("vanilla", "rdrop"):
        base = ["--model", home / "model", "--dataset", home / "data", "--method", method]
        code, _, error = uegr("train", *base, "--set", "training.max_steps=1", "--quiet")
        assert code == 0, error
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["data-model-rdrop-0", "data-model-vanilla-0"]


def test_the_defaults_in_the_help_are_those_of_the_configuration(uegr):
    config = RunConfig(dataset={"name": "x"})
    shown = re.sub(r"[│\s]+", " ", uegr("train", "--help")[1])
    for flag, default in {
        "--method": config.method["name"],
        "--model": config.model.name,
        "--seed": config.seed,
        "--batch-size": config.training.batch_size,
        "--precision": config.training.precision,
        "--epochs": f"the model's own, else {EPOCHS}",
        "--augment-start": config.augment.start,
    }.items():
        assert re.search(rf"{flag} [^>]*> (?:(?! --\w).)*default: {default}\.", shown), flag
    assert [float(rate) for rate in re.findall(r"\de-\d", shown)] == [PRETRAINED_RATE, LORA_RATE, SCRATCH_RATE]


def test_the_metrics_have_one_list(uegr):
    """The help named mcc, and the error matthews; mcc is still taken."""
    listed = re.search(r"comes first: (.*?) \(or mcc\)(.*?); default", " ".join(str(option("metric").help).split()))
    error = uegr("train", "--metric", "x", "--dataset", "snippets")[2]
    names = re.findall(r"\w+", "".join(listed.groups()).replace(" or ", " "))
    assert names == re.findall(r"'(\w+)'", error)[:-1]
    assert set(names) == set(METRICS)


def option(name):
    return next(one for one in typer.main.get_command(app).commands["train"].params if one.name == name)


FLAGS = {
    "--learning-rate 0.01": ("training", "learning_rate", 0.01),
    "--batch-size 8": ("training", "batch_size", 8),
    "--patience 2": ("training", "patience", 2),
    "--precision bf16": ("training", "precision", "bf16"),
    "--metric mcc": ("training", "metric", "matthews"),
    "--balance sampling": ("training", "balance", "sampling"),
    "--report-to wandb --report-to mlflow": ("training", "report_to", ("wandb", "mlflow")),
    "--delimiter tab": ("dataset", "delimiter", "\t"),
    "--quoting none": ("dataset", "quoting", "none"),
    "--encoding cp1252": ("dataset", "encoding", "cp1252"),
    "--kind regression": ("dataset", "kind", "regression"),
    "--paper-split": ("dataset", "paper_split", True),
    "--drop-missing": ("dataset", "drop_missing", True),
    "--label-column stars": ("dataset", "label_column", "stars"),
    "--lora": ("model", "lora", 8),
}


@pytest.mark.parametrize("flag", FLAGS)
def test_a_flag_reaches_the_configuration_and_wins_over_the_file(flag, uegr, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("uegr.runs.train.train", lambda config, *args, **options: seen.append(config))
    file = tmp_path / "run.yaml"
    file.write_text("dataset: {name: x, encoding: utf-16}\ntraining: {batch_size: 4, patience: 9}\n")
    code, _, error = uegr("train", "--config", file, *flag.split())
    assert code == 0, error
    section, key, value = FLAGS[flag]
    assert getattr(getattr(seen[0], section), key) == value


def test_a_file_is_read_as_the_flags_say(uegr, home, odd, tmp_path):
    base = ["--model", home / "model", "--dataset", odd, "--output", tmp_path / "run", "--method", "vanilla"]
    base += ["--set", "training.max_steps=1", "--quiet", "--json"]
    code, _, error = uegr("train", *base)
    assert (code, "--encoding" in error) == (2, True), error
    code, out, error = uegr("train", *base, *ODD, "--label-column", "stars")
    assert code == 0, error
    assert json.loads(out)["tasks"]["odd"]["labels"] == ["bad", "good"]
