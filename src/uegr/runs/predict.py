"""Labels for new texts, one JSON line each."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from uegr import data as data_room
from uegr.errors import InputError
from uegr.files import refuse_special, write_text
from uegr.models.texts import Text, texts_of
from uegr.runs.attack import own_task
from uegr.runs.finished import FinishedTask, open_run
from uegr.terminal import json_text


def predict_lines(
    place: Path,
    *,
    source: str | None,
    texts: list[str] | None,
    output: Path | None,
    split: str | None = None,
    task: str | None = None,
    trust_remote_code: bool = False,
    **reading: Any,
) -> None:
    """Classify texts, or the rows of a file, to `output` or standard output; `reading` as in `uegr.data.load`."""
    if output is not None:
        refuse_special(output)
    run = open_run(place, trust_remote_code=trust_remote_code)
    chosen = run.task(task or own_task(run.tasks, source))
    rows = texts if texts is not None else source_texts(str(source), split, **reading)
    lines = [json_text(entry) for entry in answers(chosen, rows)]
    if output is None:
        sys.stdout.writelines(f"{line}\n" for line in lines)
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_text(output, "".join(f"{line}\n" for line in lines))


def source_texts(source: str, split: str | None, **reading: Any) -> Sequence[Text]:
    """The texts of a file without labels, or of one split of a folder or card."""
    data = data_room.load(source, labelled=False, **reading)
    if split is None and len(data.splits) > 1:
        raise InputError(f"{source} has the splits {', '.join(data.splits)}; choose one with --split")
    name = split or next(iter(data.splits))
    if name not in data.splits:
        raise InputError(f"{source} has no split {name}, only {', '.join(data.splits)}; choose one with --split")
    return texts_of(data.splits[name])


def answers(task: FinishedTask, texts: Sequence[Text]) -> Iterator[dict[str, Any]]:
    """The label and its probabilities, or the value of a regression, in the order of the texts."""
    for number, found in enumerate(task.predict(texts)):
        if found.value is not None:
            yield {"row": number, "value": round(found.value, 6)}
        else:
            shares = {label: round(share, 6) for label, share in found.probabilities.items()}
            yield {"row": number, "label": found.label, "probabilities": shares}
