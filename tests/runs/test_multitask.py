"""A run over several data sets: trained by any method, each head scored on its own, resumed to the bit."""

import json

import pytest
import torch
from safetensors.torch import load_file
from typer.testing import CliRunner

from tests.runs.several_tasks import configuration, pairs, write_home
from uegr import cli
from uegr.errors import InputError
from uegr.evaluation import score
from uegr.models.texts import labels_of, texts_of
from uegr.runs import folder
from uegr.runs.attack import attack_run
from uegr.runs.evaluate import evaluate_run
from uegr.runs.export import export_onnx
from uegr.runs.finished import open_run
from uegr.runs.predict import predict_lines
from uegr.runs.prepare import prepare
from uegr.runs.train import train
from uegr.training.callbacks import MetricsFile


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = write_home(tmp_path_factory.mktemp("multitask"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("UEGR_DATA", str(folder))
        yield folder


@pytest.fixture(scope="module")
def finished(home):
    train(configuration(home, epochs=5), home / "run", quiet=True)
    return home / "run"


def test_a_regression_begins_with_the_mean_of_its_training_labels(home):
    config = configuration(home, sets=("opinions", "stsb"))
    opinions, stsb = prepare(config).loaded.model.classifier.tasks
    labels = [number for *_, number in pairs(42, seed=0)]
    assert stsb.output.bias.tolist() == pytest.approx([sum(labels) / 42])
    assert opinions.output.bias.tolist() == [0, 0]


def test_every_head_is_scored_on_its_own_data(finished, home):
    result = folder.read(finished)
    assert all(list(task.scores) == ["validation", "test"] for task in result.tasks.values())
    assert result.tasks["opinions"].scores["test"]["accuracy"].value > 0.8
    assert set(result.tasks["stsb"].scores["test"]) == {"pearson", "spearman"}
    heads = {name: (task.head, task.rows) for name, task in result.tasks.items()}
    assert heads == {"opinions": ("single", 60), "likeness": ("pair", 42), "stsb": ("regression", 42)}
    assert result.training.rows == 144
    assert result.training.steps == 5 * (8 + 6 + 6)  # the last batch of each is filled
    lines = [json.loads(line) for line in (finished / "metrics.jsonl").read_text().splitlines()]
    assert any("eval_likeness_accuracy" in line for line in lines)
    means = [line["eval_mean"] for line in lines if "eval_mean" in line]
    assert len(means) == 5
    card = (finished / "README.md").read_text()
    assert "| stsb | validation | pearson |" in card
    assert "different, same" in card


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_the_saved_run_scores_as_it_did(finished, home, tmp_path, precision):
    if precision == "bf16":
        finished = tmp_path / "run"
        train(configuration(home, precision="bf16"), finished, quiet=True)
    for task in open_run(finished).tasks.values():
        rows = task.data().splits["test"]
        again = score(task.about.metrics, task.probabilities(texts_of(rows)), labels_of(rows))
        assert again == {name: pytest.approx(one.value, abs=1e-6) for name, one in task.about.scores["test"].items()}


def test_evaluate_attack_and_predict_take_the_right_head(finished, home, capsys):
    figures = evaluate_run(finished, quiet=True)
    assert {name: next(iter(one.clean)) for name, one in figures.items()} == {
        "opinions": "accuracy",
        "likeness": "accuracy",
        "stsb": "pearson",
    }
    assert {name: list(one.perturbation) for name, one in figures.items()} == {
        "opinions": ["fgm"],
        "likeness": ["fgm"],
        "stsb": [],
    }
    assert {name: task.evaluation for name, task in folder.read(finished).tasks.items()} == figures
    assert "fgm within" in (finished / "README.md").read_text()
    code = CliRunner().invoke(cli.app, ["evaluate", str(finished), "--quiet"])
    assert code.exit_code == 0
    summary = attack_run(finished, attack="deepwordbug", examples=4, dataset="likeness", quiet=True).summary
    assert summary.examples == 4
    assert list(folder.read(finished).tasks["likeness"].attacks) == ["deepwordbug on likeness, 4 examples"]
    with pytest.raises(InputError, match="the run has the tasks opinions, likeness, stsb; choose one with --task"):
        attack_run(finished, attack="deepwordbug", examples=4, quiet=True)
    capsys.readouterr()
    predict_lines(finished, source=None, texts=["a great film", "awful"], output=None, task="opinions")
    answers = [json.loads(line)["predicted"] for line in capsys.readouterr().out.splitlines()]
    assert answers == ["good", "bad"]
    predict_lines(finished, source="stsb", texts=None, output=None, split="test")
    assert [set(json.loads(line)) for line in capsys.readouterr().out.splitlines()] == [
        {"row", "predicted", "note"}
    ] * 12


def test_what_needs_one_task_says_so(finished):
    with pytest.raises(InputError, match="the run has the tasks"):
        predict_lines(finished, source=None, texts=["x"], output=None)
    with pytest.raises(InputError, match="the run has no task opinion; did you mean opinions"):
        predict_lines(finished, source=None, texts=["x"], output=None, task="opinion")
    with pytest.raises(InputError, match="mtdnn cannot be exported"):
        export_onnx(finished)


@pytest.mark.parametrize("method", ["sam", "uegr"])
def test_methods_train_it(home, tmp_path, method):
    result = train(configuration(home, method, max_steps=6), tmp_path / "run", quiet=True)
    assert result.training.steps == 6
    base = load_file(home / "model" / "model.safetensors")
    weights = load_file(tmp_path / "run" / "model.safetensors")
    assert not torch.equal(
        weights["encoder.embeddings.word_embeddings.weight"], base["bert.embeddings.word_embeddings.weight"]
    )
    assert all(torch.isfinite(weight).all() for weight in weights.values())


def test_adapters_train_with_it_and_are_merged(finished, home, tmp_path):
    train(configuration(home, model={"lora": 2}, max_steps=4), tmp_path / "run", quiet=True)
    whole, plain = (load_file(folder / "model.safetensors") for folder in (tmp_path / "run", finished))
    assert set(whole) == set(plain)


def going_on(home, finished, sets, **settings):
    model = {"settings": {"encoder": str(finished), **settings}}
    return configuration(home, sets=sets, model=model)


def test_a_run_goes_on_for_one_of_its_tasks_from_its_own_head(finished, home, tmp_path):
    config = going_on(home, finished, ("likeness",))
    slow = config.model_copy(update={"training": config.training.model_copy(update={"learning_rate": 1e-12})})
    before = folder.read(finished).tasks["likeness"].scores
    after = train(slow, tmp_path / "run", quiet=True).tasks["likeness"].scores
    assert after == before
    assert open_run(tmp_path / "run").model.config.steps == 2  # as the first run had it, not the default


def test_a_run_goes_on_with_its_encoder_and_known_heads_and_a_fresh_one_for_a_new_task(finished, home):
    (home / "views").mkdir()
    for part in (home / "opinions").iterdir():
        (home / "views" / part.name).write_bytes(part.read_bytes())
    config = going_on(home, finished, ("stsb", "views", "opinions"), steps=3)
    model = prepare(config).loaded.model
    trained = open_run(finished).model
    for name, weight in trained.encoder.state_dict().items():
        assert torch.equal(weight, model.encoder.state_dict()[name])
    (opinions, _, stsb), (same_stsb, views, same_opinions) = trained.classifier.tasks, model.classifier.tasks
    for old, new in ((stsb, same_stsb), (opinions, same_opinions)):
        assert all(torch.equal(weight, new.state_dict()[name]) for name, weight in old.state_dict().items())
    assert not torch.equal(views.output.weight, opinions.output.weight)
    assert views.output.bias.tolist() == [0, 0]
    assert model.config.steps == 3


def test_a_run_of_several_tasks_is_no_classifier_to_begin_with(finished, home, tmp_path):
    config = configuration(home, sets=("likeness",), model={"name": str(finished), "settings": {}})
    with pytest.raises(InputError, match=r"an mtdnn of the tasks opinions, likeness, stsb.*--model mtdnn --set model"):
        train(config, tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()


def test_a_resumed_run_is_the_same(home, tmp_path, monkeypatch):
    config = configuration(home, "uegr", sets=("opinions", "likeness"))
    train(config, tmp_path / "whole", quiet=True)

    def stop(self, args, state, control, **kwargs):
        if state.global_step == 20:  # in the second epoch of 14 steps, two after a checkpoint
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MetricsFile, "on_step_end", stop)
        with pytest.raises(KeyboardInterrupt):
            train(config, tmp_path / "cut", quiet=True)
    assert train(config, tmp_path / "cut", resume=True, quiet=True).training.resumed
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "cut"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_what_cannot_be_trained_is_one_line_and_nothing_is_written(home, tmp_path):
    wrong = {
        "opinions twice": configuration(home, sets=("opinions", "opinions")),
        "no setting step; did you mean steps": configuration(home, model={"settings": {"step": 2}}),
        "several need --model mtdnn": configuration(home, model={"name": str(home / "model"), "settings": {}}),
        "--vectors are for models without pretraining": configuration(home, model={"vectors": "glove"}),
    }
    for message, config in wrong.items():
        with pytest.raises(InputError, match=message):
            train(config, tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()
