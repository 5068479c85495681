"""Labels outside the model's classes are one line before training; what may be right is left alone."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from datasets import Dataset
from torch import nn
from transformers import BertForMultipleChoice, BertForTokenClassification

import uegr
from tests.models.families import tiny
from tests.training.test_engine import arguments
from uegr import RobustTrainer
from uegr.errors import InputError
from uegr.training.labels import check_labels, wanted

BAD = [
    (7, r"expected labels 0 to 1 \(2 classes\) in {name}, got 7 \(row 3\); .* num_labels=8"),
    (-1, r"expected labels 0 to 1 \(2 classes\) in {name}, got -1 \(row 3\); number the classes from 0"),
    (None, r"expected labels 0 to 1 \(2 classes\) in {name}, got None \(row 3\); leave out the rows without"),
]
GOOD = {"labels": 1}


def rows_with(*labels: Any, key: str = "labels") -> list[dict[str, Any]]:
    return [{"input_ids": [5, 6], "attention_mask": [1, 1], key: label} for label in labels]


def trainer(folder: Path, model: nn.Module | None = None, **given: Any) -> RobustTrainer:
    rows = {"train_dataset": rows_with(0, 1, 0, 1)} | given
    return RobustTrainer(model=model or tiny("bert")[0], args=arguments(folder, max_steps=1), method="vanilla", **rows)


def tagger() -> nn.Module:
    kind: Any = BertForTokenClassification
    return kind(tiny("bert", num_labels=3)[0].config)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["train_dataset", "eval_dataset"])
@pytest.mark.parametrize("kind", [list, Dataset.from_list], ids=["list", "Dataset"])
@pytest.mark.parametrize(("value", "line"), BAD)
def test_a_label_outside_the_classes_is_one_line(name: str, kind: Any, value: Any, line: str, tmp_path: Path) -> None:
    for key in ("labels", "label"):
        with pytest.raises(InputError, match=line.format(name=name)) as caught:
            trainer(tmp_path, **{name: kind(rows_with(0, 1, 1, value, 0, key=key))})
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", [list, Dataset.from_list], ids=["list", "Dataset"])
def test_floats_are_no_classes(kind: Any, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"got 1\.0 \(row 0\); convert the labels to int, or .* num_labels=1"):
        trainer(tmp_path, train_dataset=kind(rows_with(1.0, 0.0)))


def test_arrays_tensors_and_chosen_rows_are_looked_at(tmp_path: Path) -> None:
    for value in (np.int64(7), np.array(7), torch.tensor(7)):
        with pytest.raises(InputError, match=r"got 7 \(row 1\)"):
            trainer(tmp_path, train_dataset=rows_with(0, value))
    long = Dataset.from_list(rows_with(*[0] * 10_005, 7))
    with pytest.raises(InputError, match=r"got 7 \(row 10005\)"):
        trainer(tmp_path, train_dataset=long)
    with pytest.raises(InputError, match=r"got 7 \(row 1\)"):
        trainer(tmp_path, train_dataset=long.select([3, 10_005]).with_format("torch"))
    trainer(tmp_path, train_dataset=long.select(range(4))).train()


def test_every_evaluation_set_is_looked_at(tmp_path: Path) -> None:
    sets = {"dev": rows_with(0, 1), "other": rows_with(0, 2)}
    with pytest.raises(InputError, match=r"in eval_dataset\['other'\], got 2 \(row 1\)"):
        trainer(tmp_path, eval_dataset=sets)
    with pytest.raises(InputError, match="column label of eval_dataset, got names such as 'good'"):
        trainer(tmp_path, eval_dataset=rows_with("good", key="label"))


def test_balanced_classes_get_the_same_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"got -1 \(row 1\)"):
        trainer(tmp_path, train_dataset=rows_with(0, -1), balance="weights")


@pytest.mark.parametrize("kind", [list, Dataset.from_list], ids=["list", "Dataset"])
def test_labels_of_tokens(kind: Any, tmp_path: Path) -> None:
    trainer(tmp_path, tagger(), train_dataset=kind(rows_with([-100, 2], [0, 1]))).train()
    for labels, line in (
        ([0, 3], r"expected labels 0 to 2 \(3 classes\) in train_dataset, got 3 \(row 1\)"),
        ([0, None], r"got None \(row 1\)"),
    ):
        with pytest.raises(InputError, match=line):
            trainer(tmp_path, tagger(), train_dataset=kind(rows_with([-100, 2], labels)))
    with pytest.raises(InputError, match=r"got 2 \(row 0\); give one label per token"):
        trainer(tmp_path, tagger(), train_dataset=kind(rows_with(2, 1)))


@pytest.mark.parametrize("kind", [list, Dataset.from_list], ids=["list", "Dataset"])
def test_regressions_take_numbers_and_multi_label_takes_vectors(kind: Any, tmp_path: Path) -> None:
    number, several = tiny("bert", num_labels=1)[0], tiny("bert", num_labels=2)[0]
    trainer(tmp_path, number, train_dataset=kind(rows_with(7.5, -1.0))).train()
    trainer(tmp_path, tiny("bert")[0], train_dataset=kind(rows_with([0.0, 1.0], [1.0, 1.0]))).train()
    several.config.problem_type = "multi_label_classification"
    trainer(tmp_path, several, train_dataset=kind(rows_with([0.0, 1.0], [1.0, 1.0]))).train()
    with pytest.raises(InputError, match=r"expected a vector of 2 numbers .* got 1 \(row 0\)"):
        trainer(tmp_path, several, train_dataset=kind(rows_with(1, 0)))
    with pytest.raises(InputError, match=r"expected a number .* got None \(row 1\); leave out"):
        trainer(tmp_path, number, train_dataset=kind(rows_with(7.5, None)))


def test_what_may_mean_something_else_is_left_alone(tmp_path: Path) -> None:
    seven = rows_with(7, 7, 7, 7)
    trainer(tmp_path, train_dataset=seven, compute_loss_func=lambda outputs, labels, **more: outputs.logits.sum())
    trainer(tmp_path, train_dataset=seven, data_collator=lambda rows: {"labels": [row["labels"] - 7 for row in rows]})
    choice: Any = BertForMultipleChoice
    check_labels(choice(tiny("bert")[0].config), seven, "train_dataset")
    changed = Dataset.from_list(seven).with_transform(lambda batch: batch | {"labels": [0] * len(batch["labels"])})
    trainer(tmp_path, train_dataset=changed)
    trainer(tmp_path, train_dataset=Dataset.from_list(seven).to_iterable_dataset())
    trainer(tmp_path, train_dataset=rows_with(0, -100, 1, 0)).train()


def test_scratch_models_are_judged_and_those_of_several_tasks_are_not() -> None:
    assert wanted(tiny("textcnn", num_labels=3)[0]) == ("class", 3)
    assert wanted(nn.Linear(2, 2)) is None


def test_a_loop_of_ones_own_gets_one_line() -> None:
    batch = {"input_ids": torch.tensor([[5, 6]]), "attention_mask": torch.ones(1, 2, dtype=torch.long)}
    for method in ("uegr", "vanilla"):
        for value in (7, -1):
            with pytest.raises(InputError, match=rf"expected labels 0 to 1 \(2 classes\) in the batch, got {value};"):
                uegr.backward(method, tiny("bert")[0], batch | {"labels": torch.tensor([value])})
    with pytest.raises(InputError, match=r"expected labels 0 to 2 \(3 classes\) in the batch, got 3;"):
        uegr.backward("vanilla", tagger(), batch | {"labels": torch.tensor([[-100, 3]])})
    assert uegr.backward("vanilla", tagger(), batch | {"labels": torch.tensor([[-100, 2]])})["task"] > 0
