"""What a run measures of itself on validation rows after each epoch, besides the task's metrics.

`training.select: robust` chooses the epoch by `eval_robust` in place of the task's metric, as RIFT stops early
"according to best robust accuracy" (section 3.2; it does not say under which attack). Here the attack is cheap: one
step of FGM in embedding space (evaluation/perturbation.py) at the three strengths of UEGR's figure 2b, on at most 200
validation rows with every label in proportion. `eval_robust` is the mean accuracy over strengths and tasks. That is 4
forward passes and 1 backward pass of those rows. It draws no random number: a resumed run has the same figures.
"""

from collections.abc import Callable
from statistics import fmean
from typing import Any

from transformers import TrainerCallback

from uegr.data.matching import pooled
from uegr.errors import InputError
from uegr.evaluation import perturbation_curve
from uegr.models.multitask import answering
from uegr.pieces.embedding import unwrapped
from uegr.runs.prepare import Prepared

ROWS = 200  # validation rows of each task
STRENGTHS = (0.01, 0.25, 0.5)  # UEGR, figure 2b
ROBUST = "robust"
Measure = Callable[[Any], dict[str, float]]  # of a model


class Probe(TrainerCallback):
    """Logs what `measure` finds after each evaluation that has the figure `after`, and adds it to that evaluation."""

    def __init__(self, measure: Measure, after: str) -> None:
        self.measure, self.after = measure, f"eval_{after}"
        self.trainer: Any = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.trainer.is_fsdp_enabled or self.trainer.is_deepspeed_enabled:
            raise InputError(
                "expected whole weights for select=robust, got FSDP or DeepSpeed, which shard them; use torchrun"
            )

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        if metrics is None or self.after not in metrics:  # one task of several
            return
        found = {f"eval_{name}": value for name, value in self.measure(unwrapped(kwargs["model"])).items()}
        self.trainer.log(dict(found))
        metrics |= found  # for what chooses the best epoch after this


def check(prepared: Prepared) -> None:
    """What cannot be measured is an error before anything is written."""
    if prepared.config.training.select != ROBUST:
        return
    for data in prepared.sets.values():
        if data.kind == "regression":
            raise InputError(
                f"training.select=robust needs an accuracy, got the regression {data.name}; use training.select=best"
            )


def chosen_by(prepared: Prepared) -> str:
    """The figure that the best epoch is chosen by."""
    return ROBUST if prepared.config.training.select == ROBUST else prepared.heads.metric(prepared.sets)


def probes(prepared: Prepared) -> list[Probe]:
    """What the configuration asks for; each must come before what chooses the best epoch."""
    after = prepared.heads.metric(prepared.sets)
    return [Probe(robust(prepared), after)] if prepared.config.training.select == ROBUST else []


def robust(prepared: Prepared) -> Measure:
    """The mean accuracy under FGM over strengths and tasks."""
    rows = {task: validation_rows(prepared, task) for task in prepared.sets}

    def measure(model: Any) -> dict[str, float]:
        tokenizer, length = prepared.loaded.tokenizer, prepared.max_length
        curves = [
            perturbation_curve(answering(model, task), tokenizer, some, epsilons=STRENGTHS, max_length=length)
            for task, some in rows.items()
        ]
        return {ROBUST: fmean(point.accuracy.value for curve in curves for point in curve)}

    return measure


def validation_rows(prepared: Prepared, task: str) -> Any:
    """A few rows of a task's validation split."""
    data, config = prepared.sets[task], prepared.config
    return pooled(data, [data.validation or "validation"], ROWS, config.seed)
