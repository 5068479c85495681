"""`uegr export`: the model of a finished run in another format."""

from pathlib import Path
from typing import Annotated

import typer

from uegr.cli.options import Calibrate, Run, TrustCode
from uegr.errors import InputError
from uegr.terminal import echo


def export(
    run: Run,
    onnx: Annotated[bool, typer.Option("--onnx", help="Write one ONNX file, checked against the model.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file; default: RUN/model.onnx.")] = None,
    calibrate: Calibrate = False,
    trust_remote_code: TrustCode = False,
) -> None:
    """Write the model of a finished run in another format."""
    if not onnx:
        raise InputError("expected a format to export to, got none; use --onnx (the run's folder has safetensors)")
    from uegr.runs.export import export_onnx

    made = export_onnx(run, output, calibrate=calibrate, trust_remote_code=trust_remote_code)
    echo(f"{made.path}  (probabilities differ by at most {made.difference:.1e} on {made.texts} texts)")
