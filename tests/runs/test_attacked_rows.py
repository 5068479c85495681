"""The rows of a training that grows, and which of them are attacked."""

import numpy as np
import pytest
from datasets import Dataset

from uegr.runs.attacked_rows import GrowingRows, Plan


def test_growing_rows_keep_their_number_and_their_lengths():
    clean = Dataset.from_dict({"input_ids": [[1], [2, 2], [3, 3, 3]], "length": [1, 2, 3], "labels": [0, 1, 0]})
    rows = GrowingRows(clean, 2)
    lengths = rows.with_format("numpy", columns=["length"])[:]["length"]
    new = [{"input_ids": [7] * size, "length": size, "labels": 1} for size in (9, 8)]
    rows.fill(new)
    assert lengths.tolist() == [1, 2, 3, 9, 8]
    assert rows.__getitems__([4, 0, 3, 2]) == [new[1], clean[0], new[0], clean[2]]
    assert rows[3] == new[0]
    assert len(rows) == 5
    with pytest.raises(ValueError, match="expected 2 rows, got 1"):
        rows.fill(new[:1])


def test_a_sample_depends_on_seed_and_epoch():
    plan = Plan(range(1000), None, "pwws", seed=3)
    first = plan.sample(1)
    assert len(first) == len(set(first.tolist())) == 200
    assert np.array_equal(first, Plan(range(1000), None, "pwws", seed=3).sample(1))
    assert not np.array_equal(first, plan.sample(2))
    assert not np.array_equal(first, Plan(range(1000), None, "pwws", seed=4).sample(1))
