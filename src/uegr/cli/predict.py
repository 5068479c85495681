"""`uegr predict`: labels for new texts."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from uegr.cli.groups import with_groups
from uegr.cli.options import FILES, Run, Task, TrustCode, flags
from uegr.errors import InputError


@with_groups(files=FILES)
def predict(
    run: Run,
    files: dict[str, Any],
    source: Annotated[
        str | None, typer.Argument(help="A file, a folder, a data set, or - for lines on standard input.")
    ] = None,
    text: Annotated[list[str] | None, typer.Option(help="A text to classify; repeatable.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A file for the JSON lines; default: the terminal.")
    ] = None,
    split: Annotated[str | None, typer.Option(help="The split of a folder or data set; default: the only one.")] = None,
    task: Task = None,
    trust_remote_code: TrustCode = False,
) -> None:
    """Classify new texts with a finished run, one JSON line each."""
    if (source is None) == (not text):
        raise InputError("expected either a file to classify or --text, got both or neither")
    texts = sys.stdin.read().splitlines() if source == "-" else text or None
    if texts is not None and (given := flags(files)):
        raise InputError(f"{', '.join(given)} is for a file to classify; name the file, or leave it out")

    from uegr.runs.predict import predict_lines

    chosen: dict[str, Any] = {"split": split, "task": task, "trust_remote_code": trust_remote_code}
    predict_lines(run, source=None if texts is not None else source, texts=texts, output=output, **chosen, **files)
