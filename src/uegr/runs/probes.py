"""What a run measures of itself on validation rows after each epoch, besides the task's metrics.

`training.select: robust` chooses the epoch by `eval_robust` in place of the task's metric, as RIFT stops early
"according to best robust accuracy" (section 3.2; it does not say under which attack). Here the attack is cheap: one
step of FGM in embedding space (evaluation/perturbation.py) at the three strengths of UEGR's figure 2b, on at most 200
validation rows with every label in proportion. `eval_robust` is the mean accuracy over strengths and tasks. That is 4
forward passes and 1 backward pass of those rows.

`training.log_drift: true` logs `cka_0`, `cka_1`, ...: linear CKA of each layer, the embeddings first, with the model
before training on the same rows, and `cka_0_at_0.25`, ... when both models see these rows moved by the three strengths
(UEGR figure 2a; evaluation/similarity.py). That is 9 forward passes and 1 backward pass of them, 2 forward passes for a
regression, which is measured without perturbation, and a copy of the model in memory. The result has all epochs.
Neither changes the training or depends on where it was resumed.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from itertools import count, takewhile
from statistics import fmean
from typing import Any

from transformers import TrainerCallback

from uegr.data.matching import pooled
from uegr.errors import InputError
from uegr.evaluation import layer_similarity, perturbation_curve, perturbed_similarity
from uegr.models import cards
from uegr.models.multitask import answering
from uegr.models.texts import texts_of
from uegr.pieces.embedding import unwrapped
from uegr.runs.prepare import Prepared
from uegr.statistics import finite

ROWS = 200  # validation rows of each task
STRENGTHS = (0.01, 0.25, 0.5)  # UEGR, figure 2b
ROBUST = "robust"
Measure = Callable[[Any], dict[str, float]]  # of a model, by the names in the log


class Probe(TrainerCallback):
    """Logs what `measure` finds after each evaluation that has the figure `after`, and adds it to that evaluation."""

    def __init__(self, measure: Measure, after: str) -> None:
        self.measure, self.after = measure, f"eval_{after}"
        self.trainer: Any = None

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self.trainer.is_fsdp_enabled or self.trainer.is_deepspeed_enabled:
            raise InputError(
                "expected whole weights for select=robust or log_drift, got FSDP or DeepSpeed; start with torchrun"
            )

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: Any = None, **kwargs: Any) -> None:
        if metrics is None or self.after not in metrics:  # one task of several
            return
        found = self.measure(unwrapped(kwargs["model"]))
        self.trainer.log(dict(found))
        metrics |= found  # for what chooses the best epoch after this


def check(prepared: Prepared) -> None:
    """What cannot be measured is an error before anything is written."""
    training, model = prepared.config.training, prepared.config.model.name
    card = cards().get(model)
    if training.log_drift and card is not None and card.architecture is not None:
        raise InputError(f"training.log_drift compares with a pretrained model, got {model}; leave it out")
    for data in prepared.sets.values():
        if training.select == ROBUST and data.kind == "regression":
            raise InputError(
                f"training.select=robust needs an accuracy, got the regression {data.name}; use training.select=best"
            )


def chosen_by(prepared: Prepared) -> str:
    """The figure that the best epoch is chosen by."""
    return ROBUST if prepared.config.training.select == ROBUST else prepared.heads.metric(prepared.sets)


def probes(prepared: Prepared) -> list[Probe]:
    """What the configuration asks for; each must come before what chooses the best epoch."""
    after = prepared.heads.metric(prepared.sets)
    training = prepared.config.training
    wanted = {robust: training.select == ROBUST, drift: training.log_drift}
    return [Probe(measure(prepared), after) for measure, asked in wanted.items() if asked]


def robust(prepared: Prepared) -> Measure:
    """The mean accuracy under FGM over strengths and tasks."""
    rows = {task: validation_rows(prepared, task) for task in prepared.sets}

    def measure(model: Any) -> dict[str, float]:
        tokenizer, length = prepared.loaded.tokenizer, prepared.max_length
        curves = [
            perturbation_curve(answering(model, task), tokenizer, some, epsilons=STRENGTHS, max_length=length)
            for task, some in rows.items()
        ]
        return {f"eval_{ROBUST}": fmean(point.accuracy.value for curve in curves for point in curve)}

    return measure


def drift(prepared: Prepared) -> Measure:
    """CKA of each layer with the model as it is now, at every strength."""
    (task,) = prepared.sets  # a model of several tasks is refused
    rows, before = validation_rows(prepared, task), deepcopy(prepared.loaded.model)
    regression, length = prepared.sets[task].kind == "regression", prepared.max_length

    def measure(model: Any) -> dict[str, float]:
        both = (model, before.to(model.device), prepared.loaded.tokenizer)
        if regression:
            found = {0.0: layer_similarity(*both, texts_of(rows), max_length=length)}
        else:
            found = perturbed_similarity(*both, rows, epsilons=(0.0, *STRENGTHS), max_length=length)
        return {logged_as(place, e): layer.value for e, layers in found.items() for place, layer in enumerate(layers)}

    return measure


def logged_as(layer: int, epsilon: float) -> str:
    """
    >>> logged_as(3, 0.0), logged_as(3, 0.25)
    ('cka_3', 'cka_3_at_0.25')
    """
    return f"cka_{layer}" + (f"_at_{epsilon:g}" if epsilon else "")


def logged_drift(history: Sequence[Mapping[str, Any]]) -> dict[float, list[list[float | None]]]:
    """What `drift` has logged: for each strength and epoch, CKA of each layer; None where it is undefined.

    >>> logged_drift([{"loss": 1.0}, {"cka_0": 1.0, "cka_1": 0.5}, {"cka_0": 1.0, "cka_1": 0.25}])
    {0.0: [[1.0, 0.5], [1.0, 0.25]]}
    """
    found: dict[float, list[list[float | None]]] = {}
    for entry in history:
        for epsilon in (0.0, *STRENGTHS):
            names = takewhile(entry.__contains__, (logged_as(layer, epsilon) for layer in count()))
            if layers := [finite(entry[name]) for name in names]:
                found.setdefault(epsilon, []).append(layers)
    return found


def validation_rows(prepared: Prepared, task: str) -> Any:
    """A few rows of a task's validation split."""
    data, config = prepared.sets[task], prepared.config
    return pooled(data, [data.validation or "validation"], ROWS, config.seed)
