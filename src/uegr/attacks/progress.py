"""A bar with the successes so far."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from uegr.attacks.outcome import Outcome

Report = Callable[[Outcome], None]


@contextmanager
def reporting(total: int, done: Sequence[Outcome], shown: bool | None) -> Iterator[Report]:
    """Call the yielded function with each outcome; `shown` None draws only on a terminal."""
    if not (sys.stderr.isatty() if shown is None else shown):
        yield lambda outcome: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from uegr.console import Console

    flips = sum(outcome.status == "success" for outcome in done)
    columns = (TextColumn("attack"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[flips]} flipped"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("attack", total=total, completed=len(done), flips=flips)

        def report(outcome: Outcome) -> None:
            nonlocal flips
            flips += outcome.status == "success"
            bar.update(task, advance=1, flips=flips)

        yield report
