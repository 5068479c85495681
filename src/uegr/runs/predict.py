"""Labels for new texts, one JSON line each."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from uegr import data as data_room
from uegr.errors import InputError
from uegr.files import write_text
from uegr.models.texts import probabilities, texts_of
from uegr.runs import multitask
from uegr.runs.evaluate import Finished


def predict_lines(
    folder: Path,
    *,
    source: str | None,
    texts: list[str] | None,
    output: Path | None,
    split: str | None = None,
    text_column: str | None = None,
    pair_column: str | None = None,
    task: str | None = None,
) -> None:
    """Classify texts, or the rows of a file, to `output` or standard output; `task` is a head of a multi-task run."""
    run = Finished(folder)
    if "tasks" in run.result:
        own = [name for name, found in run.result["tasks"].items() if source in (name, found["dataset"])]
        run = multitask.of_task(run, task or next(iter(own), None))
    elif task is not None:
        raise InputError(f"expected a run of several tasks for task {task}, got one; leave it out")
    rows = texts if texts is not None else source_texts(str(source), split, text_column, pair_column)
    lines = [json.dumps(entry, ensure_ascii=False) for entry in answers(run, rows)]
    if output is None:
        sys.stdout.writelines(f"{line}\n" for line in lines)
    else:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_text(output, "".join(f"{line}\n" for line in lines))


def source_texts(source: str, split: str | None, text_column: str | None, pair_column: str | None) -> Sequence[Any]:
    """The texts of a file without labels, or of one split of a folder or card."""
    data = data_room.load(source, text_column=text_column, pair_column=pair_column, labelled=False)
    if split is None and len(data.splits) > 1:
        raise InputError(f"{source} has the splits {', '.join(data.splits)}; choose one with --split")
    name = split or next(iter(data.splits))
    if name not in data.splits:
        raise InputError(f"{source} has no split {name}, only {', '.join(data.splits)}")
    return texts_of(data.splits[name])


def answers(run: Finished, texts: Sequence[Any]) -> Iterator[dict[str, Any]]:
    """The label and its probabilities, or the value of a regression, in the order of the texts."""
    if not texts:
        return
    for number, row in enumerate(probabilities(run.model, run.tokenizer, texts, max_length=run.max_length)):
        if run.labels is None:
            yield {"row": number, "value": round(float(row[0]), 6)}
        else:
            shares = {label: round(float(share), 6) for label, share in zip(run.labels, row, strict=True)}
            yield {"row": number, "label": run.labels[int(row.argmax())], "probabilities": shares}
