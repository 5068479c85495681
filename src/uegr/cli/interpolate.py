"""`uegr interpolate`: a new run between a finished one and the pretrained model that it started from."""

from pathlib import Path
from typing import Annotated

import typer

from uegr.cli.options import Json, Run, TrustCode
from uegr.cli.printing import print_json


def interpolate(
    run: Run,
    weight: Annotated[float, typer.Option(help="The share of the finished weights, from 0 to 1.")] = 0.5,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder of the new run; default: RUN-WEIGHT.")
    ] = None,
    trust_remote_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Mix the finished weights of a run with the pretrained ones, and score them."""
    from uegr.report.terminal import show_scores
    from uegr.runs.interpolate import interpolate_run

    place = output or run.with_name(f"{run.resolve().name}-{weight:g}")
    result = interpolate_run(run, place, weight, trust_remote_code=trust_remote_code)
    if as_json:
        print_json(result.model_dump(mode="json", by_alias=True))
    else:
        show_scores(result, place)
