"""Texts that word attacks changed, side by side for the methods, read from the journals of the runs."""

import json
import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from uegr.report.groups import Group
from uegr.report.plots import by_block, heading
from uegr.report.reading import Run

MOST_PANELS, MOST_TEXTS, MOST_METHODS = 12, 3, 8
Piece = tuple[str, bool]  # some text, and whether it was changed


def attack_examples(groups: Sequence[Group]) -> list[dict[str, Any]]:
    """For each data set, model and attack: the first rows that the first method lost, and their fate in the others."""
    panels: list[dict[str, Any]] = []
    for block, some in by_block(groups).items():
        for name in journals(some):
            if len(panels) < MOST_PANELS and (rows := compared_rows(some, name)):
                attack = name.partition("-")[0]
                panels.append({"title": f"{heading(block)} · {attack}", "rows": rows})
    return panels


def journals(groups: Sequence[Group]) -> list[str]:
    """The names of the attacks' files."""
    folders = [group.runs[0].folder / "attacks" for group in groups if group.runs[0].folder]
    return sorted({path.name for folder in folders if folder.is_dir() for path in folder.glob("*.jsonl")})


def compared_rows(groups: Sequence[Group], name: str) -> list[dict[str, Any]]:
    """The same rows under every method; the attacked run is each setting's first seed."""
    found = [(group, group.runs[0], outcomes(group.runs[0], name)) for group in groups[:MOST_METHODS]]
    found = [(group, run, own) for group, run, own in found if own]
    if not found:
        return []
    lost = [index for index, outcome in sorted(found[0][2].items()) if outcome["status"] == "success"][:MOST_TEXTS]
    return [
        {
            "text": joined(found[0][2][index]["text"]),
            "label": label(found[0][1], found[0][2][index]["label"]),
            "answers": [answer(group, run, own[index]) for group, run, own in found if index in own],
        }
        for index in lost
    ]


def outcomes(run: Run, name: str) -> dict[int, dict[str, Any]]:
    """The outcomes of a journal by row; lines that are cut off or of another kind are passed over."""
    if run.folder is None or not (run.folder / "attacks" / name).is_file():
        return {}
    return {one["index"]: one for one in lines(run.folder / "attacks" / name)}


def lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            stored = json.loads(line)
        except ValueError:
            continue
        if isinstance(stored, dict) and stored.get("kind") == "outcome" and {"index", "status", "text"} <= set(stored):
            yield stored


def answer(group: Group, run: Run, outcome: dict[str, Any]) -> dict[str, Any]:
    """What became of a row under one method."""
    status, found = outcome["status"], outcome.get("found")
    said = {"success": "broken", "failure": "withstood", "skipped": "wrong from the start"}.get(status, status)
    pieces = difference(joined(outcome["text"]), joined(found)) if status == "success" and found is not None else []
    return {
        "method": group.label,
        "seed": run.seed,
        "said": said,
        "status": status,
        "pieces": pieces,
        "words": sum(changed and bool(text.strip()) for text, changed in pieces),
        "queries": outcome.get("queries"),
        "now": label(run, outcome.get("found_predicted")),
        "before": outcome.get("probability"),
        "after": outcome.get("found_probability"),
    }


def joined(text: Any) -> str:
    """A text, or both texts of a pair."""
    return " ‖ ".join(str(part) for part in text) if isinstance(text, list | tuple) else str(text)


def label(run: Run, number: Any) -> str:
    """A label's name."""
    names = run.result.get("labels") or []
    return str(names[number]) if isinstance(number, int) and 0 <= number < len(names) else str(number)


def difference(before: str, after: str) -> list[Piece]:
    """The second text in pieces, those marked that the first does not have.

    >>> difference("a good film", "a fine film")
    [('a ', False), ('fine', True), (' film', False)]
    """
    old, new = (re.findall(r"\w+|\s+|[^\w\s]", text) for text in (before, after))
    pieces = []
    for tag, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if start < end:
            pieces.append(("".join(new[start:end]), tag != "equal"))
    return pieces
