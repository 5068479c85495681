"""Length-grouped and class-balanced batches: the same order for the same seed and epoch; what weight decay is on."""

import time

import numpy as np
import pytest
import torch
from datasets import Dataset
from transformers import TrainingArguments

from tests.models.families import tiny
from uegr import RobustTrainer
from uegr.errors import InputError
from uegr.methods import vanilla
from uegr.training.sampling import Balanced, GroupedByLength


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


LABELS = np.array([0] * 50 + [1] * 11 + [2] * 7)


@pytest.mark.parametrize("size", [2, 3, 4, 8, 12])
def test_balanced_batches_hold_each_class_equally_often(size):
    order = LABELS[list(Balanced(LABELS, 0, lambda: 0))]
    assert len(order) == len(LABELS)
    for start in range(0, len(order) - size + 1, size):
        counts = np.bincount(order[start : start + size], minlength=3)
        assert counts.max() - counts.min() <= 1


def test_balanced_batches_use_every_row_of_a_small_class_and_other_rows_of_a_large_one():
    first, second = (list(Balanced(LABELS, 0, lambda epoch=epoch: epoch)) for epoch in (0, 1))
    assert set(range(50, 68)) <= set(first)
    large = [{row for row in order if row < 50} for order in (first, second)]
    assert len(large[0]) == sum(row < 50 for row in first)  # none twice while others wait
    assert large[0] != large[1]
    assert list(Balanced(LABELS, 0, lambda: 0)) == first
    assert list(Balanced(LABELS, 1, lambda: 0)) != first


def trainer_of(tmp_path, rows, **options):
    model, _ = tiny("bert", num_labels=3)
    known = {"per_device_train_batch_size": 3, "num_train_epochs": 2, "seed": 5}
    keys = [key for key in options if key not in ("balance", "weight_decay_on")]
    args = TrainingArguments(
        str(tmp_path), report_to=[], use_cpu=True, **known, **{key: options.pop(key) for key in keys}
    )
    return RobustTrainer(model=model, args=args, train_dataset=rows, method=vanilla(), **options)


def rows_of(labels):
    ids = [[5 + number % 20, 6] for number in range(len(labels))]
    return Dataset.from_dict({"input_ids": ids, "attention_mask": [[1, 1]] * len(labels), "labels": labels})


def test_a_balanced_training_resumes_and_accumulates(tmp_path):
    rows = rows_of(LABELS[40:].tolist())
    whole = trainer_of(tmp_path / "a", rows, balance="sampling", save_strategy="steps", save_steps=7)
    whole.train()
    again = trainer_of(tmp_path / "a", rows, balance="sampling", save_strategy="no")
    again.train(resume_from_checkpoint=str(tmp_path / "a" / "checkpoint-14"))
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(weight, again.model.state_dict()[name]), name
    small = trainer_of(tmp_path / "b", rows, balance="sampling", gradient_accumulation_steps=2)
    batches = [batch["labels"].tolist() for batch in small.get_train_dataloader()]
    assert all(sorted(labels) == [0, 1, 2] for labels in batches if len(labels) == 3)
    plain = trainer_of(tmp_path / "b", rows, balance="sampling")
    assert list(small._get_train_sampler()) == list(plain._get_train_sampler())


def test_several_labels_per_row_have_no_classes_to_balance(tmp_path):
    trainer = trainer_of(tmp_path, rows_of([[0.0, 1.0, 1.0]] * 3), balance="sampling")
    with pytest.raises(InputError, match="one class per row to balance"):
        trainer.get_train_dataloader()


def test_weight_decay_on_the_head_alone(tmp_path):
    rows = rows_of([0, 1, 2])
    everywhere = trainer_of(tmp_path, rows).get_decay_parameter_names(tiny("bert", num_labels=3)[0])
    trainer = trainer_of(tmp_path, rows, weight_decay_on="head", weight_decay=0.1)
    assert set(trainer.get_decay_parameter_names(trainer.model)) == {"classifier.weight"} < set(everywhere)
    groups = trainer.create_optimizer().param_groups
    decaying = [weight for group in groups if group["weight_decay"] for weight in group["params"]]
    assert [id(weight) for weight in decaying] == [id(trainer.model.classifier.weight)]
