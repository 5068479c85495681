"""From folders to files: read the runs, write the page and, if wanted, Markdown and CSV."""

import time
from collections.abc import Callable
from pathlib import Path

from uegr.errors import InputError
from uegr.files import refuse_special
from uegr.report import export
from uegr.report.groups import grouped
from uegr.report.page import render, write
from uegr.report.reading import collect
from uegr.report.verdict import verdict
from uegr.report.watch import watch

REFRESH = 5  # seconds between checks of the files, and between reloads of the page


class Report:
    """What is read, and what is written from it."""

    def __init__(
        self,
        runs: list[Path],
        output: Path,
        markdown: Path | None = None,
        csv: Path | None = None,
        title: str | None = None,
    ) -> None:
        self.runs, self.output, self.markdown, self.csv, self.title = runs, output, markdown, csv, title
        for path in (output, markdown, csv):
            if path is not None and path.is_dir():
                raise InputError(f"expected a file to write to, got the folder {path}; name a file in it")
            if path is not None:
                refuse_special(path)

    def build(self, *, refresh: int | None = None, may_be_empty: bool = False) -> str:
        """Write everything; return what was written and the verdict, in a line each."""
        started = time.perf_counter()
        found = collect(self.runs)
        if not (found.runs or found.left or may_be_empty):
            where = ", ".join(str(path) for path in self.runs)
            raise InputError(f"expected runs below {where}, got none; train one with `uegr train` or `uegr benchmark`")
        groups = grouped(found.runs)
        write(self.output, render(found, title=self.title, refresh=refresh, groups=groups))
        if self.markdown is not None:
            write(self.markdown, export.markdown(found, groups, self.title))
        if self.csv is not None:
            write(self.csv, export.tidy_csv(groups))
        left = f", {len(found.left)} not counted" if found.left else ""
        written = f"{self.output}  ({len(found.runs)} runs{left}; {time.perf_counter() - started:.1f} s)"
        judged = verdict(groups)
        return f"{written}\n{judged.sentence}" if judged else written

    def watch(self, say: Callable[[str], None]) -> None:
        """Build until interrupted; then once more, so that the final page does not reload itself."""
        try:
            watch(lambda: say(self.build(refresh=REFRESH, may_be_empty=True)), self.runs, REFRESH)
        except KeyboardInterrupt:
            say(self.build(may_be_empty=True))
