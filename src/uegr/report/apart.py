"""Figures that two runs have both, measured on the same number of rows of the same data, each run by itself."""

from uegr.report.figures import figures_of
from uegr.result import Task
from uegr.statistics.pairs import Pair, separate

BY_ROW = ("clean", "attack")  # `uegr compare` compares these row by row


def measured_apart(first: Task, second: Task) -> list[Pair]:
    """Perturbation, shift, calibration and the like, where the figures of both rest on as many rows."""
    measured = [task.evaluation for task in (first, second)]
    if measured[0] is None or measured[1] is None or measured[0].data != measured[1].data:
        return []
    ours, theirs = figures_of(first), figures_of(second)
    common = [(one, theirs[key].figure) for key, one in ours.items() if key in theirs and not key.startswith(BY_ROW)]
    return [
        separate(one.quantity.label, one.figure, other, one.quantity.better, one.quantity.share)
        for one, other in common
        if one.figure.n == other.n
    ]
