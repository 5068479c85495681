"""`uegr init`: write a configuration with every key."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from uegr.cli import completion
from uegr.errors import InputError
from uegr.terminal import echo


def init(
    file: Annotated[Path, typer.Argument(help="The YAML file to write.")] = Path("uegr.yaml"),
    method: Annotated[
        str | None,
        typer.Option(
            help="A method (`uegr list methods`); default: as in `uegr train`.", autocompletion=completion.methods
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option(help="An alias (`uegr list models`), a folder or a hub name.", autocompletion=completion.models),
    ] = "minilm",
    dataset: Annotated[
        str,
        typer.Option(help="A data set (`uegr list datasets`), a file or a folder.", autocompletion=completion.datasets),
    ] = "snippets",
) -> None:
    """Write a configuration that trains as it is, with every other key and its default in a comment."""
    from uegr.files import refuse_special, write_text
    from uegr.training.template import template

    refuse_special(file)
    if file.exists():
        raise InputError(f"{file} exists; name another file, or remove it first")
    write_text(file, template(method=method, model=model, dataset=dataset))
    echo(f"{file}; train it with: uegr train --config {shlex.quote(str(file))}")
