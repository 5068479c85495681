"""A resumed training logs what an undisturbed one does, wherever its checkpoint falls, and forgets no skipped step."""

import math
from pathlib import Path
from typing import Any

import pytest

from tests.models.families import tiny
from tests.training.test_engine import arguments, rows_for
from tests.training.test_finite import trainer as faulty
from uegr import RobustTrainer, methods
from uegr.errors import InputError, TrainingWarning
from uegr.training.callbacks import is_time

SAVING: dict[str, Any] = {"max_steps": 10, "logging_steps": 5, "save_strategy": "steps", "save_steps": 3}


def trained(folder: Path, resume: Path | None = None, **options: Any) -> list[dict[str, Any]]:
    """The log entries, without times."""
    model, _ = tiny("bert")
    args = arguments(folder, **SAVING, **options)
    trainer = RobustTrainer(model=model, args=args, train_dataset=rows_for(model, 32), method=methods.rdrop())
    trainer.train(resume_from_checkpoint=str(resume) if resume else None)
    return [{key: value for key, value in entry.items() if not is_time(key)} for entry in trainer.state.log_history]


@pytest.mark.parametrize("accumulation", [1, 2])
def test_the_means_of_a_resumed_training_are_those_of_an_undisturbed_one(tmp_path: Path, accumulation: int) -> None:
    options = {"gradient_accumulation_steps": accumulation}
    whole = trained(tmp_path / "whole", **options)
    assert [entry["step"] for entry in whole if "loss_divergence" in entry] == [5, 10]
    for step in (3, 6, 9):  # before the first entry, and on both sides of the second
        assert trained(tmp_path / f"from {step}", tmp_path / "whole" / f"checkpoint-{step}", **options) == whole


def test_skipped_steps_are_counted_over_a_resume(tmp_path: Path) -> None:
    options = {"skip_nonfinite": 1, "save_strategy": "steps", "save_steps": 3}
    with pytest.warns(TrainingWarning, match=r"\(skipped, 1 of 1\)$"):
        faulty(tmp_path, (1,), math.nan, **options).train()
    resumed = faulty(tmp_path, (1, 4), math.nan, **options)
    with pytest.raises(InputError, match="after 1 skipped steps"):
        resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-3"))
