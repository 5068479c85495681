"""Fine-tune language models that generalise and withstand perturbation, and prove it.

    from uegr import RobustTrainer, methods, open_run
    trainer = RobustTrainer(model=model, args=args, train_dataset=train, eval_dataset=dev, method=methods.uegr())
    trainer.train()
    open_run("runs/first").predict(["a fine film"])

Everything is imported on first use, so that `import uegr` and the help of the command line do not load torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uegr import attacks, data, evaluation, methods, models, result, statistics, testing
    from uegr.attacks import attack
    from uegr.methods import Method, Moment, Objective
    from uegr.runs.finished import FinishedRun, FinishedTask, Prediction, open_run
    from uegr.training.engine import RobustTrainer
    from uegr.training.step import backward, finish_update

__version__ = "0.1.0"
__all__ = [
    "FinishedRun",
    "FinishedTask",
    "Method",
    "Moment",
    "Objective",
    "Prediction",
    "RobustTrainer",
    "attack",
    "attacks",
    "backward",
    "data",
    "evaluation",
    "finish_update",
    "methods",
    "models",
    "open_run",
    "result",
    "statistics",
    "testing",
]

_ROOMS = ("benchmark", "cli", "ledger", "pieces", "playground", "report", "runs", "training")  # not public: may change
_HOMES = {
    "FinishedRun": "uegr.runs.finished",
    "FinishedTask": "uegr.runs.finished",
    "Method": "uegr.methods",
    "Moment": "uegr.methods",
    "Objective": "uegr.methods",
    "Prediction": "uegr.runs.finished",
    "RobustTrainer": "uegr.training.engine",
    "attack": "uegr.attacks",
    "backward": "uegr.training.step",
    "finish_update": "uegr.training.step",
    "open_run": "uegr.runs.finished",
}


def __getattr__(name: str) -> Any:
    """Import a name, or a room such as `uegr.data`, on first use."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in __all__ or name in _ROOMS:
        return import_module(f"uegr.{name}")
    raise AttributeError(f"module 'uegr' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
