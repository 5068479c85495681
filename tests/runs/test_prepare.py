"""What a run leaves to its model is spelt out: learning rate and epochs. Rows of a fold are tested on only."""

import pytest
from datasets import Dataset

from tests.tiny_run import sentences, write_csv
from uegr.errors import InputError
from uegr.runs.finished import open_run
from uegr.runs.heads import longest_first
from uegr.runs.prepare import load_data, prepare, resolved
from uegr.runs.train import train
from uegr.training.config import RunConfig, read_config


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


@pytest.mark.parametrize("given", [{"folds": 5}, {"fold": 0}, {"folds": 2, "fold": 2}])
def test_a_fold_needs_its_number_and_how_many_there_are(given):
    settings = [f"dataset.{key}={value}" for key, value in given.items()]
    with pytest.raises(InputError, match=r"^dataset: expected folds and fold together, with 0 <= fold < folds, got "):
        read_config(None, {"dataset.name": "snippets"}, settings)


def test_a_configuration_without_folds_does_not_name_them():
    assert not {"folds", "fold"} & set(resolved(RunConfig(dataset={"name": "snippets"}))["dataset"])


def test_a_run_is_measured_on_the_fold_that_it_was_not_trained_on(tmp_path):
    home = write_csv(tmp_path / "films.csv", sentences(60))
    seen = []
    for fold in range(3):
        config = RunConfig(
            method={"name": "vanilla"},
            model={"name": "textcnn", "settings": {"embedding_size": 50}},
            dataset={"name": str(home), "folds": 3, "fold": fold},
            training={"epochs": 1},
            seed=fold,
        )
        result = train(config, tmp_path / str(fold), quiet=True)
        task = open_run(tmp_path / str(fold)).task()
        held, chosen = task.held_out().splits["test"]["text"], task.validation_rows()["text"]
        trained = load_data(config, str(home)).splits["train"]["text"]
        assert not {*trained} & {*held} | {*trained} & {*chosen} | {*held} & {*chosen}
        assert len(trained) + len(held) + len(chosen) == 60
        assert result.tasks["films"].scores["test"]["accuracy"].n == len(held) == 20
        seen += held
    assert sorted(seen) == sorted(text for text, _ in sentences(60))


def test_a_search_does_not_see_the_fold(tmp_path):
    home = write_csv(tmp_path / "films.csv", sentences(60))
    config = RunConfig(model={"name": "textcnn"}, dataset={"name": str(home), "folds": 3, "fold": 1})
    assert set(prepare(config, development=True).sets["films"].splits) == {"train", "validation"}


def test_validation_rows_come_longest_first_so_that_batches_need_little_padding():
    rows = Dataset.from_dict({"length": [3, 9, 5, 9], "labels": [0, 1, 2, 3]})
    assert list(longest_first(rows)["labels"]) == [1, 3, 2, 0]
