"""`uegr predict`: labels for new texts."""

import sys
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer

from uegr.cli.groups import with_groups
from uegr.cli.options import FILES, Calibrate, Device, Run, Task, TrustCode, flags
from uegr.errors import InputError


@with_groups(files=FILES)
def predict(
    run: Run,
    files: dict[str, Any],
    source: Annotated[
        str | None, typer.Argument(help="A file, a folder, a data set, or - for lines on standard input.")
    ] = None,
    text: Annotated[list[str] | None, typer.Option(help="A text to classify; repeatable.")] = None,
    pair: Annotated[
        list[str] | None, typer.Option(help="The second text of a pair, for each --text in turn; repeatable.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A .csv, .tsv, .jsonl or .parquet file; default: the terminal."),
    ] = None,
    split: Annotated[str | None, typer.Option(help="The split of a folder or data set; default: the only one.")] = None,
    task: Task = None,
    calibrate: Calibrate = False,
    device: Device = None,
    trust_remote_code: TrustCode = False,
) -> None:
    """Classify new texts with a finished run; the rows of a file keep all their columns."""
    if pair and not text:
        raise InputError("expected --text for each --pair, got none; give the first text of the pair with --text")
    if source is None and not text:
        raise InputError("expected a file to classify or --text, got neither; name a file, or use --text 'a fine film'")
    if source is not None and text:
        raise InputError("expected a file to classify or --text, got both; leave one of them out")
    if source is not None and " " in source and not Path(source).exists():
        raise InputError(f"expected a file to classify, got a text; use --text {quote(source)}")
    texts = sys.stdin.read().splitlines() if source == "-" else paired(text, pair) if text or pair else None
    if texts is not None and (given := flags(files)):
        raise InputError(f"{', '.join(given)} is for a file to classify; name the file, or leave it out")

    from uegr.runs.predict import predict_lines

    chosen: dict[str, Any] = {"split": split, "task": task, "calibrate": calibrate}
    chosen |= {"trust_remote_code": trust_remote_code, "device": device}
    predict_lines(run, source=None if texts is not None else source, texts=texts, output=output, **chosen, **files)


def paired(texts: list[str] | None, pairs: list[str] | None) -> list[Any]:
    """The texts, each with its second one where there are any.

    >>> paired(["a"], None), paired(["a"], ["b"])
    (['a'], [('a', 'b')])
    """
    if pairs and len(pairs) != len(texts or []):
        raise InputError(f"expected one --pair for each --text, got {len(texts or [])} and {len(pairs)}")
    return list(zip(texts or [], pairs, strict=True)) if pairs else list(texts or [])
