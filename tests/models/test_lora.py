"""LoRA: adapters in every family, merged at the end into a model that plain transformers loads."""

import builtins

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification
from typer.testing import CliRunner

from tests.models.families import FAMILIES, tiny
from uegr import cli
from uegr.errors import InputError
from uegr.evaluation import score
from uegr.models import Loaded
from uegr.models.lora import adapted, merged
from uegr.models.texts import labels_of, texts_of
from uegr.runs import train as run
from uegr.runs.finished import open_run
from uegr.runs.train import train
from uegr.training.callbacks import MetricsFile
from uegr.training.config import RunConfig

SCRATCH = {"bilstm", "textcnn", "texthan"}
PRETRAINED = [family for family in FAMILIES if family not in SCRATCH]


def inputs(model):
    ids = torch.arange(5, 19).view(2, 7)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


@pytest.mark.parametrize("family", PRETRAINED)
def test_merging_keeps_what_was_trained(family):
    plain, _ = tiny(family, num_labels=3)
    names = set(plain.state_dict())
    before = plain.eval()(**inputs(plain)).logits
    model = adapted(Loaded(plain, None, family, None), rank=2, dropout=0.0).model
    torch.testing.assert_close(model.eval()(**inputs(model)).logits, before)  # B is zero
    frozen_but_for_adapters_and_head(model)
    optimizer = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=0.05)
    for _ in range(2):
        model(**inputs(model), labels=torch.tensor([0, 2])).loss.backward()
        optimizer.step()
    trained = model(**inputs(model)).logits
    assert not torch.allclose(trained, before, atol=1e-3)
    whole = merged(model)
    assert set(whole.state_dict()) == names
    torch.testing.assert_close(whole(**inputs(whole)).logits, trained, rtol=1e-4, atol=1e-4)


def frozen_but_for_adapters_and_head(model):
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    rest = {name for name in trained if "lora_" not in name}
    assert any("lora_" in name for name in trained)
    assert rest
    assert all("modules_to_save" in name for name in rest)
    heads = ("classifier", "score", "pooler", "head", "summary", "logits_proj")
    assert all(any(part in name for part in heads) for name in rest)


def test_targets_are_ends_of_names_and_unknown_ones_are_refused():
    model = adapted(Loaded(tiny("bert")[0], None, "bert", None), rank=1, targets=["query", "value"]).model
    names = {name.split(".lora_")[0].rpartition(".")[2] for name, _ in model.named_parameters() if ".lora_" in name}
    assert names == {"query", "value"}
    with pytest.raises(InputError, match=r"no layer of bert ends in q_proj; choose from dense, key, query, value"):
        adapted(Loaded(tiny("bert")[0], None, "bert", None), targets=["q_proj"])


def test_without_peft_one_line_says_how_to_get_it(monkeypatch):
    whole = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "peft":
            raise ImportError(name)
        return whole(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"pip install 'uegr\[peft\]'"):
        adapted(Loaded(tiny("bert")[0], None, "bert", None))


def configuration(home, **changes):
    model = {"name": str(home / "model"), "lora": 4, **changes.pop("model", {})}
    training = {"batch_size": 8, "epochs": 4, "learning_rate": 0.02, "checkpoint_steps": 10}
    method = changes.pop("method", {"name": "uegr", "epsilon": 0.01})
    return RunConfig(method=method, model=model, dataset={"name": str(home / "data")}, training=training, seed=3)


@pytest.mark.parametrize("select", ["best", "last"])
def test_a_run_is_an_ordinary_model(home, tmp_path, select):
    config = configuration(home)
    config = config.model_copy(update={"training": config.training.model_copy(update={"select": select})})
    result = train(config, tmp_path / "run", quiet=True)
    weights = load_file(tmp_path / "run" / "model.safetensors")
    base = load_file(home / "model" / "model.safetensors")
    assert set(weights) == set(base)
    same = {name for name in base if torch.equal(weights[name], base[name])}
    assert "bert.embeddings.word_embeddings.weight" in same
    assert not any(name.endswith(("query.weight", "classifier.weight", "pooler.dense.weight")) for name in same)
    assert not list((tmp_path / "run").glob("adapter*"))
    AutoModelForSequenceClassification.from_pretrained(tmp_path / "run")
    task = open_run(tmp_path / "run").task()
    rows = task.data().splits["test"]
    again = score(["accuracy"], task.probabilities(texts_of(rows)), labels_of(rows))["accuracy"]
    assert again == result.tasks["data"].scores["test"]["accuracy"].value


def test_a_resumed_run_is_the_same(home, tmp_path, monkeypatch):
    whole = configuration(home)
    train(whole, tmp_path / "whole", quiet=True)

    def stop(self, args, state, control, **kwargs):
        if state.global_step == 15:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MetricsFile, "on_step_end", stop)
        with pytest.raises(KeyboardInterrupt):
            train(whole, tmp_path / "cut", quiet=True)
    result = train(whole, tmp_path / "cut", resume=True, quiet=True)
    assert result.training.resumed
    one, other = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "cut"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_model_from_scratch_has_nothing_to_adapt(home, tmp_path):
    with pytest.raises(InputError, match="got textcnn, which is trained from scratch"):
        train(configuration(home, model={"name": "textcnn"}), tmp_path / "run", quiet=True)
    assert not (tmp_path / "run").exists()


def test_the_flags_of_train(monkeypatch, tmp_path):
    seen = []
    monkeypatch.setattr(run, "train", lambda config, folder, **options: seen.append(config.model) or {})
    base = ["train", "--dataset", "snippets", "--output", str(tmp_path / "run")]
    for more in (["--attention", "eager", "--dtype", "float64"], ["--lora"], ["--lora", "--set", "model.lora=16"]):
        assert CliRunner().invoke(cli.app, base + more).exit_code == 0
    assert (seen[0].attention, seen[0].dtype, seen[0].lora) == ("eager", "float64", None)
    assert [one.lora for one in seen[1:]] == [8, 16]
