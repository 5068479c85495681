"""`push_to_hub` of RobustTrainer, against a local folder."""

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from huggingface_hub import HfApi, ModelCard
from transformers import AutoModelForSequenceClassification, TrainingArguments

from tests.models.families import tiny
from uegr import RobustTrainer, methods


def test_the_card_names_the_method_and_has_a_model_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def create(self: HfApi, name: str, **options: Any) -> Any:
        return SimpleNamespace(repo_id=name)

    def send(self: HfApi, *, repo_id: str, folder_path: str, **options: Any) -> None:
        shutil.copytree(folder_path, tmp_path / "hub" / repo_id)

    monkeypatch.setattr(HfApi, "create_repo", create)
    monkeypatch.setattr(HfApi, "upload_folder", send)
    args = TrainingArguments(str(tmp_path / "out"), hub_model_id="me/mine", report_to=[], use_cpu=True)
    trainer = RobustTrainer(model=tiny("bert")[0], args=args, method=methods.uegr())
    trainer.state.log_history = [{"eval_accuracy": 0.75, "eval_loss": 0.5, "step": 1, "epoch": 1.0}]
    trainer.push_to_hub(dataset="reviews", dataset_tags="reviews", tags="mine")
    card = ModelCard.load(tmp_path / "hub" / "me" / "mine" / "README.md").data
    assert {"mine", "uegr"} <= set(card.tags)
    assert card.to_dict()["model-index"][0]["name"] == "mine"
    AutoModelForSequenceClassification.from_pretrained(tmp_path / "hub" / "me" / "mine")
