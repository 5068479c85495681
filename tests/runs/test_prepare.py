"""What a run leaves to its model is spelt out: learning rate and epochs."""

import pytest

from uegr.runs.prepare import resolved
from uegr.training.config import RunConfig


def training(**sections):
    return resolved(RunConfig(dataset={"name": "snippets"}, **sections))["training"]


@pytest.mark.parametrize(
    ("model", "rate", "epochs"),
    [
        ({"name": "minilm"}, 5e-5, 3),
        ({"name": "textcnn"}, 1e-3, 3),
        ({"name": "mtdnn"}, 5e-5, 5),
        ({"name": "minilm", "lora": 8}, 5e-4, 3),
        ({"name": "some/folder"}, 5e-5, 3),
    ],
)
def test_what_is_left_out_depends_on_the_model(model, rate, epochs):
    assert (training(model=model)["learning_rate"], training(model=model)["epochs"]) == (rate, epochs)


def test_what_is_given_stays():
    given = training(model={"name": "mtdnn"}, training={"epochs": 1.5, "learning_rate": 0.01})
    assert (given["epochs"], given["learning_rate"]) == (1.5, 0.01)


def test_a_resolved_configuration_resolves_to_itself():
    once = resolved(RunConfig(dataset={"name": "snippets"}, model={"name": "mtdnn"}))
    assert resolved(RunConfig(**once)) == once
