"""The checks that need whole trainings with RobustTrainer."""

from math import isclose
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn
from transformers import TrainerCallback, TrainingArguments

from uegr.methods.contract import Method
from uegr.testing.models import Batch, batch_for, classifier
from uegr.testing.subject import Subject, expect
from uegr.training.engine import RobustTrainer

SETTINGS: dict[str, Any] = {
    "per_device_train_batch_size": 8,
    "max_steps": 2,
    "learning_rate": 0.01,
    "lr_scheduler_type": "constant",
    "save_strategy": "no",
    "use_cpu": True,
    "report_to": [],
    "disable_tqdm": True,
    "logging_steps": 1,
}


def rows(model: nn.Module) -> list[Batch]:
    """Sixteen examples of one length."""
    batches = [batch_for(model, seed=seed) for seed in (1, 2)]
    return [{key: values[i] for key, values in batch.items()} for batch in batches for i in range(len(batch["labels"]))]


def trainer(method: Method, folder: Path, model: nn.Module, callbacks: Any = None, **arguments: Any) -> RobustTrainer:
    """A trainer of two steps; `arguments` are those of TrainingArguments."""
    return RobustTrainer(
        model=model,
        args=TrainingArguments(str(folder), **SETTINGS | arguments),
        train_dataset=rows(model),
        callbacks=callbacks,
        method=method,
    )


def weights(model: nn.Module) -> dict[str, Tensor]:
    """A copy of every parameter."""
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


def differ(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    """Whether any weight differs in any bit."""
    return any(not torch.equal(value, second[key]) for key, value in first.items())


def accumulates(subject: Subject) -> None:
    """Two batches of 4, accumulated, give the weights of one batch of 8, to 1e-6 in float64."""
    ends = []
    for size, times in ((8, 1), (4, 2)):
        model = classifier(dropout=False, dtype=torch.float64)
        start = weights(model)
        shape = {"per_device_train_batch_size": size, "gradient_accumulation_steps": times}
        with TemporaryDirectory() as folder:
            method = subject.made("accumulates")
            trainer(method, Path(folder), model, optim="sgd", max_grad_norm=0.0, **shape).train()
        ends.append(weights(model))
    expect(differ(ends[0], start), "expected weights that training changed, got the same")
    for key, value in ends[0].items():
        apart = float((ends[1][key] - value).abs().max())
        expect(apart <= 1e-6, f"{key}: 2x4 and 1x8 differ by {apart:.2g}; say why in the objective's `batchwise`")


class Norms(TrainerCallback):
    """The length of the gradient that the optimizer is about to see, before any edit."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        found = [weight.grad.flatten() for weight in kwargs["model"].parameters() if weight.grad is not None]
        self.seen.append(float(torch.linalg.vector_norm(torch.cat(found))))


def clips(subject: Subject) -> None:
    """The gradient that the method's edits receive is already clipped."""
    norms = Norms()
    with TemporaryDirectory() as folder:
        trainer(subject.made("clips"), Path(folder), classifier(), [norms], max_grad_norm=1e-4).train()
    fine = len(norms.seen) == 2 and all(isclose(seen, 1e-4, rel_tol=0.02) for seen in norms.seen)
    expect(fine, f"expected gradients of length 1e-4, got {norms.seen}")  # torch adds 1e-6 to the norm it divides by


def trains_in_bfloat16(subject: Subject) -> None:
    """Mixed precision trains float32 weights, with a loss within 10% of full precision."""
    losses = []
    for half in (False, True):
        model = classifier()
        start = weights(model)
        with TemporaryDirectory() as folder:
            method = subject.made("trains_in_bfloat16")
            losses.append(trainer(method, Path(folder), model, bf16=half).train().training_loss)
        sound = all(weight.dtype == torch.float32 and torch.isfinite(weight).all() for weight in model.parameters())
        expect(sound, "expected finite weights in float32, got others")
        expect(differ(start, weights(model)), "expected weights that training changed, got the same")
    expect(isclose(*losses, rel_tol=0.1), f"expected nearly the same loss, got {losses}")


def resumes(subject: Subject) -> None:
    """Five steps, and three steps, a checkpoint and two more, end with bitwise the same weights."""
    saving = {"max_steps": 5, "save_strategy": "steps", "save_steps": 3}
    whole, again = classifier(), classifier()
    start = weights(whole)
    with TemporaryDirectory() as name:
        folder = Path(name)
        trainer(subject.made("resumes"), folder, whole, **saving).train()
        resumed = trainer(subject.made("resumes"), folder / "again", again, **saving)
        resumed.train(resume_from_checkpoint=str(folder / "checkpoint-3"))
    expect(resumed.state.global_step == 5, f"expected 5 steps, got {resumed.state.global_step}")
    expect(differ(start, weights(whole)), "expected weights that training changed, got the same")
    for key, value in weights(whole).items():
        expect(torch.equal(weights(again)[key], value), f"{key} differs after resuming; is its state in `state_dict`?")
