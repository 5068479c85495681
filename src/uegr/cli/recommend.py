"""`uegr recommend`: rows, model and cost limit in, method and settings out, with the evidence."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uegr.cli import completion
from uegr.cli.listings import methods
from uegr.cli.options import Json
from uegr.cli.printing import print_json
from uegr.errors import InputError
from uegr.terminal import echo

if TYPE_CHECKING:
    from uegr.report.recommendation import Candidate, Recommendation


def recommend(
    rows: Annotated[int, typer.Option(help="The rows to train on.", min=1)],
    model: Annotated[
        str,
        typer.Option(
            help="An alias (`uegr list models`), a folder or a hub name; other names than aliases count as pretrained.",
            autocompletion=completion.models,
        ),
    ] = "minilm",
    max_cost: Annotated[
        float | None, typer.Option(help="At most this many times the passes of vanilla; default: no limit.", min=1)
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option(help="A folder of studies, as `uegr benchmark --ledger` writes; default: the package's."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Recommend a method and its settings, with the evidence from the ledger of the studies."""
    if ledger is not None and not ledger.is_dir():
        raise InputError(
            f"expected a folder of studies, got {ledger}: no such folder; leave out --ledger for the package's own"
        )

    from uegr.ledger.package import studies
    from uegr.models.card import check_name, from_scratch
    from uegr.report.recommendation import Question, read_studies, recommendation

    check_name(model)
    groups = read_studies(studies(ledger))
    if ledger is not None and not groups:
        raise InputError(
            f"expected a folder of studies, got {ledger}, which has no study with results; name the folder that "
            "`uegr benchmark --ledger` wrote, or leave out --ledger for the package's own"
        )
    found = recommendation(groups, Question(model, rows, max_cost), from_scratch)
    if as_json:
        print_json(as_plain(found))
    else:
        print_answer(found)


def chosen_settings(found: "Recommendation") -> dict[str, Any]:
    """The settings of the recommended method; none for vanilla without evidence."""
    from uegr.report.recommendation import settings

    defaults: dict[str, Any] = next((one["options"] for one in methods() if one["name"] == found.method), {})
    return settings(found.chosen, defaults) if found.chosen else {}


def command(found: "Recommendation") -> str:
    """What to type; DATA stands for the own data set."""
    words = ["uegr", "train", "--method", found.method, "--model", found.question.model, "--dataset", "DATA"]
    for path, value in chosen_settings(found).items():
        if is_slow(path, value):
            continue
        section, _, key = path.partition(".")
        words += [f"--{key.replace('_', '-')}", typed(value)] if section == "training" and flag(key) else []
        words += ["--set", f"{path}={typed(value)}"] if section == "method" or not flag(key) else []
    return shlex.join(words)


def is_slow(path: str, value: Any) -> bool:
    """Whether a setting needs instructions that this processor does not have."""
    from uegr.doctor import bf16_flags

    return (path, value) == ("training.precision", "bf16") and bf16_flags() == []


def notes(found: "Recommendation") -> list[str]:
    """What a reader should know of the command and of the evidence."""
    from uegr.models.card import from_scratch
    from uegr.report.recommendation import caveats

    kind = "trained from scratch" if from_scratch(found.question.model) else "pretrained"
    slow = any(is_slow(*setting) for setting in chosen_settings(found).items())
    without = "The study trained in bf16; that is left out here, since this processor has no bf16 instructions."
    return [*([without] if slow else []), *caveats(found, kind)]


def flag(key: str) -> bool:
    """Whether a setting of the training has a flag of its own."""
    from uegr.report.recommendation import TRAINING

    return key in TRAINING


def typed(value: Any) -> str:
    """A value as `--set` takes it.

    >>> typed(True), typed([0.1, 0.3]), typed(3.0), typed("words")
    ('true', '[0.1,0.3]', '3', 'words')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{','.join(map(typed, value))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def as_plain(found: "Recommendation") -> dict[str, Any]:
    """The answer and its evidence as JSON; gains in points."""
    from uegr.report.recommendation import sentence

    asked = found.question
    return {
        "question": {"model": asked.model, "rows": asked.rows, "max_cost": asked.limit},
        "method": found.method,
        "shown": found.chosen is not None,
        "sentence": sentence(found),
        "settings": chosen_settings(found),
        "command": command(found),
        "notes": notes(found),
        "evidence": {
            "studies": found.studies,
            "datasets": found.datasets,
            "models": found.models,
            "rows": found.rows,
            "methods": [as_line(one) for one in found.candidates],
        },
        "rivals": [
            {"method": one.name, "cost": one.cost, "robust": one.robust.figure.to_json(), "words": one.robust.words}
            for one in found.rivals
        ],
    }


def as_line(one: "Candidate") -> dict[str, Any]:
    """One method of the evidence."""
    gains = {"clean": one.clean, "robust": one.robust}
    row = one.ranked
    known = {"method": row.name, "cost": row.cost, "seeds": row.seeds, "datasets": one.robust.of}
    told = {key: {**gain.figure.to_json(), "words": gain.words} for key, gain in gains.items()}
    return {**known, **told, "doubts": one.doubts, "not_recommended": one.refusals}


def print_answer(found: "Recommendation") -> None:
    """The answer, the command, and the evidence as a table."""
    from uegr.report.recommendation import basis, refused, sentence

    echo(sentence(found))
    echo(f"  {command(found)}")
    echo(f"Evidence: {basis(found)}.")
    for note in notes(found):
        echo(note)
    if found.candidates:
        print_evidence(found.candidates)
    if found.chosen:
        clean, robust = found.chosen.clean.words, found.chosen.robust.words
        echo(f"{found.chosen.ranked.name} against vanilla: robust: {robust}; clean: {clean}.")
    for rival in found.rivals:
        words = f"{rival.robust.text} points, {rival.robust.words}"
        echo(f"Robust score against {rival.name} ({rival.cost:.1f} ×): {words}.")
    for reason, names in refused(found).items():
        echo(f"Not recommended ({reason}): {'; '.join(names)}.")


def print_evidence(found: "list[Candidate]") -> None:
    """One line per method: gains over vanilla in points with 95% intervals, and the cost."""
    from rich.table import Table
    from rich.text import Text

    from uegr.console import Console

    table = Table(box=None, header_style="bold", pad_edge=False)
    table.add_column("gain over vanilla, points")
    for title in ("clean (95%)", "robust (95%)", "passes"):
        table.add_column(title, justify="right", no_wrap=True)
    for one in found:
        table.add_row(*map(Text, (one.ranked.name, one.clean.text, one.robust.text, one.ranked.cost_text)))
    Console().print(table)
