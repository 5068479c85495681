"""`uegr init`: write a configuration with every key."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from uegr.cli import completion
from uegr.cli.groups import with_groups
from uegr.cli.options import FILES, LABELS
from uegr.errors import InputError
from uegr.terminal import echo

ENDINGS = (".yaml", ".yml")


@with_groups(files=FILES, labels=LABELS)
def init(
    files: dict[str, Any],
    labels: dict[str, Any],
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
    from uegr.files import write_text
    from uegr.training.template import template

    check_file(file)
    reading = files | labels
    text = template(method=method, model=model, dataset=dataset, reading=reading)
    check_dataset(dataset, reading)
    write_text(file, text)
    echo(f"{file}; train it with: uegr train --config {shlex.quote(str(file))}")


def check_file(file: Path) -> None:
    """A new YAML file, by its name."""
    from uegr.files import refuse_special

    refuse_special(file)
    if file.suffix.lower() not in ENDINGS:
        raise InputError(f"expected a name that ends with {' or '.join(ENDINGS)}, got {file}; use {file}.yaml")
    if file.exists():
        raise InputError(f"{file} exists; name another file, or remove it first")


def check_dataset(name: str, reading: dict[str, Any]) -> None:
    """What `uegr train` would refuse to read is refused here; nothing is downloaded."""
    from uegr.data.load import load
    from uegr.data.resolve import is_elsewhere
    from uegr.runs.prepare import parts_of

    for part in parts_of("data set", name):
        if not is_elsewhere(part):
            load(part, labelled=True, **reading)
