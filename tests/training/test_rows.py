"""Rows that no training can use are one line with a remedy; a collator or a transform that tokenises is left alone."""

from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset

from tests.models.families import tiny
from tests.training.test_engine import arguments
from uegr import RobustTrainer, models
from uegr.data.vocabulary import vocabulary
from uegr.errors import InputError

TEXTS = [{"text": "a film", "label": 0}] * 20
TOKENS = {"input_ids": [5, 6], "attention_mask": [1, 1]}


def trainer(folder: Path, **given: Any) -> RobustTrainer:
    rows = {"train_dataset": [TOKENS | {"labels": 0}] * 4} | given
    return RobustTrainer(model=tiny("bert")[0], args=arguments(folder, max_steps=1), method="vanilla", **rows)


def line_of(folder: Path, **given: Any) -> str:
    with pytest.raises(InputError) as caught:
        trainer(folder, **given)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["train_dataset", "eval_dataset"])
def test_texts_are_no_tokens(name: str, tmp_path: Path) -> None:
    start = f"expected tokens in {name}, got texts; use uegr.models.tokenized("
    assert line_of(tmp_path, **{name: TEXTS}) == f"{start}Dataset.from_list({name}), tokenizer)"
    assert line_of(tmp_path, **{name: Dataset.from_list(TEXTS)}) == f"{start}{name}, tokenizer)"
    other = Dataset.from_list(TEXTS).rename_column("text", "sentence")
    assert line_of(tmp_path, **{name: other}) == f"{start}{name}.rename_column('sentence', 'text'), tokenizer)"
    strings = line_of(tmp_path, **{name: ["a film"] * 20})
    assert strings == f"{start}Dataset.from_dict({{'text': {name}, 'label': labels}}), tokenizer)"


def test_the_remedies_work_when_typed(tmp_path: Path) -> None:
    texts = ["a film"] * 4
    tokenizer = vocabulary(Dataset.from_dict({"text": texts}))
    for given in (TEXTS, Dataset.from_list(TEXTS).rename_column("text", "sentence"), texts):
        remedy = line_of(tmp_path, train_dataset=given).partition("use uegr.")[2]
        names = {"models": models, "Dataset": Dataset, "train_dataset": given, "tokenizer": tokenizer}
        trainer(tmp_path, train_dataset=eval(remedy, names | {"labels": [0] * 4})).train()


def test_what_is_no_row_is_named(tmp_path: Path) -> None:
    for row, told in ((None, "None"), (3, "3"), (([5, 6], 1), r"([5, 6], 1)")):
        line = line_of(tmp_path, train_dataset=[row] * 32)
        assert line.startswith(f"expected rows with input_ids and labels in train_dataset, got {told} (row 0); ")


def test_whoever_tokenises_later_is_left_alone(tmp_path: Path) -> None:
    def collated(rows: list[Any]) -> dict[str, Any]:
        raise AssertionError

    for rows in (TEXTS, ["a film"] * 4, [None] * 4):
        trainer(tmp_path, train_dataset=rows, data_collator=collated)
    lazily = Dataset.from_list(TEXTS).with_transform(
        lambda batch: (
            {name: [value] * len(batch["text"]) for name, value in TOKENS.items()} | {"labels": batch["label"]}
        )
    )
    trainer(tmp_path, train_dataset=lazily)
    trainer(tmp_path, train_dataset=[TOKENS | {"labels": 0, "text": "a film"}] * 4).train()


def test_no_rows_at_all_are_said(tmp_path: Path) -> None:
    for rows in ([], Dataset.from_list([]), Dataset.from_list(TEXTS).select([])):
        line = line_of(tmp_path, train_dataset=rows)
        assert line == "expected at least one row in train_dataset, got an empty dataset; check its filter or its split"
    assert "got an empty dataset" in line_of(tmp_path, train_dataset=[], balance="weights")
    trainer(tmp_path, train_dataset=None)
    trainer(tmp_path, train_dataset=Dataset.from_list(TEXTS).to_iterable_dataset())
