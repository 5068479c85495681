"""A grid in the terminal: the plan, the table while it runs, and how it ended. Everything is read from the folders."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from uegr.benchmark.cells import failure, is_complete, result_of
from uegr.benchmark.estimates import estimates, in_all
from uegr.benchmark.plan import Cell
from uegr.benchmark.work import WARNING, Work, journal
from uegr.console import Console
from uegr.result import Result

COLOURS = {"done": "green", "failed": "red", "running": "yellow", "trained": "cyan", "missing": "dim"}
SHOWN = 20  # cells in the live table


class Board:
    """The states of the cells; one that is done, or `committed` to a ledger, is not checked again."""

    def __init__(self, work: Work, cells: Sequence[Cell], committed: Mapping[str, Result] | None = None) -> None:
        self.work, self.cells, self.committed = work, list(cells), dict(committed or {})
        self.rows: dict[str, dict[str, Any]] = {}

    @property
    def open(self) -> list[Cell]:
        """The cells that no ledger has."""
        return [cell for cell in self.cells if cell.name not in self.committed]

    def refresh(self) -> list[dict[str, Any]]:
        """One row per cell: its names, state, seconds, score and error."""
        entries = (entry for entry in journal(self.work.root) if not entry["event"].startswith(WARNING))
        last = {entry["cell"]: entry for entry in entries}
        for cell in self.cells:
            if self.rows.get(cell.name, {}).get("state") != "done":
                self.rows[cell.name] = self.row(cell, last.get(cell.name))
        return [self.rows[cell.name] for cell in self.cells]

    def row(self, cell: Cell, last: dict[str, Any] | None) -> dict[str, Any]:
        place = self.work.folder(cell)
        result = self.committed.get(cell.name) or result_of(self.work, cell)
        row = {"cell": cell.name, "folder": str(place), **cell.called, "varied": cell.varied, "title": cell.title}
        row["start"] = cell.start and {"cell": cell.start.name, "label": cell.start.label}
        row |= {"state": self.state(cell, last, result is not None), "error": None, "score": score(result)}
        row["seconds"] = result.cell.seconds if result and result.cell else None
        row["training_seconds"] = result.training.seconds if result else None
        if row["state"] == "failed":
            row["error"] = (failure(self.work, cell) or {}).get("error")
        if row["state"] == "running" and last is not None:
            row |= {"step": last["event"], "seconds": round(time.time() - last["time"])}
        return row

    def state(self, cell: Cell, last: dict[str, Any] | None, trained: bool) -> str:
        if cell.name in self.committed or is_complete(self.work, cell):
            return "done"
        if last is not None and last["event"] not in ("done", "failed") and self.work.is_held(cell):
            return "running"
        if failure(self.work, cell) is not None:
            return "failed"
        return "trained" if trained else "missing"


def score(result: Result | None) -> str:
    """The first metric of each task, on its test split or else on another."""
    found = []
    for task in result.tasks.values() if result else ():
        split = "test" if "test" in task.scores else next(iter(task.scores), "")
        for metric, figure in list(task.scores.get(split, {}).items())[:1]:
            found.append(f"{split} {metric} {figure.value:.4f}")
    return ", ".join(found)


def spoken(seconds: float) -> str:
    """
    >>> spoken(42), spoken(600), spoken(9000)
    ('42 s', '10 min', '2.5 h')
    """
    return (
        f"{seconds:.0f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )


def table(rows: Sequence[dict[str, Any]], expected: dict[str, float] | None = None) -> Table:
    """One line per cell."""
    grid = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("data set", "model", "method", "varied", "seed", "state", "time", "score or error"):
        grid.add_column(heading, justify="right" if heading in ("seed", "time") else "left", overflow="fold")
    for row in rows:
        varied = " ".join(f"{key.partition('.')[2]}={value}" for key, value in row["varied"].items())
        varied = f"{varied} from {row['start']['label']}".strip() if row["start"] else varied
        seconds = row["seconds"]
        guess = (expected or {}).get(row["cell"])
        clock = spoken(seconds) if seconds is not None else f"~{spoken(guess)}" if guess is not None else ""
        state = Text(row.get("step") or row["state"], style=COLOURS[row["state"]])
        names = (Text(str(row[key])) for key in ("dataset", "model", "method"))
        grid.add_row(*names, Text(varied), str(row["seed"]), state, clock, Text(row["error"] or row["score"]))
    return grid


def summary(
    rows: Sequence[dict[str, Any]], expected: dict[str, float], workers: int = 1, trainings: float | None = None
) -> str:
    """How many cells are in which state, and how long the rest may take: `trainings` with vanilla, or seconds."""
    counts = Counter(row["state"] for row in rows)
    text = f"{len(rows)} cells: " + ", ".join(f"{counts[state]} {state}" for state in COLOURS if counts[state])
    left = len(rows) - counts["done"]
    if not left:
        return text
    if not expected:
        cost = "" if trainings is None else f"; as much to train as {trainings:.1f} cells with vanilla"
        return f"{text}{cost}; time unknown until a cell has finished"
    many = f" on {workers} workers" if workers > 1 else ""
    seconds = sum(expected.values()) / max(workers, 1)  # 0: this process alone
    return f"{text}; about {spoken(seconds)} left{many}, estimated from finished cells"


def picture(board: Board, workers: int) -> Group:
    """What the live display shows: what runs, what failed, what ended last, what comes next; never more than fits."""
    rows = board.refresh()
    expected = estimates(rows, board.cells)
    order = ("running", "failed", "trained", "missing", "done")
    first = sorted(rows, key=lambda row: order.index(row["state"]))[:SHOWN]
    kept = [row for row in rows if any(row is one for one in first)]
    return Group(table(kept, expected), Text(summary(rows, expected, workers, in_all(rows, board.cells))))


@contextmanager
def watching(board: Board, quiet: bool, workers: int = 1) -> Iterator[Console]:
    """A table on standard error while the grid runs; where that is not a terminal, one line per cell."""
    console = Console(stderr=True, quiet=quiet)
    live = Live(console=console, get_renderable=lambda: picture(board, workers), refresh_per_second=1)
    with live if console.is_terminal and not quiet else nullcontext():
        yield console


def report_line(board: Board, cell: Cell, console: Console) -> None:
    """One line for a cell that has ended."""
    for entry in journal(board.work.root):
        if entry["cell"] == cell.name and entry["event"].startswith(WARNING) and entry["time"] >= board.work.since:
            console.print(Text(f"{cell.title}: {entry['event']}"), soft_wrap=True)
    if console.is_terminal:
        return
    row = next(row for row in board.refresh() if row["cell"] == cell.name)
    clock = "" if row["seconds"] is None else f" ({spoken(row['seconds'])})"
    console.print(Text(f"{row['state']}: {cell.title}{clock}  {row['error'] or row['score']}"), soft_wrap=True)
