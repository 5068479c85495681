"""Other data with other label names: answers are translated, and rows that no answer can mean are left out."""

import numpy as np
import pytest
import torch

from tests.evaluation.subjects import some_rows, subject
from uegr.errors import InputError
from uegr.evaluation import Other, probabilities
from uegr.evaluation.shift import shift


def test_answers_are_translated_and_what_no_answer_can_mean_is_left_out():
    """Labels 0 and 2 of the model mean 1 and 0 there, as its label 1; nothing means the labels 2 and 3."""
    model, tokenizer = subject(num_labels=3, dtype=torch.float64)
    rows = some_rows(40, num_labels=4)
    found = shift(model, tokenizer, Other("hans", rows, (1, 0, 0)))

    kept = [row for row in rows if row["label"] < 2]
    said = probabilities(model, tokenizer, [row["text"] for row in kept])
    answers, confidence = said.argmax(1), said.max(1)
    right = np.where(answers == 0, 1, 0) == [row["label"] for row in kept]
    assert 0 < right.mean() < 1
    assert found["accuracy"].value == pytest.approx(right.mean())
    assert found["accuracy"].n == len(kept) < 40
    bins = [(confidence > k / 15) & (confidence <= (k + 1) / 15) for k in range(15)]
    ece = sum(inside.mean() * abs(right[inside].mean() - confidence[inside].mean()) for inside in bins if inside.any())
    assert found["ece"].value == pytest.approx(ece)


def test_a_regression_has_its_own_metrics():
    model, tokenizer = subject(num_labels=1, dtype=torch.float64)
    rows = [{**row, "label": float(row["label"])} for row in some_rows(12)]
    assert set(shift(model, tokenizer, Other("grades", rows, None, ("pearson", "spearman")))) == {"pearson", "spearman"}


def test_data_without_a_known_label_is_refused():
    model, tokenizer = subject()
    with pytest.raises(InputError, match="odd has no rows whose label the model knows"):
        shift(model, tokenizer, Other("odd", [{"text": "w5", "label": 7}], (0, 1)))
