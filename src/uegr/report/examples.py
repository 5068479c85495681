"""Texts that word attacks changed, side by side for the methods, read from the journals of the runs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from pydantic import BaseModel, ValidationError

from uegr.report.groups import Group, by_block, heading
from uegr.report.reading import TaskRun

MOST_PANELS, MOST_TEXTS, MOST_METHODS = 12, 3, 8
FATES = {"success": "broken", "failure": "withstood", "skipped": "wrong before the attack"}
Piece = tuple[str, bool]  # some text, and whether it was changed
Text = str | tuple[str, ...]  # a text, or both texts of a pair


class Outcome(BaseModel):
    """A line of a journal: what happened to one row; other lines do not fit."""

    index: int
    status: str
    text: Text
    label: int
    found: Text | None = None
    found_predicted: int | None = None
    probability: float | None = None
    found_probability: float | None = None
    queries: int | None = None


@dataclass(frozen=True)
class Answer:
    """What happened to a row under one method."""

    method: str
    seed: int
    fate: str
    outcome: Outcome
    pieces: list[Piece]
    now: str  # the label after the attack


@dataclass(frozen=True)
class Example:
    """A row, and its answers under every method."""

    text: str
    label: str
    answers: list[Answer]


def attack_examples(groups: Sequence[Group]) -> dict[str, list[Example]]:
    """For each data set, model and attack: the first rows that the first method lost, and their fate in the others."""
    panels: dict[str, list[Example]] = {}
    for block, some in by_block(groups).items():
        for name in sorted({path.name for group in some for path in journals(group.runs[0])}):
            if len(panels) < MOST_PANELS and (rows := examples(some, name)):
                panels[f"{heading(block)} · {name.removesuffix('.jsonl')}"] = rows
    return panels


def journals(run: TaskRun) -> list[Path]:
    """The journals of the attacks on this task."""
    folder = run.run.folder / "attacks" if run.run.folder else None
    if folder is None or not folder.is_dir():
        return []
    starts = tuple(f"{one.attack}-{one.data.replace('/', '_')}" for one in run.task.attacks.values())
    return [path for path in folder.glob("*.jsonl") if path.name.startswith(starts)]


def examples(groups: Sequence[Group], name: str) -> list[Example]:
    """The same rows under every method; the attacked run is each setting's first seed."""
    found = [(group, group.runs[0], outcomes(group.runs[0], name)) for group in groups[:MOST_METHODS]]
    found = [(group, run, own) for group, run, own in found if own]
    if not found:
        return []
    _, first, lost = found[0]
    broken = [one for _, one in sorted(lost.items()) if one.status == "success"][:MOST_TEXTS]
    return [
        Example(
            joined(one.text),
            label(first, one.label),
            [answer(group, run, own[one.index]) for group, run, own in found if one.index in own],
        )
        for one in broken
    ]


def outcomes(run: TaskRun, name: str) -> dict[int, Outcome]:
    """The outcomes of a journal by row."""
    return {one.index: one for path in journals(run) if path.name == name for one in lines(path)}


def lines(path: Path) -> Iterator[Outcome]:
    """The outcomes in a journal; lines that are cut off or of another kind are skipped."""
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            yield Outcome.model_validate_json(line)
        except ValidationError:
            continue


def answer(group: Group, run: TaskRun, outcome: Outcome) -> Answer:
    """What happened to a row under one method."""
    changed = outcome.status == "success" and outcome.found is not None
    pieces = difference(joined(outcome.text), joined(outcome.found or "")) if changed else []
    fate = FATES.get(outcome.status, outcome.status)
    return Answer(group.label, run.seed, fate, outcome, pieces, label(run, outcome.found_predicted))


def joined(text: Text) -> str:
    """A text, or both texts of a pair.

    >>> joined(("a question", "an answer"))
    'a question ‖ an answer'
    """
    return text if isinstance(text, str) else " ‖ ".join(text)


def label(run: TaskRun, number: int | None) -> str:
    """A label's name."""
    names = run.task.labels or ()
    return names[number] if number is not None and 0 <= number < len(names) else str(number)


def difference(before: str, after: str) -> list[Piece]:
    """The second text in pieces; those that the first does not have are marked.

    >>> difference("a good film", "a fine film")
    [('a ', False), ('fine', True), (' film', False)]
    """
    old, new = (re.findall(r"\w+|\s+|[^\w\s]", text) for text in (before, after))
    pieces = []
    for tag, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if start < end:
            pieces.append(("".join(new[start:end]), tag != "equal"))
    return pieces
