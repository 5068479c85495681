"""Training on several tasks: every batch is of one task, and all tasks' batches are shuffled together.

Algorithm 1 of MT-DNN (Liu 2019): pack each data set into mini-batches, shuffle their union, take a step for each. So a
data set counts in proportion to its rows. The last batch of a data set is filled up with more of its own rows.

Rows with `targets` have a teacher (Clark 2019, BAM). At share t of the training they learn

    t y + (1 - t) f(x)

by cross-entropy or squared error, y the label (one-hot, or a number) and f(x) the teacher's answer: first the teacher,
last the labels alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import Dataset, Sampler

from uegr.training.engine import RobustTrainer
from uegr.training.sampling import GroupedByLength

MEAN = "mean"  # over the tasks, of each one's first metric


class TaskRows(Dataset[dict[str, Any]]):
    """Tokenised rows of the tasks, one after another, each with the number of its task as `task_ids`."""

    def __init__(self, tasks: Mapping[int, Any]) -> None:
        self.tasks = dict(tasks)
        self.starts = np.cumsum([0, *(len(rows) for rows in self.tasks.values())])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, row: int) -> dict[str, Any]:
        if not 0 <= row < len(self):
            raise IndexError(row)
        place = int(np.searchsorted(self.starts, row, side="right")) - 1
        task = list(self.tasks)[place]
        return {**self.tasks[task][row - int(self.starts[place])], "task_ids": task}

    def lengths(self) -> list[np.ndarray]:
        """How many tokens each row has, task by task."""
        return [np.asarray(rows.with_format("numpy", columns=["length"])[:]["length"]) for rows in self.tasks.values()]


class BatchesOfOneTask(Sampler[int]):
    """Rows in an order whose every `batch_size` rows are of one task; it depends on seed and epoch alone.

    >>> sampler = BatchesOfOneTask([[3, 3, 3], [5, 5, 5, 5]], batch_size=2, seed=0, epoch=lambda: 0, by_length=False)
    >>> sorted(tuple(row >= 3 for row in pair) for pair in zip(*[iter(sampler)] * 2))
    [(False, False), (False, False), (True, True), (True, True)]
    """

    def __init__(
        self,
        lengths: Sequence[Sequence[int] | np.ndarray],
        batch_size: int,
        seed: int,
        epoch: Callable[[], int],
        by_length: bool,
    ) -> None:
        self.lengths, self.batch_size, self.by_length = lengths, batch_size, by_length
        self.seed, self.epoch = seed, epoch

    def __len__(self) -> int:
        return sum(-(-len(rows) // self.batch_size) for rows in self.lengths) * self.batch_size

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed * 1_000_003 + self.epoch())
        batches, start = [], 0
        for number, lengths in enumerate(self.lengths):
            rows = self.order(number, lengths, generator)
            batches.append(filled(rows, self.batch_size, generator) + start)
            start += len(lengths)
        union = torch.cat(batches)
        yield from union[torch.randperm(len(union), generator=generator)].flatten().tolist()

    def order(self, task: int, lengths: Sequence[int] | np.ndarray, generator: torch.Generator) -> Tensor:
        """The rows of one task, those of similar length together if `by_length`."""
        if not self.by_length:
            return torch.randperm(len(lengths), generator=generator)
        return GroupedByLength(lengths, self.batch_size, self.seed + 7919 * task, self.epoch).order()


def filled(rows: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """The rows as batches (batches, size), the last one filled with rows drawn again."""
    lacking = -len(rows) % size
    more = rows[torch.randint(len(rows), (lacking,), generator=generator)]
    return torch.cat([rows, more]).view(-1, size)


def annealed(answers: Tensor, labels: Tensor, share: float) -> Tensor:
    """The way from a teacher's answers (B, outputs) to the labels (B,), of which this share is gone.

    >>> annealed(torch.tensor([[0.8, 0.2]]), torch.tensor([1]), 0.25)
    tensor([[0.6000, 0.4000]])
    """
    outputs = answers.shape[-1]
    truth = labels.unsqueeze(-1) if outputs == 1 else nn.functional.one_hot(labels, outputs)
    return torch.lerp(answers, truth.to(answers.dtype), share)


class MultitaskTrainer(RobustTrainer):
    """A RobustTrainer whose rows are `TaskRows`, and whose evaluation scores every task by its own metrics.

    `scorers` maps a task's name to its metrics and `main` to the metric that counts for the mean, both in the order of
    the task numbers; `eval_dataset` maps the same names to `TaskRows`.
    """

    train_dataset: TaskRows

    def __init__(self, *args: Any, scorers: Mapping[str, Any], main: Mapping[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.scorers, self.main = scorers, main

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        seed = self.args.seed if self.args.data_seed is None else self.args.data_seed
        return BatchesOfOneTask(
            self.train_dataset.lengths(),
            self.args.train_batch_size,
            seed,
            epoch=lambda: int(self.state.epoch or 0),
            by_length=self.args.train_sampling_strategy == "group_by_length",
        )

    def training_step(self, model: nn.Module, inputs: dict[str, Any], num_items_in_batch: Any = None) -> Tensor:
        if "targets" in inputs:
            share = self.state.global_step / self.state.max_steps
            inputs = {**inputs, "targets": annealed(inputs["targets"], inputs["labels"], share)}
        return super().training_step(model, inputs, num_items_in_batch)

    def evaluate(self, *args: Any, metric_key_prefix: str = "eval", **kwargs: Any) -> dict[str, float]:
        """Every task's metrics under its name, and the mean over tasks of what counts."""
        with self.means.applied(self.model):
            return self._evaluate_tasks(metric_key_prefix)

    def _evaluate_tasks(self, metric_key_prefix: str) -> dict[str, float]:
        found: dict[str, float] = {}
        sets: Any = self.eval_dataset
        for name, rows in sets.items():
            self.compute_metrics = self.scorers[name]
            found |= super().evaluate(rows, metric_key_prefix=f"{metric_key_prefix}_{name}")
        scores = [found[f"{metric_key_prefix}_{name}_{metric}"] for name, metric in self.main.items()]
        mean = {f"{metric_key_prefix}_{MEAN}": float(np.mean(scores))}
        self.log(dict(mean))
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, mean)
        return found | mean
