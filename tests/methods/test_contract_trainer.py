"""The contract of every method, continued: whole trainings by RobustTrainer."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from transformers import TrainerCallback, TrainingArguments

from tests.methods.tiny_models import WITHOUT_DROPOUT, batch_for, classifier, made
from uegr.methods import METHODS
from uegr.training.engine import RobustTrainer

every_method = pytest.mark.parametrize("name", METHODS)


def rows(model: nn.Module) -> list[dict[str, Tensor]]:
    """Sixteen examples of one length."""
    batches = [batch_for(model, seed=seed) for seed in (1, 2)]
    return [{key: values[i] for key, values in batch.items()} for batch in batches for i in range(len(batch["labels"]))]


def trainer(name: str, folder: Path, model: nn.Module, options: dict[str, Any], **arguments: Any) -> RobustTrainer:
    settings = {
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
    callbacks = arguments.pop("callbacks", None)
    return RobustTrainer(
        model=model,
        args=TrainingArguments(str(folder), **settings | arguments),
        train_dataset=rows(model),
        callbacks=callbacks,
        method=made(name, **options),
    )


def weights(model: nn.Module) -> dict[str, Tensor]:
    return {name: weight.detach().clone() for name, weight in model.named_parameters()}


@every_method
def test_two_times_four_are_one_times_eight(name: str, tmp_path: Path) -> None:
    reason = getattr(made(name).objective, "batchwise", "")
    if reason:
        print(f"{name} is no mean over examples: {reason}")
        pytest.skip(f"{name} is no mean over examples: {reason}")
    ends = []
    for size, times in ((8, 1), (4, 2)):
        model = classifier(dropout=False, dtype=torch.float64)
        shape = {"per_device_train_batch_size": size, "gradient_accumulation_steps": times}
        options = WITHOUT_DROPOUT.get(name, {})
        trainer(name, tmp_path, model, options, optim="sgd", max_grad_norm=0.0, **shape).train()
        ends.append(weights(model))
    start = weights(classifier(dropout=False, dtype=torch.float64))
    assert any(not torch.equal(ends[0][key], start[key]) for key in start)
    for key in start:
        torch.testing.assert_close(ends[1][key], ends[0][key], rtol=0, atol=1e-6, msg=key)


class Norms(TrainerCallback):
    """The length of the gradient that the optimizer is about to see, before any edit."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, model: nn.Module, **kwargs: Any) -> None:
        found = [weight.grad.flatten() for weight in model.parameters() if weight.grad is not None]
        self.seen.append(float(torch.linalg.vector_norm(torch.cat(found))))


@every_method
def test_it_clips(name: str, tmp_path: Path) -> None:
    norms = Norms()
    trainer(name, tmp_path, classifier(), {}, max_grad_norm=1e-4, callbacks=[norms]).train()
    assert norms.seen == pytest.approx([1e-4, 1e-4], rel=0.02)  # torch adds 1e-6 to the norm it divides by


@every_method
def test_it_trains_in_bfloat16(name: str, tmp_path: Path) -> None:
    losses = []
    for half in (False, True):
        model = classifier()
        start = weights(model)
        losses.append(trainer(name, tmp_path, model, {}, bf16=half).train().training_loss)
        assert all(weight.dtype == torch.float32 and torch.isfinite(weight).all() for weight in model.parameters())
        assert any(not torch.equal(start[key], value) for key, value in weights(model).items())
    assert losses[1] == pytest.approx(losses[0], rel=0.1)


# In five steps, a stage or a window should be open when the training stops and goes on.
OPEN: dict[str, dict[str, Any]] = {"lpft": {"probing": 0.8}, "roast": {"refresh": 2}, "rat_su": {"refresh": 2}}


@every_method
def test_a_resumed_training_is_the_same_bitwise(name: str, tmp_path: Path) -> None:
    saving = {"max_steps": 5, "save_strategy": "steps", "save_steps": 3}
    whole = classifier()
    trainer(name, tmp_path, whole, OPEN.get(name, {}), **saving).train()
    again = classifier()
    resumed = trainer(name, tmp_path / "again", again, OPEN.get(name, {}), **saving)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-3"))
    assert resumed.state.global_step == 5
    halfway = torch.nn.Module.state_dict(classifier())
    for key, value in weights(whole).items():
        assert torch.equal(weights(again)[key], value), key
    assert any(not torch.equal(halfway[key], value) for key, value in weights(whole).items())
