"""`uegr models fetch`: the weights of an alias."""

from typing import Annotated

import typer

from uegr.cli.completion import models as aliases
from uegr.terminal import echo

app = typer.Typer(no_args_is_help=True)


@app.callback()
def models() -> None:
    """Fetch the weights of an alias."""


@app.command()
def fetch(name: Annotated[str, typer.Argument(help="An alias (`uegr list models`).", autocompletion=aliases)]) -> None:
    """Download, check and convert the weights of an alias; they stay in the cache."""
    from uegr.models import fetch
    from uegr.models.card import card
    from uegr.training.callbacks import progress_bar

    card(name)  # raises for a wrong name, before a bar is shown
    with progress_bar() as bar:
        task = bar.add_task(name, total=None, note="")
        folder = fetch(name, lambda stage, step, steps: bar.update(task, completed=step, total=steps, note=stage))
    echo(str(folder))
