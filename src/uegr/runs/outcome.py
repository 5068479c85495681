"""What a training leaves: the chosen weights, their scores, a model card, and result.json last."""

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from uegr.data import Data
from uegr.runs import folder as store
from uegr.runs import model_card
from uegr.training.config import RunConfig


def keep(result: dict[str, Any], folder: Path) -> None:
    """The model card, then result.json, which says that the run is done; checkpoints are needed no more."""
    model_card.write(folder, result)
    store.write_json(folder / store.RESULT, result)
    store.clear_checkpoints(folder)


def save(loaded: Any, folder: Path) -> None:
    """Model and tokenizer, as from_pretrained reads them."""
    loaded.model.save_pretrained(str(folder))
    loaded.tokenizer.save_pretrained(str(folder))
    (folder / "training_args.bin").unlink(missing_ok=True)  # a pickle; config.yaml says the same


def final_model(config: RunConfig, folder: Path, model: Any) -> Any:
    """The model with the weights of its best epoch, or the last; adapters are merged into it."""
    best = folder / "best" if config.training.select == "best" else None
    if config.model.lora:
        from uegr.models.lora import merged

        return merged(model, best)
    if best is not None and (best / "model.safetensors").is_file():
        from safetensors.torch import load_model as load_weights

        load_weights(model, str(best / "model.safetensors"))
    return model


def split_scores(data: Data, split: str, loaded: Any, config: RunConfig) -> dict[str, Any]:
    """The task metrics on one split with the rows they rest on."""
    from uegr.evaluation.metrics import score
    from uegr.models.texts import probabilities

    rows = data.splits[split]
    if "label" not in rows.column_names:
        return {"n": len(rows)}
    pairs = rows["pair"] if "pair" in rows.column_names else None
    texts = list(rows["text"]) if pairs is None else list(zip(rows["text"], pairs, strict=True))
    predicted = probabilities(loaded.model, loaded.tokenizer, texts, max_length=config.training.max_length)
    return score(data.metrics, predicted, rows["label"]) | {"n": len(rows)}


def machine() -> dict[str, Any]:
    """What a reader needs to judge the times and repeat the figures."""
    names = ("uegr", "torch", "transformers", "accelerate", "datasets")
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name(0) if torch.cuda.is_available() else None,
        **{name: version(name) for name in names},
    }
