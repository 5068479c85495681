"""Measure a finished run, task by task; the figures go into its result.json."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from uegr.data import Data, evaluation_sets
from uegr.evaluation.calibration import BINS
from uegr.evaluation.sets import Sets
from uegr.evaluation.suite import Radii, evaluate
from uegr.result import Evaluation, Result
from uegr.runs import folder
from uegr.runs.finished import FinishedTask, open_run
from uegr.runs.sets import gathered
from uegr.training.callbacks import progress_bar

USUAL = ("fgm", "shift")
CURVES = ("fgm", "noise", "pgd")  # accuracy when the embedded input moves
FIGURES = (*USUAL, "noise", "pgd", "adversarial", "anomaly", "landscape", "drift")
REMEDIES = {  # where no card names a set
    "shift": "name one with --dataset",
    "adversarial": "score your own with --dataset",
    "anomaly": "in Python, gathered(data, anomaly=[...]) takes one (docs/evaluation.md)",
}
Stage = Callable[[str, int, int], None]  # what is measured, how many rows are done, of how many


def evaluate_run(
    place: Path,
    *,
    datasets: Sequence[str] = (),
    everything: bool = False,
    figures: Sequence[str] = USUAL,
    rows: int | None = None,
    costly_rows: int = 200,
    sets: Sequence[str] = (),
    radii: Mapping[str, Any] | None = None,
    bins: int = BINS,
    temperature: bool = False,
    quiet: bool = False,
    trust_remote_code: bool = False,
    device: str | None = None,
    **reading: Any,
) -> dict[str, Evaluation]:
    """The figures of every task of a run, written into its result.json.

    Always the task metrics and calibration; by default accuracy one gradient step away, and the data sets that are its
    shift; `everything` adds noise, PGD, adversarial and anomaly sets, flatness, and the drift from pretraining.
    `rows` bounds the rows of each set, `costly_rows` those of PGD, input gradients and sharpness.
    Of the sets that cards name, `sets` chooses some. `radii` are those of FGM and PGD, as `uegr.evaluation.Radii` takes
    them; both ascend the loss after the temperature that training fitted. `bins` are those of the calibration error;
    `temperature` fits one on validation rows first. `reading` says how the files in `datasets` are read, as in
    `uegr.data.load`.
    """
    wanted = set(FIGURES if everything else figures)
    run = open_run(place, trust_remote_code=trust_remote_code, device=device)
    with progress_bar(quiet) as bar:
        shown: dict[str, Any] = {}

        def show(name: str, done: int, total: int) -> None:
            if name not in shown:
                shown[name] = bar.add_task(f"{place.name}: {name}", total=total, note="")
            bar.update(shown[name], completed=done, total=total)

        found = {}
        for name, task in run.tasks.items():
            others = [task.held_out(source, **reading) for source in datasets]
            limits: dict[str, Any] = {"rows": rows, "costly_rows": costly_rows}
            chosen = chosen_sets(task, wanted, others, sets, limits, temperature)
            how: dict[str, Any] = {"bins": bins, "fit_temperature": temperature, "fitted": fitted(task, chosen)}
            how |= {"radii": Radii(**(radii or {})), "ascended": ascended(task)}
            measured = evaluated(task, chosen, wanted, show, **how)
            found[name] = measured.model_copy(update={"left_out": measured.left_out | unmeasured(measured, wanted)})
    folder.update(place, lambda result: with_evaluations(result, found))
    return found


def fitted(task: FinishedTask, sets: Sets) -> float | None:
    """The task's temperature, unless it was fitted on the rows that are measured."""
    known = task.about.temperature
    return None if known is None or known.split == sets.split else known.value


def ascended(task: FinishedTask) -> float:
    """The temperature of the loss that FGM and PGD ascend: no figure is fitted to it, so the same rows may serve."""
    return 1.0 if task.about.temperature is None else task.about.temperature.value


def unmeasured(found: Evaluation, wanted: set[str]) -> dict[str, str]:
    """The figures that were asked for and could not be measured, and why."""
    missing: dict[str, str] = {}
    if found.calibration is None:
        of_classes = wanted & {*CURVES, "anomaly"}
        missing = dict.fromkeys(["calibration", *sorted(of_classes)], "needs a classifier, and this is a regression")
    elif found.calibration.ece_calibrated is None:
        missing["calibration error after a temperature"] = "the temperature was fitted on these rows, or there is none"
    if "drift" in wanted and found.drift is None:
        missing["drift"] = "the model was not pretrained"
    named = {use.kind for _, use in evaluation_sets(found.data)}  # of those, each that is not here has its own reason
    for kind in ("shift", "adversarial", "anomaly"):
        if kind in wanted - named and not getattr(found, kind):
            missing.setdefault(kind, f"no card names such a set for {found.data}; {REMEDIES[kind]}")
    return missing


def with_evaluations(result: Result, found: dict[str, Evaluation]) -> Result:
    """The result with these figures in place of earlier ones."""
    for name, evaluation in found.items():
        result = result.with_task(name, evaluation=evaluation)
    return result


def chosen_sets(
    task: FinishedTask,
    wanted: set[str],
    others: Sequence[Data],
    only: Sequence[str],
    limits: dict[str, Any],
    temperature: bool,
) -> Sets:
    """The rows that one task is measured on."""
    return gathered(
        task.held_out(),
        shift=None if "shift" in wanted else (),
        adversarial=None if "adversarial" in wanted else (),
        anomaly=None if "anomaly" in wanted else (),
        also=others,
        only=only,
        validation=task.validation_rows() if temperature else None,
        **limits,
    )


def evaluated(task: FinishedTask, sets: Sets, wanted: set[str], show: Stage, **how: Any) -> Evaluation:
    """The figures of one task."""
    return evaluate(
        task.model,
        task.tokenizer,
        sets,
        pretrained=task.pretrained() if "drift" in wanted else None,
        curves=[curve for curve in CURVES if curve in wanted],
        landscape="landscape" in wanted,
        max_length=task.max_length,
        progress=lambda name, done, total: show(f"{task.name}: {name}", done, total),
        **how,
    )
