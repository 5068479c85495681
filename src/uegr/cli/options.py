"""The options that several commands share."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from uegr.cli.completion import runs
from uegr.cli.groups import Group

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Show no progress bars.")]
Run = Annotated[Path, typer.Argument(help="The folder of a finished run.", autocompletion=runs)]
AllowCode = Annotated[
    bool,
    typer.Option("--allow-code", help="Let the file run code: module:function as a method, model.trust_remote_code."),
]
TrustCode = Annotated[
    bool, typer.Option("--trust-remote-code", help="Run the Python code that comes with the model. Read it first.")
]
Calibrate = Annotated[
    bool, typer.Option("--calibrate", help="Divide the logits by the temperature that training fitted.")
]


class DeviceName(StrEnum):
    cpu = "cpu"
    cuda = "cuda"
    mps = "mps"


Device = Annotated[
    DeviceName | None, typer.Option(help="Where the model computes; default: cuda if there is one, else cpu.")
]
Task = Annotated[str | None, typer.Option(help="The task, where the run has several; default: the only one.")]


class Quoting(StrEnum):
    standard = "standard"
    none = "none"


class Kind(StrEnum):
    classification = "classification"
    regression = "regression"


def file_options(
    text_column: Annotated[str | None, typer.Option(help="The column of the text; default: detected.")] = None,
    pair_column: Annotated[
        str | None, typer.Option(help="The column of the second text of a pair; default: detected.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="The character between the fields of a CSV file, or tab; default: detected.")
    ] = None,
    quoting: Annotated[
        Quoting | None, typer.Option(help="none if quotes are ordinary characters; default: detected.")
    ] = None,
    encoding: Annotated[
        str | None, typer.Option(help="Such as utf-16, cp1252 or gb18030; default: detected, else UTF-8.")
    ] = None,
    paper_split: Annotated[
        bool, typer.Option("--paper-split", help="Use the split of the papers, if the data set has one.")
    ] = False,
) -> dict[str, Any]:
    """How a file is read, as `uegr.data.load` takes it; what is not given is left out."""
    given = {
        "text_column": text_column,
        "pair_column": pair_column,
        "delimiter": {"\\t": "\t", "tab": "\t"}.get(delimiter or "", delimiter),
        "quoting": quoting and quoting.value,
        "encoding": encoding,
        "paper_split": paper_split or None,
    }
    return {key: value for key, value in given.items() if value is not None}


def label_options(
    label_column: Annotated[str | None, typer.Option(help="The column of the label; default: detected.")] = None,
    kind: Annotated[
        Kind | None,
        typer.Option(help="Whether labels are names of classes or numbers to predict; default: detected."),
    ] = None,
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Leave out rows that have no label.")] = False,
) -> dict[str, Any]:
    """How labels are read, as `uegr.data.load` takes it; what is not given is left out."""
    given = {"label_column": label_column, "kind": kind and kind.value, "drop_missing": drop_missing or None}
    return {key: value for key, value in given.items() if value is not None}


FILES = Group("Reading files", file_options)
LABELS = Group("Reading files", label_options)


def flags(reading: dict[str, Any]) -> list[str]:
    """The flags that were given, as they are typed.

    >>> flags({"text_column": "review", "kind": "regression"})
    ['--text-column', '--kind']
    """
    return [f"--{option.replace('_', '-')}" for option in reading]
