"""Tiny finished runs: two on single texts, one on pairs, one that predicts numbers."""

import json
from pathlib import Path

import pytest

from tests.runs.several_tasks import pairs
from tests.tiny_run import data_folder, model_folder
from uegr.runs.train import train
from uegr.training.config import RunConfig

SMALL = {"batch_size": 8, "learning_rate": 0.01}


def trained(home: Path, name: str, dataset: str, epochs: int = 8, **data: str) -> Path:
    """A run of the tiny model."""
    config = {"method": {"name": "vanilla"}, "model": {"name": str(home / "model")}, "seed": 0}
    config |= {"dataset": {"name": str(home / dataset), **data}, "training": SMALL | {"epochs": epochs}}
    train(RunConfig.model_validate(config), home / name, quiet=True)
    return home / name


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model, texts with two labels, pairs with two labels, texts with a number."""
    folder = tmp_path_factory.mktemp("playground")
    model_folder(folder / "model")
    data_folder(folder / "data", train=64, other=16)
    rows = [dict(zip(("text", "pair", "label", "number"), row, strict=True)) for row in pairs(48, 0)]
    for name, label in (("likeness", "label"), ("numbers", "number")):
        kept = [{"text": row["text"], "pair": row["pair"], "label": row[label]} for row in rows]
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, kept)), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def runs(home: Path) -> list[Path]:
    """A run that has learnt little, and one that has learnt all."""
    return [trained(home, "short", "data", epochs=1), trained(home, "long", "data")]


@pytest.fixture(scope="session")
def pair_run(home: Path) -> Path:
    return trained(home, "pair", "likeness.jsonl", epochs=2)


@pytest.fixture(scope="session")
def number_run(home: Path) -> Path:
    return trained(home, "number", "numbers.jsonl", epochs=1, kind="regression")
