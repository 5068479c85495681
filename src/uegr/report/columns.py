"""The leaderboard's columns: a run's figures in a handful of numbers that runs on other data have too."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from uegr.report.figures import Figure, same_rows_mean, separate_mean
from uegr.report.reading import Run

BEST = {"in_distribution": 1.0, "shift": 1.0, "adversarial": 1.0, "calibration": 0.0, "anomaly": 1.0}


@dataclass(frozen=True)
class Column:
    """What a column is called and what its numbers are."""

    key: str
    title: str
    meaning: str


COLUMNS = (
    Column("own", "Own test", "the task's metric on the run's own held-out rows"),
    Column("shift", "Shift", "mean accuracy over sets of other domains"),
    Column("adversarial", "Adversarial sets", "mean accuracy over adversarial sets"),
    Column("fgm", "FGM", "accuracy one gradient step away on the embedded input, mean over the sizes of the step"),
    Column("pgd", "PGD", "accuracy under PGD on the embedded input, mean over its radii"),
    Column("ece", "ECE", "expected calibration error on the own rows; less is better"),
    Column("anomaly", "Anomaly", "mean AUROC against texts from elsewhere"),
)
LAST = Column("improvement", "Gap closed", "share of the gap to perfect that is closed, mean over perspectives (RoAST)")


def columns_of(run: Run) -> dict[str, Figure]:
    """The columns that a run has figures for; word attacks have a column each."""
    found = [
        own(run),
        separate_mean("shift", "shift, mean over sets", accuracies(run, "shift")),
        separate_mean("adversarial", "adversarial sets, mean", accuracies(run, "adversarial")),
        same_rows_mean("fgm", "accuracy under FGM, mean over radii", accuracies(run, "perturbation/fgm ")),
        same_rows_mean("pgd", "accuracy under PGD, mean over radii", accuracies(run, "perturbation/pgd ")),
        same_rows_mean("ece", "calibration error (ECE)", [f for k, f in run.figures.items() if k == "calibration/ece"]),
        separate_mean("anomaly", "AUROC, mean over outlier sets", starting(run, "anomaly/", "auroc")),
        *attacks(run),
    ]
    return {figure.key: figure for figure in found if figure is not None}


def own(run: Run) -> Figure | None:
    """The accuracy on the own held-out rows, or the first metric of a task that has none."""
    figures = starting(run, "clean/")
    best = next((figure for figure in figures if figure.metric == "accuracy"), None) or next(iter(figures), None)
    return best and same_rows_mean("own", best.label, [best])


def accuracies(run: Run, start: str) -> list[Figure]:
    return starting(run, start, "accuracy")


def starting(run: Run, start: str, metric: str | None = None) -> list[Figure]:
    """The figures whose key begins so."""
    return [f for key, f in run.figures.items() if key.startswith(start) and metric in (None, f.metric)]


def attacks(run: Run) -> list[Figure]:
    """The accuracy under each word attack; over several sets, their mean."""
    found: dict[str, list[Figure]] = {}
    for name in run.result.get("attacks", {}):
        figure = run.figures.get(f"attack/{name}/accuracy_after")
        if figure is not None:
            found.setdefault(name.partition(" on ")[0], []).append(figure)
    means = [separate_mean(f"attack {name}", f"accuracy under {name}", some) for name, some in found.items()]
    return [figure for figure in means if figure is not None]


def titles(keys: Iterable[str]) -> list[Column]:
    """The columns among these keys in the order of reading: the fixed ones, then attacks by name."""
    present = set(keys)
    fixed = [column for column in COLUMNS if column.key in present]
    words = sorted(key for key in present if key.startswith("attack "))
    named = [(key, key.removeprefix("attack ")) for key in words]
    attacked = [Column(key, name, f"accuracy under the word attack {name}") for key, name in named]
    return fixed + attacked + [LAST] * (LAST.key in present)


def improvement(scores: Any, base: Any) -> tuple[float, tuple[str, ...]] | None:
    """RoAST's one number: the mean share of the gap to perfect that is closed, and the perspectives it is over.

    >>> improvement({"shift": 0.9, "calibration": 0.06}, {"shift": 0.8, "calibration": 0.08})
    (0.375, ('shift', 'calibration'))
    """
    common = tuple(name for name in BEST if name in scores and name in base and base[name] != BEST[name])
    gains = [(scores[name] - base[name]) / (BEST[name] - base[name]) for name in common]
    return (round(sum(gains) / len(gains), 12), common) if gains else None
