"""An MLP in place of the last linear layer: built, saved and loaded like any classifier; and random weights."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.models.families import tiny
from tests.tiny_run import data_folder, model_folder
from uegr.errors import InputError
from uegr.models import load
from uegr.models.mlp import final_layer, with_mlp
from uegr.models.texts import texts_of
from uegr.runs.finished import open_run
from uegr.runs.train import train
from uegr.training.config import RunConfig


@pytest.mark.parametrize("family", ["bert", "roberta", "albert", "electra", "deberta", "xlnet", "modernbert", "qwen2"])
def test_every_family_has_a_last_layer_that_an_mlp_replaces(family: str) -> None:
    plain, _ = tiny(family, num_labels=3)
    name, last = final_layer(plain)
    plain.config.uegr_mlp = 7
    model = with_mlp(type(plain))(plain.config).eval()
    head = model.get_submodule(name)
    assert [(layer.in_features, layer.out_features) for layer in head if isinstance(layer, nn.Linear)] == [
        (last.in_features, 7),
        (7, 3),
    ]
    ids = torch.full((2, 4), 5)
    assert model(input_ids=ids, attention_mask=torch.ones_like(ids))["logits"].shape == (2, 3)


def run(tmp_path: Path, **model: Any) -> Any:
    """A finished run."""
    config = RunConfig(
        method={"name": "vanilla"},
        model={"name": str(model_folder(tmp_path / "model")), **model},
        dataset={"name": str(data_folder(tmp_path / "data", train=32))},
        training={"epochs": 1},
    )
    train(config, tmp_path / "run", quiet=True)
    return open_run(tmp_path / "run")


def test_a_run_with_an_mlp_head_opens_as_it_was_trained(tmp_path: Path) -> None:
    task = run(tmp_path, head="mlp").task()
    assert [type(layer) for layer in task.model.classifier] == [nn.Linear, nn.ReLU, nn.Linear]
    assert task.model.classifier[0].out_features == 256
    rows = task.data().splits["test"]
    right = task.probabilities(texts_of(rows)).argmax(1) == torch.tensor(rows["label"]).numpy()
    assert right.mean() == task.about.scores["test"]["accuracy"].value
    again = load(str(tmp_path / "run"), whole=True)
    assert torch.equal(again.model.classifier[2].weight, task.model.classifier[2].weight)
    assert not again.fresh


def test_the_encoder_below_an_mlp_is_the_pretrained_one_and_the_head_follows_the_seed(tmp_path: Path) -> None:
    folder = str(model_folder(tmp_path / "model"))
    plain, first, same, other = (load(folder, num_labels=3, seed=seed, mlp=mlp) for seed, mlp in
                                 ((0, None), (0, 8), (0, 8), (1, 8)))  # fmt: skip
    for name, weight in plain.model.bert.state_dict().items():
        assert torch.equal(weight, first.model.bert.state_dict()[name])
    weights = [loaded.model.classifier[0].weight for loaded in (first, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
    assert {"classifier.0.weight", "classifier.2.bias"} <= first.fresh


def test_without_pretraining_every_weight_is_drawn_from_the_seed(tmp_path: Path) -> None:
    folder = str(model_folder(tmp_path / "model"))
    known, first, same, other = (load(folder, num_labels=3, seed=seed, pretrained=kept) for seed, kept in
                                 ((0, True), (5, False), (5, False), (6, False)))  # fmt: skip
    query = "bert.encoder.layer.0.attention.self.query.weight"
    values = [loaded.model.state_dict()[query] for loaded in (known, first, same, other)]
    assert torch.equal(values[1], values[2])
    assert not any(torch.equal(values[1], values[place]) for place in (0, 3))
    assert first.fresh == set(first.model.state_dict())
    assert first.model.from_scratch
    assert not known.model.from_scratch
    assert not first.model.training
    with pytest.raises(InputError, match="pretrained weights below an MLP head"):
        load(folder, num_labels=3, pretrained=False, mlp=8)


def test_a_run_without_pretraining_trains(tmp_path: Path) -> None:
    found = run(tmp_path, pretrained=False)
    assert found.config.model.pretrained is False
    assert found.task().pretrained() is not None


@pytest.mark.parametrize("settings", [{"head": "mlp"}, {"pretrained": False}])
def test_models_from_scratch_refuse_both(settings: dict[str, Any], tmp_path: Path) -> None:
    config = RunConfig(
        method={"name": "vanilla"},
        model={"name": "textcnn", **settings},
        dataset={"name": str(data_folder(tmp_path / "data", train=32))},
    )
    with pytest.raises(InputError, match=r"are for pretrained models, got textcnn"):
        train(config, tmp_path / "run", quiet=True)
