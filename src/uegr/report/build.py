"""From folders to files: read the runs, write the page and, if wanted, Markdown and CSV."""

import time
from collections.abc import Callable
from pathlib import Path

from uegr.errors import InputError
from uegr.files import refuse_special
from uegr.report import export
from uegr.report.groups import grouped
from uegr.report.page import render, write
from uegr.report.reading import Collection, collect
from uegr.report.verdict import verdict
from uegr.report.watch import watch

SHOWN = 5  # files that the terminal names
UNREAD = ("broken", "unreadable")  # states of what has a file that cannot be read
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
        refuse_other_formats(output)
        for path in (output, markdown, csv):
            if path is not None and path.is_dir():
                raise InputError(f"expected a file to write to, got the folder {path}; name a file in it")
            if path is not None:
                refuse_special(path)

    def build(self, *, refresh: int | None = None, may_be_empty: bool = False) -> str:
        """Write everything; return what was written and the verdict, in a line each."""
        started = time.perf_counter()
        found = collect(self.runs)
        if not may_be_empty:
            refuse_nothing(found, self.runs)
        groups = grouped(found.runs)
        write(self.output, render(found, title=self.title, refresh=refresh, groups=groups))
        if self.markdown is not None:
            write(self.markdown, export.markdown(found, groups, self.title))
        if self.csv is not None:
            write(self.csv, export.tidy_csv(groups))
        left = f", {len(found.left)} not counted" if found.left else ""
        written = f"{self.output}  ({len(found.runs)} runs{left}; {time.perf_counter() - started:.1f} s)"
        judged = verdict(groups)
        return "\n".join([*unread(found), written, *([judged.text] if judged else [])])

    def watch(self, say: Callable[[str], None]) -> None:
        """Build until interrupted; then once more, so that the final page does not reload itself."""
        try:
            watch(lambda: say(self.build(refresh=REFRESH, may_be_empty=True)), self.runs, REFRESH)
        except KeyboardInterrupt:
            say(self.build(may_be_empty=True))


def refuse_other_formats(output: Path) -> None:
    """A page has the ending of a page: in `report.md`, nobody looks for HTML."""
    flag = {".md": "--markdown", ".markdown": "--markdown", ".csv": "--csv"}.get(output.suffix.lower())
    if flag:
        raise InputError(
            f"expected a page such as {output.with_suffix('.html')}, got {output}; use {flag} {output} for this format"
        )


def refuse_nothing(found: Collection, paths: list[Path]) -> None:
    """A page needs a run, finished or not, that can be read."""
    where = ", ".join(str(path) for path in paths)
    if not (found.runs or found.left):
        raise InputError(f"expected runs below {where}, got none; train one with `uegr train` or `uegr benchmark`")
    if not found.runs and all(left.state in UNREAD for left in found.left):
        raise InputError(f"expected runs below {where} that can be read, got {found.left[0].reason}")


def unread(found: Collection) -> list[str]:
    """A line for each of the first files that could not be read, and the number of the others."""
    lines = [f"{left.folder}: {left.reason}" for left in found.left if left.state in UNREAD]
    more = f"and {len(lines) - SHOWN} more that are not readable; the page names all"
    return lines if len(lines) <= SHOWN else [*lines[:SHOWN], more]
