"""`uegr report RUNS...`: the page, and the same figures as Markdown and CSV."""

import time
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from uegr.errors import InputError
from uegr.report import export
from uegr.report.groups import grouped
from uegr.report.page import render, write
from uegr.report.reading import collect
from uegr.report.watch import watch as watched

REFRESH = 5  # seconds between looks at the files, and between reloads of the page


def report(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs or grids; searched through.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page.")] = Path("report.html"),
    markdown: Annotated[Path | None, typer.Option(help="Also write tables as Markdown to this file.")] = None,
    csv: Annotated[Path | None, typer.Option(help="Also write one row a figure as CSV to this file.")] = None,
    title: Annotated[str | None, typer.Option(help="The page's heading.")] = None,
    watch: Annotated[bool, typer.Option("--watch", help="Write again whenever a result changes.")] = False,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Compare runs on one page that needs no network."""
    made = Report(runs, output, markdown, csv, title)
    said = made.build(refresh=REFRESH if watch else None, may_be_empty=watch)
    typer.echo(said)
    if show:
        webbrowser.open(output.resolve().as_uri())
    if watch:
        made.watch()


class Report:
    """What is read, and what is written from it."""

    def __init__(self, runs: list[Path], output: Path, markdown: Path | None, csv: Path | None, title: str | None):
        self.runs, self.output, self.markdown, self.csv, self.title = runs, output, markdown, csv, title
        for path in (output, markdown, csv):
            if path is not None and path.is_dir():
                raise InputError(f"expected a file to write to, got the folder {path}; name a file in it")

    def build(self, *, refresh: int | None = None, may_be_empty: bool = False) -> str:
        """Write everything; what was made, in a line."""
        started = time.perf_counter()
        found = collect(self.runs)
        if not (found.runs or found.left or may_be_empty):
            where = ", ".join(str(path) for path in self.runs)
            raise InputError(f"expected runs below {where}, got none; make one with `uegr train` or `uegr benchmark`")
        groups = grouped(found.runs)
        write(self.output, render(found, title=self.title, refresh=refresh, groups=groups))
        if self.markdown is not None:
            write(self.markdown, export.markdown(found, groups, self.title))
        if self.csv is not None:
            write(self.csv, export.tidy_csv(groups))
        left = f", {len(found.left)} not counted" if found.left else ""
        return f"{self.output}  ({len(found.runs)} runs{left}; {time.perf_counter() - started:.1f} s)"

    def watch(self) -> None:
        """Until interrupted; then once more, so that the page that stays does not reload itself."""
        try:
            watched(lambda: typer.echo(self.build(refresh=REFRESH, may_be_empty=True)), self.runs, REFRESH)
        except KeyboardInterrupt:
            typer.echo(self.build(may_be_empty=True))
