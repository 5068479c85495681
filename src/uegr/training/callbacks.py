"""What happens during training besides the steps: a progress bar, metrics as JSON lines, and the best weights kept."""

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from transformers import TrainerCallback

from uegr.files import write_text


def progress_bar(disable: bool = False) -> Progress:
    """The one look of progress in this tool; on standard error, so that --json output stays clean."""
    from uegr.console import Console

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    return Progress(*columns, console=Console(stderr=True), disable=disable)


class ShowProgress(TrainerCallback):
    """Steps done, time left, the latest loss and validation score."""

    def __init__(self, label: str, quiet: bool = False) -> None:
        self.bar, self.label = progress_bar(quiet), label
        self.task: Any = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            self.bar.start()
            self.task = self.bar.add_task(self.label, total=state.max_steps, completed=state.global_step, note="")

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.task is not None:
            self.bar.update(self.task, completed=state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any) -> None:
        shown = {key: value for key, value in (logs or {}).items() if key == "loss" or key.startswith("eval_")}
        shown = {key: value for key, value in shown.items() if "per_second" not in key and "runtime" not in key}
        if self.task is not None and shown:
            note = "  ".join(f"{key.replace('eval_', 'validation ')} {value:.4g}" for key, value in shown.items())
            self.bar.update(self.task, note=note)

    def close(self) -> None:
        """Stop drawing; called also after an error."""
        self.bar.stop()


class MetricsFile(TrainerCallback):
    """Every log entry as one JSON line; a resumed run begins with those of its checkpoint, whatever the file holds."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            write_text(self.path, "".join(map(metrics_line, state.log_history)))

    def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(metrics_line(state.log_history[-1]))


def metrics_line(logged: dict[str, Any]) -> str:
    """A log entry of transformers as JSON, without what depends on the clock; nothing where that is all.

    >>> metrics_line({"loss": 0.5, "eval_runtime": 1.5, "epoch": 1.0, "step": 3})
    '{"step": 3, "epoch": 1.0, "loss": 0.5}\\n'
    """
    about = {"step": logged["step"], "epoch": logged["epoch"]}
    kept = {key: finite(logged[key]) for key in sorted(logged) if key not in about and not is_time(key)}
    return json.dumps(about | kept, allow_nan=False) + "\n" if kept else ""


def finite(value: Any) -> Any:
    """The value; null, as JSON has it, for a number that is not finite.

    >>> finite(0.5), finite(float("nan"))
    (0.5, None)
    """
    return None if isinstance(value, float) and not math.isfinite(value) else value


def is_time(key: str) -> bool:
    """Whether a log entry depends on the clock, or on where the training was resumed; result.json has the cost.

    >>> [is_time(key) for key in ("eval_runtime", "eval_samples_per_second", "train_loss", "eval_loss")]
    [True, True, True, False]
    """
    return key.endswith(("_runtime", "_per_second")) or key in ("train_loss", "total_flos")


class KeepBest(TrainerCallback):
    """The weights of the evaluation that scored highest, in `folder`/best-STEP, whole or not there.

    transformers' load_best_model_at_end ties checkpoints to evaluations; this leaves checkpoints free. Writing the same
    best again after a resume gives the same files. `seal` is called with the folder before it gets its name.
    """

    def __init__(
        self, folder: Path, metric: str, patience: int | None = None, seal: Callable[[Path], None] | None = None
    ) -> None:
        self.folder, self.metric, self.patience, self.seal = folder, f"eval_{metric}", patience, seal
        self.trainer: Any = None

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        score = (metrics or {}).get(self.metric)
        if score is None or math.isnan(score):
            return
        past = [e[self.metric] for e in state.log_history if self.metric in e and e["step"] < state.global_step]
        if not past or score > max(past):
            self.trainer.check_weights()
            self.keep(state)
        scores = [*past, score]
        since = len(scores) - 1 - scores.index(max(scores))
        if self.patience is not None and since >= self.patience:
            control.should_training_stop = True

    def keep(self, state: Any) -> None:
        """Write the weights under another name, then put them in the place of the best before."""
        partial, final = self.folder / "best.partial", self.folder / f"best-{state.global_step}"
        self.trainer.save_model(str(partial))  # every process takes part, the first one writes
        if not state.is_world_process_zero:
            return
        if self.seal:
            self.seal(partial)
        shutil.rmtree(final, ignore_errors=True)
        partial.rename(final)
        for other in best_folders(self.folder):
            if other != final:
                shutil.rmtree(other)


def best_folders(folder: Path) -> list[Path]:
    """The folders of the best weights so far, the latest first; a killed run may leave two."""
    found = [path for path in folder.glob("best-*") if path.name.rpartition("-")[2].isdigit()]
    return sorted(found, key=lambda path: int(path.name.rpartition("-")[2]), reverse=True)
