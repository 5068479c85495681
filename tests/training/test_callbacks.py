"""What a resumed run must know."""

import json
import shutil
from pathlib import Path

import pytest

from tests.tiny_run import data_folder, model_folder
from uegr.runs import folder
from uegr.runs import train as run
from uegr.training.config import read_config


def test_a_checkpoint_on_an_epochs_last_step_knows_that_epochs_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a resumed run would take a later, lower score for the best."""
    chosen = {
        "method.name": "vanilla",
        "model.name": str(model_folder(tmp_path / "model")),
        "dataset.name": str(data_folder(tmp_path / "data", train=32, other=8)),
        "training.epochs": 2.5,
        "training.batch_size": 8,
        "training.checkpoint_steps": 4,  # an epoch
    }
    monkeypatch.setattr(folder, "clear_checkpoints", lambda place: None)
    monkeypatch.setattr(shutil, "rmtree", lambda *args, **kwargs: None)  # older checkpoints stay
    run.train(read_config(None, chosen, []), tmp_path / "run", quiet=True)
    for step in (4, 8):
        state = json.loads((tmp_path / "run" / f"checkpoint-{step}" / "trainer_state.json").read_text())
        assert [entry["step"] for entry in state["log_history"] if "eval_accuracy" in entry][-1] == step
