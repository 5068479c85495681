"""Two finished runs, answer by answer: both models score the same held-out rows, and their attacks are compared too."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from uegr.attacks.journal import outcomes_of
from uegr.attacks.outcome import Outcome
from uegr.data import subsample
from uegr.errors import InputError
from uegr.evaluation.metrics import METRICS, prepare
from uegr.models.texts import labels_of, texts_of
from uegr.runs.attack import own_task
from uegr.runs.finished import FinishedTask, held_out_rows, open_run
from uegr.statistics.pairs import Pair, paired_metric, paired_shares


@dataclass(frozen=True)
class Compared:
    """Both tasks, the rows they answered, the measures, and what could not be compared, with the reason."""

    first: FinishedTask
    second: FinishedTask
    data: str
    rows: int
    pairs: list[Pair]
    left_out: dict[str, str]


def compare_runs(
    first: Path,
    second: Path,
    *,
    dataset: str | None = None,
    task: str | None = None,
    rows: int | None = None,
    trust_remote_code: bool = False,
    **reading: Any,
) -> Compared:
    """Compare two runs on the held-out rows of their data set, or on another one; different rows are an error."""
    if first.resolve() == second.resolve():
        raise InputError(f"expected two runs, got {first} twice; name another one")
    runs = [open_run(place, trust_remote_code=trust_remote_code) for place in (first, second)]
    ours, theirs = (run.task(task or own_task(run.tasks, dataset)) for run in runs)
    check_labels(ours, theirs)
    data = ours.held_out(dataset, **reading)
    chosen = held_out_rows(data)
    if dataset is None:
        check_rows(ours, theirs, chosen, held_out_rows(theirs.held_out()))
    elif data.card is None:  # a file: it may be what the other run was trained on
        chosen = theirs.unseen(data.name, chosen)
    chosen = chosen if rows is None or rows >= len(chosen) else subsample(chosen, size=rows, seed=0)
    attacked, left_out = attacks(ours, theirs, data.name)
    pairs = [*scored(ours, theirs, texts_of(chosen), labels_of(chosen)), *attacked]
    return Compared(ours, theirs, data.name, len(chosen), pairs, left_out)


def check_labels(ours: FinishedTask, theirs: FinishedTask) -> None:
    """Both models choose between the same labels."""
    if ours.labels != theirs.labels:
        raise InputError(
            f"expected two runs with the same labels, got {described(ours)} and {described(theirs)}; "
            "compare runs of one task"
        )


def described(task: FinishedTask) -> str:
    """The labels in a few words."""
    return "numbers" if task.labels is None else f"{', '.join(task.labels[:4])}{', ...' * (len(task.labels) > 4)}"


def check_rows(ours: FinishedTask, theirs: FinishedTask, rows: Any, others: Any) -> None:
    """Both held out the same rows: those of one may be among the other's training rows."""
    if list(texts_of(rows)) == list(texts_of(others)) and list(labels_of(rows)) == list(labels_of(others)):
        return
    (name, seed), (other, its_seed) = ((one.about.dataset, one.run.config.seed) for one in (ours, theirs))
    got = f"{name} and {other}" if name != other else f"other rows of {name} (seeds {seed} and {its_seed})"
    raise InputError(
        f"expected two runs that hold out the same rows, got {got}; use --dataset with rows that neither was trained on"
    )


def scored(ours: FinishedTask, theirs: FinishedTask, texts: Sequence[Any], truth: Any) -> Iterator[Pair]:
    """Every metric of the task, on the answers of both models."""
    first, second = (task.probabilities(texts) for task in (ours, theirs))
    for metric in ours.about.metrics:
        one, other = (prepare(metric, found, truth)[0] for found in (first, second))
        if metric == "accuracy":
            yield paired_shares(metric, one == truth, other == truth)
        else:
            yield paired_metric(metric, METRICS[metric], one, other, truth)


def attacks(ours: FinishedTask, theirs: FinishedTask, data: str) -> tuple[list[Pair], dict[str, str]]:
    """Accuracy under each attack on this data that both runs went through with the same settings and rows."""
    pairs, left_out = [], {}
    names = dict.fromkeys(
        name for task in (ours, theirs) for name, one in task.about.attacks.items() if one.data == data
    )
    for name in names:
        found = [outcomes(task, name) for task in (ours, theirs)]
        if not all(found):
            left_out[name] = "only one of the runs has its outcomes"
        elif [one.text for one in found[0]] != [one.text for one in found[1]]:
            left_out[name] = "other rows were attacked"
        else:
            label = f"accuracy, {name.replace(f' on {data}, {len(found[0])} examples', '')}"  # told beside it
            pairs.append(paired_shares(label, *([one.right_after for one in some] for some in found)))
    return pairs, left_out


def outcomes(task: FinishedTask, name: str) -> list[Outcome]:
    """What an attack found, row by row; nothing where it did not run, or was replayed from another run."""
    found = task.about.attacks.get(name)
    return outcomes_of(task.run.folder / "attacks" / found.journal) if found is not None and found.journal else []
