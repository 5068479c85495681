"""Reasons to doubt a result, derived from its own figures. Nobody types them (RobustBench's `unreliable` flag).

Masked gradients make a model look robust although it is not (Athalye et al. 2018). The signs that a result shows: PGD
finds less than one step of FGM, or less in a larger ball; texts that were found on another model break more than a
search on this one. What a single result cannot show, such as one seed, is added where results are compared.
"""

from collections.abc import Iterator
from itertools import pairwise

from uegr.result import Attack, Curve, Evaluation, Result, Task
from uegr.statistics.intervals import Figure

FEW = 100  # rows: below, the 95% interval of an accuracy is up to 20 points wide
REPLAYED = " replayed"  # the end of the name of an attack whose texts were found on another run
AT_CHANCE = "not shown to be above chance"  # the start of that reason
ONE_SEED = "one seed: another seed may give another result"


def doubts(result: Result) -> list[str]:
    """Every reason, in words; empty where there is none."""
    several = len(result.tasks) > 1
    return [
        f"{name}: {reason}" if several else reason
        for name, task in result.tasks.items()
        for reason in (*choices(result, task), *untaught(task), *masking(task), *uncalibrated(task), *few_rows(task))
    ]


def choices(result: Result, task: Task) -> Iterator[str]:
    """Whether the rows that are measured also chose the epoch or the settings."""
    measured, validation = measured_split(task), validation_split(task)
    if measured != validation:
        return
    if result.config.training.get("select", "best") != "last":
        yield f"the measured rows also chose the epoch: both are {measured}"
    if result.search is not None:
        yield f"the measured rows also chose the settings: both are {measured}"


def measured_split(task: Task) -> str | None:
    """The split that the figures are of."""
    if task.evaluation is not None:
        return task.evaluation.split
    labelled = [split for split, figures in task.scores.items() if figures]
    return "test" if "test" in labelled else next(iter(labelled), None)


def validation_split(task: Task) -> str | None:
    """The split that chose the epoch."""
    if task.temperature is not None:
        return task.temperature.split
    return next((split for split in task.scores if split.startswith("validation")), None)


def untaught(task: Task) -> Iterator[str]:
    """Whether a classifier is not shown to be above chance: what never was right is not broken either."""
    found = task.scores.get(measured_split(task) or "", {}).get("balanced_accuracy")
    if found is not None and task.labels and found.low <= 1 / len(task.labels):
        yield f"{AT_CHANCE}: balanced accuracy {percent(found)}, chance is {100 / len(task.labels):.1f}%"


def masking(task: Task) -> Iterator[str]:
    """The signs of masked gradients."""
    if task.evaluation is not None:
        yield from weak_ascent(task.evaluation)
    own = {(one.attack, one.data): one.accuracy_after for one in task.attacks.values()}
    for (attack, data), after in own.items():
        direct = own.get((attack.removesuffix(REPLAYED), data))
        if attack.endswith(REPLAYED) and direct is not None and after.value < direct.value:
            yield (
                f"gradient masking: texts found on another model leave {percent(after)}, "
                f"{attack.removesuffix(REPLAYED)} on this one {percent(direct)}"
            )


def weak_ascent(evaluation: Evaluation) -> Iterator[str]:
    """Where PGD finds less than FGM within the same radius, or less within a larger radius."""
    for name, curve in evaluation.perturbation.items():
        if not name.startswith("pgd"):
            continue
        one_step = accuracies(evaluation.perturbation.get(name.replace("pgd", "fgm")))
        found = accuracies(curve)
        for radius, accuracy in found.items():
            if radius in one_step and finds_less(accuracy, one_step[radius]):
                yield f"gradient masking: PGD leaves {percent(accuracy)} within {radius:g}, FGM less"
        radii = sorted(found)
        for small, large in pairwise(radii):
            if found[large].value > found[small].value:
                yield f"gradient masking: PGD leaves more within {large:g} than within {small:g}"


def accuracies(curve: Curve | None) -> dict[float, Figure]:
    """The accuracy by radius."""
    return {point.size: point.accuracy for point in curve.points} if curve else {}


def finds_less(pgd: Figure, fgm: Figure) -> bool:
    """Whether PGD leaves more rows right: on the same rows any more, on others more than chance explains.

    >>> finds_less(Figure(0.5, 0.4, 0.6, 200), Figure(0.45, 0.4, 0.5, 400))
    False
    """
    return pgd.value > fgm.value + 1e-9 if pgd.n == fgm.n else pgd.low > fgm.high


def uncalibrated(task: Task) -> Iterator[str]:
    """Searches that read probabilities as they were."""
    for name, attack in task.attacks.items():
        if attack.temperature is None and not attack.attack.endswith(REPLAYED):
            yield f"attack not calibrated: {name}"


def few_rows(task: Task) -> Iterator[str]:
    """Figures that rest on fewer than a hundred rows."""
    for name, figure in main_figures(task):
        if 0 < figure.n < FEW:
            yield f"few rows: {figure.n} for {name}"


def main_figures(task: Task) -> Iterator[tuple[str, Figure]]:
    """The figures that a comparison rests on."""
    split = measured_split(task) or ""
    measured = [task.scores.get(split, {}), *([task.evaluation.clean] if task.evaluation else [])]
    clean = [one for figures in measured for one in list(figures.items())[:1]]
    yield from [max(clean, key=lambda one: one[1].n)] if clean else []  # a report takes the one of more rows
    for name, curve in (task.evaluation.perturbation if task.evaluation else {}).items():
        yield from [(name, curve.points[0].accuracy)] if curve.points else []
    yield from ((name, attack.accuracy_after) for name, attack in named_once(task.attacks).items())


def named_once(attacks: dict[str, Attack]) -> dict[str, Attack]:
    """The attacks without replays, which rest on the same rows."""
    return {name: one for name, one in attacks.items() if not one.attack.endswith(REPLAYED)}


def percent(figure: Figure) -> str:
    """
    >>> percent(Figure(0.5, 0.4, 0.6, 200))
    '50.0%'
    """
    return f"{100 * figure.value:.1f}%"
