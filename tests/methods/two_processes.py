"""Run by test_contract_processes.py, once a process: trains every method, and says whether the replicas stayed equal.

Prints a line of JSON per method: {"method": ..., "problem": "" or what went wrong}.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import distributed
from transformers import TrainerCallback

from tests.methods.test_contract_trainer import trainer, weights
from tests.methods.tiny_models import classifier
from uegr.methods import METHODS


class OwnNumbers(TrainerCallback):
    """Each process draws other random numbers, as replicas on real data in time do."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        torch.manual_seed(1000 + args.process_index)


def problem(name: str, folder: Path) -> str:
    model = classifier()
    start = weights(model)
    options = {"refresh": 1} if name == "roast" else {}  # its masks begin in the second epoch
    settings = {"per_device_train_batch_size": 4, "max_steps": 3, "ddp_backend": "gloo", "ddp_timeout": 60}
    trainer(name, folder, model, options, callbacks=[OwnNumbers()], logging_strategy="no", **settings).train()
    if all(torch.equal(start[key], value) for key, value in weights(model).items()):
        return "nothing was trained"
    for key, value in weights(model).items():
        both = [torch.empty_like(value) for _ in range(distributed.get_world_size())]
        distributed.all_gather(both, value)
        if not torch.equal(*both):
            return f"{key} differs by {float((both[0] - both[1]).abs().max())}"
    return ""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in METHODS:
            print(json.dumps({"method": name, "problem": problem(name, Path(folder))}), flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
