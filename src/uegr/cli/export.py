"""`uegr export`: the model of a finished run in another format, or on the model hub."""

from pathlib import Path
from typing import Annotated

import typer

from uegr.cli.options import Calibrate, Run, TrustCode
from uegr.errors import InputError
from uegr.terminal import echo


def export(
    run: Run,
    onnx: Annotated[bool, typer.Option("--onnx", help="Write one ONNX file, checked against the model.")] = False,
    hub: Annotated[
        str | None,
        typer.Option(
            help="Upload to this repository of the model hub, such as me/my-model; with --output, only write it."
        ),
    ] = None,
    public: Annotated[bool, typer.Option("--public", help="Make a new repository public; default: private.")] = False,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The ONNX file (default: RUN/model.onnx), or the folder for --hub."),
    ] = None,
    calibrate: Calibrate = False,
    trust_remote_code: TrustCode = False,
) -> None:
    """Write the model of a finished run in another format, or upload it to the model hub."""
    if onnx == (hub is not None):
        got = "both" if onnx else "neither"
        raise InputError(f"expected one of --onnx and --hub, got {got} (the run's folder has safetensors)")
    if hub is not None:
        if calibrate or trust_remote_code:
            raise InputError("--calibrate and --trust-remote-code are for --onnx; leave them out")
        export_to_hub(run, hub, output, public)
        return

    from uegr.runs.export import export_onnx

    if public:
        raise InputError("--public is for --hub; leave it out")
    made = export_onnx(run, output, calibrate=calibrate, trust_remote_code=trust_remote_code)
    echo(f"{made.path}  (probabilities differ by at most {made.difference:.1e} on {made.texts} texts)")


def export_to_hub(run: Path, name: str, output: Path | None, public: bool) -> None:
    """Upload, or write into a folder what would be uploaded."""
    from uegr.runs.hub import upload, write_hub_folder

    if output is None:
        echo(upload(run, name, private=not public))
        return
    for file in write_hub_folder(run, name, output):
        echo(str(output / file))
