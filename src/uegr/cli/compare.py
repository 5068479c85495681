"""`uegr compare`: two finished runs on the same rows."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uegr.cli.completion import datasets, runs
from uegr.cli.groups import with_groups
from uegr.cli.options import FILES, LABELS, Json, Task, TrustCode, flags
from uegr.cli.printing import print_json
from uegr.errors import InputError
from uegr.terminal import echo

if TYPE_CHECKING:
    from rich.table import Table

    from uegr.result import Training
    from uegr.runs.compare import Compared
    from uegr.statistics import Figure
    from uegr.statistics.pairs import Pair

NAME = 8  # letters of a run's name per line


@with_groups(files=FILES, labels=LABELS)
def compare(
    first: Annotated[Path, typer.Argument(help="The folder of a finished run.", autocompletion=runs)],
    second: Annotated[Path, typer.Argument(help="Another one.", autocompletion=runs)],
    files: dict[str, Any],
    labels: dict[str, Any],
    dataset: Annotated[
        str | None,
        typer.Option(
            help="A data set, a file or a folder whose rows both answer; default: the held-out rows of their own.",
            autocompletion=datasets,
        ),
    ] = None,
    task: Task = None,
    rows: Annotated[int | None, typer.Option(help="At most this many rows; default: all.", min=1)] = None,
    trust_remote_code: TrustCode = False,
    as_json: Json = False,
) -> None:
    """Compare two finished runs: both models answer the same rows."""
    if (given := flags(files | labels)) and not dataset:
        raise InputError(f"{', '.join(given)} are for the files of --dataset; add it, or leave them out")

    from uegr.report.apart import measured_apart
    from uegr.runs.compare import compare_runs
    from uegr.statistics.pairs import adjusted

    chosen: dict[str, Any] = {"dataset": dataset, "task": task, "rows": rows, "trust_remote_code": trust_remote_code}
    found = compare_runs(first, second, **chosen, **files, **labels)
    apart = [] if dataset else measured_apart(found.first.about, found.second.about)
    pairs = adjusted([*found.pairs, *apart])
    if as_json:
        print_json(as_plain(found, pairs, first, second))
    else:
        print_pairs(found, pairs, str(first), str(second))


def as_plain(found: "Compared", pairs: "list[Pair]", first: Path, second: Path) -> dict[str, Any]:
    """The comparison as JSON."""
    measures = [
        {
            "measure": pair.label,
            "first": pair.first.to_json(),
            "second": pair.second.to_json(),
            "difference": pair.difference.to_json(),
            "p": pair.p,
            "by_row": pair.by_row,
            "better": {1: "second", -1: "first", 0: None}[pair.favours],
        }
        for pair in pairs
    ]
    about = {"first": str(first), "second": str(second), "data": found.data, "rows": found.rows}
    return about | {"measures": measures, "left_out": found.left_out, "unlike": unlike(found)}


def unlike(found: "Compared") -> list[str]:
    """The settings besides the method's in which the runs differ, first and second."""
    from uegr.report.settings import leaves, short, spoken

    configs = [task.run.result.config for task in (found.first, found.second)]
    one, other = (
        {"model": config.model.name, "seed": config.seed} | dict(leaves(config.model_dump())) for config in configs
    )
    paths = [path for path in {**one, **other} if not path.startswith(("method.", "dataset.name"))]
    both = [(path, one.get(path), other.get(path)) for path in paths]
    return [f"{short(path)} {spoken(a)} and {spoken(b)}" for path, a, b in both if a != b]


def table_of(title: str, pairs: "list[Pair]", names: tuple[str, str]) -> "Table":
    """One line per measure. Names give way in a narrow terminal, figures never do."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left", box=None, pad_edge=False, collapse_padding=True)
    table.add_column("", overflow="fold")
    for name in names:
        table.add_column(Text(name), justify="right", overflow="fold", max_width=NAME)
    for column in ("difference (95%)", "p", "n"):
        table.add_column(column, justify="right", no_wrap=True)
    for pair in pairs:
        p = "-" if pair.p is None else "<0.001" if pair.p < 0.001 else f"{pair.p:.3f}"
        figures = (shown(pair.first, pair), shown(pair.second, pair), moved(pair))
        table.add_row(Text(pair.label + ("" if pair.by_row else " *")), *figures, p, counted(pair.first.n))
    return table


def print_pairs(found: "Compared", pairs: "list[Pair]", first: str, second: str) -> None:
    """A table, what was left out, the cost of both, and one sentence."""
    from uegr.console import Console

    title = f"{found.data}: {found.rows:,} row{'s' * (found.rows != 1)}, the same for both"
    Console().print(table_of(title, pairs, short_names(first, second)))
    if (tested := sum(pair.p is not None for pair in pairs)) > 1:
        echo(f"p: after Holm's adjustment for {tested} measures")
    if not all(pair.by_row for pair in pairs):
        echo("* measured for each run by itself, not row by row: the interval is too wide rather than too narrow")
    if any(pair.by_row and not pair.difference.bounded for pair in pairs):
        echo("no interval: every draw of these rows gives the same difference; more rows may tell")
    for name, why in found.left_out.items():
        echo(f"left out: {name}: {why}")
    if differ := unlike(found):
        echo(f"not only the method differs: {'; '.join(differ)}")
    for name, task in ((first, found.first), (second, found.second)):
        echo(f"{name}: {price(task.run.result.training)}")
    echo(sentence(pairs, first, second))


def price(spent: "Training") -> str:
    """Passes, which are counted, and times, of which only the wall's depends on what else ran."""
    forward, backward = spent.passes
    times = f"{spent.processor_seconds:.0f} s of processor time, {spent.seconds:.0f} s of wall time"
    return f"{forward:g} forward and {backward:g} backward passes per step, {times}"


def short_names(first: str, second: str) -> tuple[str, str]:
    """The folders' own names, unless both have the same.

    >>> short_names("runs/a", "runs/b"), short_names("a/run", "b/run")
    (('a', 'b'), ('a/run', 'b/run'))
    """
    one, other = Path(first).resolve().name, Path(second).resolve().name
    return (first, second) if one == other else (one, other)


def shown(figure: "Figure", pair: "Pair") -> str:
    """A figure in percent, or as it is."""
    return f"{100 * figure.value:.1f}" if pair.share else f"{figure.value:.4g}"


def counted(n: int) -> str:
    """How many rows, or weights, a figure rests on.

    >>> counted(1000), counted(17_389_824)
    ('1,000', '17.4M')
    """
    return f"{n:,}" if n < 1_000_000 else f"{n / 1e6:.1f}M"


def moved(pair: "Pair") -> str:
    """The difference with its interval, in points or as it is."""
    found, scale, digits = pair.difference, 100 if pair.share else 1, 1 if pair.share else 4
    value, low, high = (f"{scale * end:+.{digits}f}" for end in (found.value, found.low, found.high))
    return f"{value} ({low} to {high})" if found.bounded else f"{value} (no interval)"


def sentence(pairs: "list[Pair]", first: str, second: str) -> str:
    """Which run is better at what, where a difference is shown."""
    better = {name: [pair.label for pair in pairs if pair.favours == sign] for name, sign in ((first, -1), (second, 1))}
    parts = [f"{name} is better: {', '.join(labels)}" for name, labels in better.items() if labels]
    found = "; ".join(parts) if parts else "no difference shown"
    return f"{found}. Two runs only: another seed may give another result."
