"""A method of your own in twenty lines, its contract, and a training with it.

python examples/own_method.py [runs/own_method]
uegr train --method own_method:noisy --dataset snippets   # in this folder
"""

import sys

import torch
from transformers import TrainingArguments

from uegr import RobustTrainer, data, models
from uegr.methods import Method, Objective, configured, perturbed, task_loss, zero_start
from uegr.testing import checks


class Noisy(Objective):
    """The loss under Gaussian noise on the word vectors, beside the clean loss."""

    yields, passes = 2, (2, 2)

    def __init__(self, sigma: float) -> None:
        self.sigma = sigma

    def losses(self, model, batch):
        yield {"task": 0.5 * task_loss(model(**batch))}
        start = zero_start(model, batch).detach()
        with perturbed(model, start + self.sigma * torch.randn_like(start), batch):
            yield {"noisy": 0.5 * task_loss(model(**batch))}


@configured
def noisy(*, sigma: float = 0.05) -> Method:
    """Train on clean and on noisy word vectors."""
    return Method(Noisy(sigma))


if __name__ == "__main__":
    for check in checks(noisy):  # what every method of this package passes
        if str(check) != "two_processes":  # that one imports the method from a module; this is a script
            check()
    snippets = data.load("snippets")
    rows = data.subsample(snippets.splits["train"], size=64, seed=0)
    loaded = models.load("minilm-l3", labels=snippets.labels)
    trainer = RobustTrainer(
        model=loaded.model,
        args=TrainingArguments(sys.argv[1] if len(sys.argv) > 1 else "runs/own_method", max_steps=8, report_to=[]),
        train_dataset=models.tokenized(rows, loaded.tokenizer, max_length=48),
        processing_class=loaded.tokenizer,
        method=noisy(sigma=0.02),
    )
    print(trainer.train().metrics)
