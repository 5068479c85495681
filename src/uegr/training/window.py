"""What was counted since the last log entry, in a checkpoint: a resumed run logs what an undisturbed one does.

transformers starts its sums from zero at a resume, so the next mean would leave out the steps before the checkpoint.
The steps that were skipped as not finite are counted here too: a resume must not forget them.
"""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

TERM = "term."


def save(trainer: Any, path: Path) -> None:
    """Write the sums of loss and terms, the step of the last log entry, and the number of skipped steps."""
    counts = {"logged_at": trainer._noted_at, "skipped": trainer.guard.skipped}
    terms = {f"{TERM}{place:03}.{name}": value for place, (name, value) in enumerate(trainer.terms.items())}
    sums = {"loss": trainer._tr_loss, **terms}
    state = {name: value.detach().clone() for name, value in sums.items()}
    save_file(state | {name: torch.tensor(value) for name, value in counts.items()}, path)


def load(trainer: Any, path: Path) -> None:
    """Read them; the loss waits for the start of the training, which sets it to 0."""
    state = {name: value.to(trainer.args.device) for name, value in load_file(path).items()}
    trainer._noted_at, trainer.guard.skipped = int(state.pop("logged_at")), int(state.pop("skipped"))
    trainer.carried = state.pop("loss")
    trainer.terms = {name.split(".", 2)[2]: state[name] for name in sorted(state)}  # in their order


def carry_on(trainer: Any) -> None:
    """Add what a checkpoint brought to the loss since the last log entry; only once."""
    if trainer.carried is not None:
        trainer._tr_loss += trainer.carried
        trainer._globalstep_last_logged, trainer.carried = trainer._noted_at, None
