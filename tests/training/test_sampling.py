"""Length-grouped batches: every row once, the same order for the same seed and epoch, little padding."""

import time

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import TrainingArguments

from tests.models.families import tiny
from uegr import RobustTrainer
from uegr.methods import vanilla
from uegr.training.sampling import GroupedByLength


def sampler(count: int, batch: int = 8, seed: int = 0, epoch: int = 0) -> GroupedByLength:
    lengths = np.random.default_rng(1).integers(3, 60, count)
    return GroupedByLength(lengths, batch, seed, lambda: epoch)


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 399, 400, 401, 2003])
def test_every_row_comes_once(count):
    assert sorted(sampler(count)) == list(range(count))


def test_the_order_depends_on_seed_and_epoch_alone():
    torch.manual_seed(5)
    first = list(sampler(500))
    torch.manual_seed(6)
    assert list(sampler(500)) == first
    assert list(sampler(500, seed=1)) != first
    assert list(sampler(500, epoch=1)) != first


def test_batches_hold_texts_of_about_one_length_and_the_longest_comes_first():
    chosen = sampler(4000)
    lengths = torch.as_tensor(chosen.lengths)[torch.tensor(list(chosen))].view(-1, 8)
    padding = 1 - lengths.sum() / (lengths.max(1).values * 8).sum()
    assert padding < 0.05
    assert lengths[0].max() == lengths.max()
    assert not torch.equal(lengths.max(1).values, lengths.max(1).values.sort(descending=True).values)


def test_a_large_file_is_ordered_in_linear_time():
    start = time.process_time()
    GroupedByLength(np.ones(1_000_000, dtype=np.int64), 16, 0, lambda: 0).order()
    assert time.process_time() - start < 20  # a loop over batches took minutes


def test_the_trainer_orders_by_length_although_no_model_takes_that_column(tmp_path):
    model, _ = tiny("bert")
    lengths = list(range(1, 17))
    rows = Dataset.from_dict(
        {"input_ids": [[5] * n for n in lengths], "length": lengths, "labels": [n % 2 for n in lengths]}
    )
    args = TrainingArguments(
        str(tmp_path),
        per_device_train_batch_size=4,
        train_sampling_strategy="group_by_length",
        report_to=[],
        use_cpu=True,
    )
    trainer = RobustTrainer(model=model, args=args, train_dataset=rows, method=vanilla())
    order = list(trainer._get_train_sampler(rows.remove_columns("length")))
    assert order == list(GroupedByLength(lengths, 4, args.seed, lambda: 0))
