"""The methods of the table at a size that suits tiny models, and what each of them refuses."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from uegr.methods import METHODS, Method
from uegr.testing import Subject
from uegr.testing.models import batch_for, classifier
from uegr.testing.subject import gradients, step

# Published sizes belong to word vectors of unit scale; a tiny random model's are some thirty times smaller.
SMALLER: dict[str, dict[str, Any]] = {
    "fgm": {"epsilon": 0.05},
    "pgd": {"epsilon": 0.05, "step": 0.02},
    "freelb": {"epsilon": 0.05, "step": 0.02},
    "rat": {"epsilon": 0.05},
    "rat_su": {"epsilon": 0.05},
    "awp": {"epsilon": 0.05},
    "neftune": {"alpha": 0.5},
    "roast": {"epsilon": 0.02},
    "ascc": {"steps": 2},
    "adv_ptwd": {"steps": 2},
    "adv_mixout": {"steps": 2},
    "rift": {"steps": 2, "projection": (8, 4)},
}

# By check of uegr.testing.
PER_CHECK: dict[str, dict[str, dict[str, Any]]] = {
    # A task of forty steps needs schedules that end earlier, and weights as large as the task's own.
    "learns": {
        "wcons": {"k": 0.5, "t0": 5.0},
        "ascc": {"beta": 1.0},
        "rift": {"beta": 1.0},
        "adv_ptwd": {"beta": 1.0},
        "adv_mixout": {"beta": 1.0},
    },
    # Adaptive dropout draws other masks when the ranks change; without dropout it refuses any spread but 0.
    "autocast": {"uegr": {"spread": 0.0}, "uegr_plus": {"spread": 0.0}},
    "accumulates": {"uegr": {"spread": 0.0}, "uegr_plus": {"spread": 0.0}},
    # In five steps, a stage or a window should be open when the training stops and is resumed.
    "resumes": {"lpft": {"probing": 0.8}, "roast": {"refresh": 2}, "rat_su": {"refresh": 2}},
    "two_processes": {"roast": {"refresh": 1}},  # its masks begin in the second epoch
}

# What has no meaning: these methods must refuse it.
REFUSALS: dict[str, set[str]] = {
    "regression": {"rift"},  # no classes to contrast within
    "token_classification": {"rift"},
    "causal_language_model": {"rift", "lpft"},  # its head is its word vectors
}


def subject(name: str) -> Subject:
    """A method of the table with its options, as the checks of uegr.testing take it."""
    per_check = {check: rows[name] for check, rows in PER_CHECK.items() if name in rows}
    refuses = frozenset(task for task, names in REFUSALS.items() if name in names)
    return Subject(METHODS[name], SMALLER.get(name, {}), per_check, refuses)


def made(name: str, **options: Any) -> Method:
    """The method at a tiny model's size, with a table of substitutes if it needs one."""
    return Subject(METHODS[name], SMALLER.get(name, {}) | options).made()


@cache
def vanilla_gradients(labels: int = 3) -> dict[str, Tensor]:
    """Of plain fine-tuning in float64 without dropout."""
    model = classifier(labels=labels, dropout=False, dtype=torch.float64)
    step(METHODS["vanilla"](), model, batch_for(model, labels))
    return gradients(model)


@contextmanager
def unless_refused(name: str, task: str) -> Iterator[None]:
    """A refusal that REFUSALS expects is a skip with the reason that the method gives; any other is a failure."""
    if name not in REFUSALS.get(task, ()):
        yield
        return
    with pytest.raises(ValueError, match=r"expected .* got .*;") as refusal:
        yield
    pytest.skip(f"{name} refuses {task}: {refusal.value}")


def shaken(model: nn.Module, seed: int = 7) -> nn.Module:
    """The model some steps later."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.05 * torch.randn(weight.shape, generator=generator, dtype=torch.float64))
    return model
