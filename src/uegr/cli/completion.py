"""What the shell may complete: names of methods, models, data sets, attacks, grids, and folders of runs.

Nothing is imported for it: a shell asks at every press of a key. Names come from the cards' files, and from the two
literal tables by reading their source.
"""

import ast
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

ROOMS = Path(__file__).parents[1]
RESULT, CONFIG = "result.json", "config.yaml"
MOST, DEEPEST = 200, 3  # runs, and folders below the one that is typed
LISTED = ("methods", "models", "datasets", "attacks", "grids")


def methods() -> list[str]:
    """The methods of the table."""
    return keys(ROOMS / "methods" / "__init__.py", "METHODS")


def attacks() -> list[str]:
    """The attacks of the table."""
    return keys(ROOMS / "attacks" / "catalogue.py", "ATTACKS")


def models() -> list[str]:
    """The aliases."""
    return stems(ROOMS / "models" / "cards")


def datasets() -> list[str]:
    """The data sets that have a card."""
    return stems(ROOMS / "data" / "cards")


def grids() -> list[str]:
    """The grids that are part of the package."""
    from uegr.benchmark.named import grids

    return list(grids())


def listed() -> list[str]:
    """What `uegr list` can list."""
    return list(LISTED)


def runs(incomplete: str) -> list[str]:
    """Finished runs below the folder that is typed so far; `runs/f` looks in `runs`."""
    return below(incomplete, is_finished)


def unfinished_runs(incomplete: str) -> list[str]:
    """Runs that can be resumed, found as `runs` finds finished ones."""
    return below(incomplete, lambda place: not is_finished(place))


def is_finished(run: Path) -> bool:
    """Whether the run has its result."""
    return (run / RESULT).is_file()


def below(incomplete: str, wanted: Callable[[Path], bool]) -> list[str]:
    """The runs of some kind below the folder that is typed so far."""
    typed = Path(incomplete or ".")
    folder = typed if incomplete.endswith("/") or not incomplete else typed.parent
    return sorted(str(run) for run in islice(filter(wanted, found(folder, DEEPEST)), MOST))


def found(folder: Path, depth: int) -> Iterator[Path]:
    """The folders of runs, at most `depth` below `folder`; nothing inside a run, nothing hidden."""
    try:
        inside = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    except OSError:  # it may not be read, or is not there
        return
    for path in inside:
        if is_finished(path) or (path / CONFIG).is_file():
            yield path
        elif depth > 1:
            yield from found(path, depth - 1)


def stems(folder: Path) -> list[str]:
    """The names of the YAML files in a folder."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def keys(file: Path, table: str) -> list[str]:
    """The keys of a literal dictionary in a source file."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Dict) and ast.unparse(node.target) == table:
            return [ast.literal_eval(key) for key in node.value.keys if key is not None]
    raise LookupError(f"{file} has no dictionary {table}")
