"""The temperature of a task: what its logits are divided by, so that its probabilities are honest.

Training fits one on the validation rows and keeps it in result.json. A measurement must not be on the rows of the fit:
where some of these are attacked, the temperature is fitted again on the others.
"""

from collections.abc import Collection
from typing import Any

from uegr.errors import InputError, warn
from uegr.evaluation.calibration import temperature
from uegr.models.texts import Text, labels_of, texts_of
from uegr.result import Temperature
from uegr.runs.finished import FinishedTask

LEAST = 10  # rows for a fit


def temperature_of(probabilities: Any, labels: Any, split: str) -> Temperature:
    """The temperature that fits these rows best."""
    return Temperature(value=temperature(probabilities, labels), split=split, rows=len(labels))


def honest_temperature(task: FinishedTask, measured: Collection[Text]) -> Temperature | None:
    """The task's temperature, fitted on validation rows that are not among the `measured` texts.

    None, and a warning, where there are fewer than ten such rows. Where the task's own data is not available, the
    measured texts are not from it, and the temperature of the training serves.
    """
    stored = task.about.temperature
    if task.labels is None:
        return None
    try:
        rows = task.validation_rows()
    except InputError as error:
        if stored is None:
            warn(f"the attack is not calibrated, because there are no rows to fit a temperature on: {error}")
        return stored
    texts, split = texts_of(rows), task.data().validation or "validation"
    others = [number for number, text in enumerate(texts) if text not in measured]
    if stored is not None and len(others) == len(texts) == stored.rows:
        return stored
    if len(others) < LEAST:
        remedy = "attack fewer rows with --examples" if len(texts) > LEAST else "attack other rows with --dataset"
        warn(
            f"the attack is not calibrated: expected {LEAST} or more rows of {split} that are not attacked, to fit a "
            f"temperature on, got {len(others)} of {len(texts)}; {remedy}"
        )
        return None
    rest = rows.select(others)
    return temperature_of(task.probabilities(texts_of(rest)), labels_of(rest), split)
