"""`uegr playground`: try finished runs side by side, on a local page."""

from pathlib import Path
from typing import Annotated

import typer

from uegr.cli.collector import usual
from uegr.cli.completion import runs as finished_runs
from uegr.cli.options import Device, Task, TrustCode
from uegr.errors import Terminated
from uegr.terminal import echo


def playground(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs.", autocompletion=finished_runs)],
    port: Annotated[int, typer.Option(help="The port on this machine; 0: any free one.", min=0, max=65_535)] = 7860,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in the browser.")] = True,
    task: Task = None,
    surface: Annotated[
        str,
        typer.Option(
            help="For word attacks: wordnet, counterfitted, counterfitted-content, cilin or a file of substitutes."
        ),
    ] = "default",
    device: Device = None,
    trust_remote_code: TrustCode = False,
) -> None:
    """Try finished runs side by side on a local page: type, attack, perturb."""
    from uegr.playground.server import check_gradio, listening, serve

    check_gradio()

    from uegr.playground.opened import open_models
    from uegr.playground.play import Playground

    with listening(port) as place:
        models = open_models(runs, task=task, trust_remote_code=trust_remote_code, device=device)
        try:
            with usual():  # a server runs for long
                serve(Playground(models, surface), place, echo, browser)
        except Terminated:
            raise
        except KeyboardInterrupt:
            echo("the playground has ended")
