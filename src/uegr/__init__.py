"""Fine-tune language models that generalise and withstand perturbation, and prove it.

from uegr import RobustTrainer, methods
trainer = RobustTrainer(model=model, args=args, train_dataset=train, eval_dataset=dev, method=methods.uegr())
trainer.train()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uegr import methods
    from uegr.attacks import attack
    from uegr.methods import Method, Objective
    from uegr.pieces.schedule import Moment
    from uegr.training.engine import RobustTrainer
    from uegr.training.step import backward, finish_update

__version__ = "0.1.0"
__all__ = ["Method", "Moment", "Objective", "RobustTrainer", "attack", "backward", "finish_update", "methods"]

_HOMES = {
    "Method": "uegr.methods",
    "Objective": "uegr.methods",
    "Moment": "uegr.pieces.schedule",
    "RobustTrainer": "uegr.training.engine",
    "attack": "uegr.attacks",
    "backward": "uegr.training.step",
    "finish_update": "uegr.training.step",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that the command line answers `--help` before torch is loaded."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name == "methods":
        return import_module("uegr.methods")
    raise AttributeError(f"module 'uegr' has no attribute {name!r}")
