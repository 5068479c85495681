"""The classes of a classifier: precision, recall and F1 of each, and which are taken for which."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from uegr.report.groups import Group, heading
from uegr.result import Evaluation, Task
from uegr.statistics.classes import Classes, ClassFigures, spelt

SHOWN = 12  # classes in a terminal, and in a confusion matrix
IMBALANCED = 1.2  # times an even share of the rows: above, accuracy flatters who always answers the most frequent label


def classes_of(task: Task, evaluation: Evaluation | None = None) -> tuple[str, Classes] | None:
    """The split that a task is judged on, and its classes there: test if there is one, on the most rows."""
    found = {split: task.classes[split] for split in sorted(task.classes, key=lambda name: name != "test")}
    if evaluation is not None and evaluation.classes is not None and evaluation.split not in found:
        found[evaluation.split] = evaluation.classes
    return next(iter(found.items()), None)


def imbalanced(group: Group) -> tuple[str, Classes] | None:
    """The split and the classes of a setting's first run, where the most frequent label has too many of the rows."""
    known = classes_of(group.runs[0].task, group.runs[0].evaluation)
    return known if known and known[1].majority_accuracy * len(known[1].table) > IMBALANCED else None


def hardest(found: Classes, most: int = SHOWN) -> list[tuple[str, ClassFigures]]:
    """The classes with the lowest F1 where there are many, otherwise all, in their own order."""
    listed = list(found.table.items())
    worst = sorted(listed, key=lambda one: one[1].f1)[:most]
    return listed if len(listed) <= most else worst


def majority(found: Classes) -> str:
    """The majority baseline in words.

    >>> majority(Classes("happy", 0.96, {}, {}))
    "always answering 'happy' has accuracy 0.9600"
    """
    return f"always answering {found.majority!r} has accuracy {found.majority_accuracy:.4f}"


@dataclass(frozen=True)
class ClassTable:
    """One setting on the page: a row per class, means over seeds, and the confusion matrix over all of them."""

    title: str
    split: str
    majority: str
    rows: list[tuple[str, list[str], int]]  # name; precision, recall and F1 in percent; rows of one seed
    names: list[str]  # of the matrix; empty where there are too many
    matrix: list[list[int]]  # labels down, predictions across


def class_tables(groups: Sequence[Group]) -> list[ClassTable]:
    """A table for each setting of a classifier."""
    return [table for group in groups if (table := class_table(group)) is not None]


def class_table(group: Group) -> ClassTable | None:
    """Means over seeds of the classes of one setting."""
    known = [found for run in group.runs if (found := classes_of(run.task, run.evaluation)) is not None]
    if not known:
        return None
    split, first = known[0]
    seeds = [found for name, found in known if name == split]
    names = list(first.table)
    of_each = {name: [found.table[name] for found in seeds if name in found.table] for name in names}
    rows = [(spelt(name), shares(some), some[0].n) for name, some in of_each.items()]
    shown = names if len(names) <= SHOWN else []
    title, matrix = f"{heading(group.block)} · {group.label}", [summed(seeds, name, shown) for name in shown]
    return ClassTable(title, split, majority(first), rows, list(map(spelt, shown)), matrix)


def shares(some: Sequence[ClassFigures]) -> list[str]:
    """Precision, recall and F1 in percent, means over seeds."""
    return [f"{100 * fmean(getattr(one, name) for one in some):.1f}" for name in ("precision", "recall", "f1")]


def summed(seeds: Sequence[Classes], label: str, names: Sequence[str]) -> list[int]:
    """How often rows of a label were taken for each class, over all seeds."""
    counts: Counter[str] = Counter()
    for found in seeds:
        counts.update(found.confusion.get(label, {}))
    return [counts[name] for name in names]
