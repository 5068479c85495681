"""What one process of test_processes.py does: train a few ways, and write its weights after each."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import nn
from transformers import TrainingArguments

from tests.models.families import tiny
from uegr import RobustTrainer, methods

BATCH = 8  # of all processes together


def rows(model: nn.Module) -> list[dict[str, Any]]:
    generator = torch.Generator().manual_seed(0)
    found = []
    for i in range(24):
        mask = (torch.arange(6) < (6 if i % 3 else 4)).long()
        ids = torch.randint(5, 40, (6,), generator=generator)
        found.append({"input_ids": ids * mask, "attention_mask": mask, "labels": i % 3})
    return found


def train(method: Any, folder: Path, *, still: bool, times: int, processes: int) -> nn.Module:
    """Ten steps over the same rows in the same order, however many processes and micro-batches share a step."""
    model, _ = tiny("bert", num_labels=3, dtype=torch.float64 if still else torch.float32)
    for module in model.modules() if still else ():
        if isinstance(module, nn.Dropout):
            module.p = 0.0
    arguments = TrainingArguments(
        str(folder),
        max_steps=10,
        per_device_train_batch_size=BATCH // times // processes,
        gradient_accumulation_steps=times,
        learning_rate=0.1 if still else 1e-3,
        optim="sgd" if still else "adamw_torch",
        train_sampling_strategy="sequential",
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = RobustTrainer(model=model, args=arguments, train_dataset=rows(model), method=method)
    trainer.train()
    assert trainer.args.world_size == processes
    assert processes == 1 or not trainer.model_wrapped.broadcast_buffers  # law 4: not between two forwards of a step
    return model


WAYS: dict[str, dict[str, Any]] = {
    "random": {"method": methods.uegr(), "still": False, "times": 1},
    "refreshed": {"method": methods.uegr(refresh=3, rates=0.3), "still": False, "times": 2},
    "still": {"method": methods.uegr(spread=0.0), "still": True, "times": 1},
    "accumulated": {"method": methods.uegr(spread=0.0, split=2), "still": True, "times": 2},
}


def write_weights(folder: Path, rank: int, processes: int) -> None:
    for name, way in WAYS.items():
        model = train(**way, folder=folder, processes=processes)
        weights = {key: value.detach().contiguous() for key, value in model.named_parameters()}
        save_file(weights, folder / f"{name}-{rank}-of-{processes}.safetensors")
