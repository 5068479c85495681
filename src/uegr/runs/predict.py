"""Labels for new texts: rows of a file keep all their columns, and the file's ending decides the format."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from shlex import quote
from typing import Any

from uegr import data as data_room
from uegr.data.columns import as_before, carried, files_of
from uegr.data.resolve import NotFound, data_root
from uegr.data.writing import LINES, check_format, check_table, lines, write_table
from uegr.errors import InputError, warn
from uegr.files import refuse_special
from uegr.models.texts import Text, length_limit, sides, texts_of
from uegr.models.tokens import is_cut
from uegr.runs.attack import own_task
from uegr.runs.finished import FinishedTask, open_run
from uegr.terminal import echo

MOST_NAMED = 10  # rows or columns in a warning


@dataclass(frozen=True)
class Given:
    """Texts, and the columns that go with them."""

    texts: Sequence[Text]
    columns: dict[str, list[Any]]


def predict_lines(
    place: Path,
    *,
    source: str | None,
    texts: Sequence[Text] | None,
    output: Path | None,
    split: str | None = None,
    task: str | None = None,
    calibrate: bool = False,
    trust_remote_code: bool = False,
    device: str | None = None,
    **reading: Any,
) -> None:
    """Classify texts, or the rows of a file, to `output` or standard output; `reading` as in `uegr.data.load`.

    A file is read by the columns that the run was trained with, where it has them and `reading` names no others.
    Without `output`, and in a file that ends with .jsonl, every answer is one JSON object per line.
    """
    if output is not None:
        refuse_special(output)
        check_format(output)
        refuse_input(output, source)
    run = open_run(place, trust_remote_code=trust_remote_code, device=device)
    chosen = run.task(task or own_task(run.tasks, source))
    given = Given(texts, {}) if texts is not None else from_source(chosen, str(source), split, **reading)
    check_sides(chosen, given.texts)
    nested = output is None or output.suffix.lower() in LINES
    names = free_names(added_columns(chosen, nested), given.columns)
    warn_of_names(source, names)
    if output is not None:
        check_table(output, given.columns)
    table = answers(chosen, given, names, calibrate)
    if output is not None:
        write_table(output, table)
    else:
        for line in lines(table):
            echo(line)


def refuse_input(output: Path, source: str | None) -> None:
    """Refuse to replace a file that is read, whatever it is called."""
    if source is None or not output.exists():
        return
    places = [source, str((data_root() or Path()) / source)]
    if any(output.samefile(file) for place in places for file in files_of(place).values()):
        raise InputError(f"expected an output beside the input, got {output}, which is read; choose another --output")


def from_source(task: FinishedTask, source: str, split: str | None, **reading: Any) -> Given:
    """The rows of a file, or of one split of a folder or card, with all columns of the file."""
    named = reading.get("text_column") or reading.get("pair_column")
    if source not in data_room.cards() or Path(source).exists():
        trained = task.run.config.dataset
        remembered = {"text_column": trained.text_column, "pair_column": trained.pair_column}
        reading = {name: value for name, value in remembered.items() if value is not None} | reading
        reading = as_before(source, task.about.columns, **reading)
    try:
        data = data_room.load(source, labelled=False, null_as_empty=True, **reading)
    except NotFound as error:
        if "/" in source or Path(source).suffix:  # the name of a file
            raise
        raise InputError(f"{error}; to classify it as a text, use --text {quote(source)}") from None
    if not named:
        warn_of_other_columns(source, task.about.columns, data.columns)
    if split is None and len(data.splits) > 1:
        raise InputError(f"{source} has the splits {', '.join(data.splits)}; choose one with --split")
    name = split or next(iter(data.splits))
    if name not in data.splits:
        raise InputError(f"{source} has no split {name}, only {', '.join(data.splits)}; choose one with --split")
    return Given(texts_of(data.splits[name]), carried(source, name, **reading))


def warn_of_other_columns(source: str, known: tuple[str, ...], read: tuple[str, ...]) -> None:
    """Tell which columns were detected, in place of those of the training file."""
    then, now = (" and ".join(map(repr, names)) for names in (known, read))
    if known and read and then.lower() != now.lower():
        warn(f"{source} has no column {then}, which the run was trained on; read {now}")


def check_sides(task: FinishedTask, texts: Sequence[Text]) -> None:
    """Refuse pairs for a model of single texts, and single texts for a model of pairs."""
    paired = bool(texts) and not isinstance(texts[0], str)
    if task.about.head == "single" and paired:
        raise InputError("the run was trained on single texts, got pairs; choose one text with --text-column or --text")
    if task.about.head == "pair" and texts and not paired:
        raise InputError("the run was trained on pairs of texts, got single ones; use --pair-column, or --pair")


def added_columns(task: FinishedTask, nested: bool) -> list[str]:
    """The columns of the answers; `nested`: one column has the probabilities of all labels."""
    shares = ["probabilities"] if nested else [f"probability_{label}" for label in task.labels or ()]
    return ["row", "predicted", *(shares if task.labels is not None else ()), "note"]


def free_names(wanted: Sequence[str], taken: Iterable[str]) -> dict[str, str]:
    """Each name as it is, or where the file has it, the first of name_2, name_3, ... that is free.

    >>> free_names(["row", "note"], ["text", "note", "note_2"])
    {'row': 'row', 'note': 'note_3'}
    """
    theirs = set(taken)
    used = theirs.union(wanted)
    return {
        name: next(one for one in (f"{name}_{number}" for number in count(2)) if one not in used)
        if name in theirs
        else name
        for name in wanted
    }


def warn_of_names(source: str | None, names: dict[str, str]) -> None:
    """One line with the columns that the file has already, and what those of the answers are called."""
    if changed := [(name, other) for name, other in names.items() if name != other]:
        theirs, ours = (", ".join(map(repr, side[:MOST_NAMED])) for side in zip(*changed, strict=True))
        more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
        s = "s" if len(changed) > 1 else ""
        warn(f"{source} has the column{s} {theirs}{more} already; the answers have {ours}{more} instead")


def answers(task: FinishedTask, given: Given, names: dict[str, str], calibrate: bool = False) -> dict[str, list[Any]]:
    """Columns: those of the file, then the row's number from 1, the answer, its probabilities, and what is odd."""
    found = task.predict(given.texts, calibrate=calibrate)
    shares = [{label: round(share, 6) for label, share in one.probabilities.items()} for one in found]
    added: dict[str, list[Any]] = {
        "row": list(range(1, len(found) + 1)),
        "predicted": [one.label if one.value is None else round(one.value, 6) for one in found],
        "probabilities": shares,
        "note": remarks(task, given.texts),
    }
    added |= {f"probability_{label}": [share[label] for share in shares] for label in task.labels or ()}
    return given.columns | {other: added[name] for name, other in names.items()}


def remarks(task: FinishedTask, texts: Sequence[Text]) -> list[str]:
    """What is odd about each text: it is empty, or was cut. Warns with the numbers of their rows."""
    limit = length_limit(task.tokenizer, task.max_length)
    cut = is_cut(task.tokenizer, sides(texts), limit) if texts else []
    empty = [is_empty(text) for text in texts]
    warn_of("empty", empty)
    warn_of(f"cut after {limit} tokens", cut)
    return [
        "empty" if nothing else f"cut after {limit} tokens" if long else ""
        for nothing, long in zip(empty, cut, strict=True)
    ]


def is_empty(text: Text) -> bool:
    """Whether a text, or a side of a pair, says nothing.

    >>> is_empty(" "), is_empty(("a premise", "")), is_empty("a film")
    (True, True, False)
    """
    return not all(part.strip() for part in ([text] if isinstance(text, str) else text))


def warn_of(what: str, marks: list[bool]) -> None:
    """One line with the rows that are marked, counted from 1."""
    rows = [str(row) for row, marked in enumerate(marks, 1) if marked]
    if rows:
        more = f" and {len(rows) - MOST_NAMED:,} more" if len(rows) > MOST_NAMED else ""
        are, s = ("is", "") if len(rows) == 1 else ("are", "s")
        warn(f"{len(rows):,} of {len(marks):,} texts {are} {what}: row{s} {', '.join(rows[:MOST_NAMED])}{more}")
