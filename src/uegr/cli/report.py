"""`uegr report RUNS...`: the page, and the same figures as Markdown and CSV."""

from pathlib import Path
from typing import Annotated

import typer

from uegr.errors import InputError
from uegr.terminal import echo


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs or grids; also searched for runs below them.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
    markdown: Annotated[Path | None, typer.Option(help="Also write the tables to this file, as Markdown.")] = None,
    csv: Annotated[
        Path | None, typer.Option(help="Also write the figures to this file, as CSV with one row per figure.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="The page's heading.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Write the page again whenever a result changes.")] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Compare runs on one page that needs no network."""
    for path in filter(None, (output, markdown, csv)):
        check_place(path)

    from uegr.report.build import REFRESH, Report

    made = Report(runs, output, markdown, csv, title)
    echo(made.build(refresh=REFRESH if watch else None, may_be_empty=watch))
    if show:
        import webbrowser

        webbrowser.open(output.resolve().as_uri())
    if watch:
        made.watch(echo)


def check_place(path: Path) -> None:
    """One new folder for a file is made; several are more likely a misspelt path."""
    above = path.absolute().parent.parent
    if not above.is_dir():
        raise InputError(f"no folder {above} for {path}; check the path, or make the folder first")
