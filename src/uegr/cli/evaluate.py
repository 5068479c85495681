"""`uegr evaluate`: measure a finished run."""

from typing import Annotated, Any

import typer

from uegr.cli.completion import datasets
from uegr.cli.groups import with_groups
from uegr.cli.options import FILES, LABELS, Device, Json, Quiet, Run, TrustCode, flags
from uegr.cli.printing import print_json
from uegr.errors import InputError


@with_groups(files=FILES, labels=LABELS)
def evaluate(
    run: Run,
    files: dict[str, Any],
    labels: dict[str, Any],
    dataset: Annotated[
        list[str] | None,
        typer.Option(help="Also score this data set, file or folder; repeatable.", autocompletion=datasets),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Measure everything that can be measured.")] = False,
    relative_radius: Annotated[
        list[float] | None,
        typer.Option(
            help="Also perturb within this radius, in mean norms of the model's word vectors; repeatable.", min=0
        ),
    ] = None,
    rows: Annotated[int | None, typer.Option(help="At most this many rows per data set; default: all.")] = None,
    device: Device = None,
    trust_remote_code: TrustCode = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure a finished run: clean, under perturbation, on other domains."""
    if (given := flags(files | labels)) and not dataset:
        raise InputError(f"{', '.join(given)} are for the files of --dataset; add it, or leave them out")

    from uegr.runs.evaluate import evaluate_run

    figures = evaluate_run(
        run,
        datasets=dataset or [],
        everything=everything,
        radii={"relative": relative_radius or []},
        rows=rows,
        quiet=quiet,
        device=device,
        trust_remote_code=trust_remote_code,
        **files,
        **labels,
    )
    if as_json:
        print_json({task: found.model_dump(mode="json") for task, found in figures.items()})
    else:
        from uegr.report.terminal import show_figures

        show_figures(figures)
