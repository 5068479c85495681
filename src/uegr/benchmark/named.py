"""The grids that are part of the package, by name: `uegr benchmark quick`.

The wheel has the YAML files of the repository's folder `benchmarks` as `uegr/grids`; a clone has the folder itself.
"""

from pathlib import Path

from uegr.errors import InputError, nearest

PACKAGE = Path(__file__).parents[1]
FOLDERS = (PACKAGE / "grids", PACKAGE.parents[1] / "benchmarks")
OWN = ("", "studies/")  # folders of grids; the others hold settings and scripts


def grids() -> dict[str, Path]:
    """The file of every grid by its name.

    >>> "quick" in grids(), "studies/uegr_scope" in grids()
    (True, True)
    """
    root = next((folder for folder in FOLDERS if folder.is_dir()), None)
    found = [] if root is None else [(own, path) for own in OWN for path in sorted((root / own).glob("*.yaml"))]
    return {f"{own}{path.stem}": path for own, path in found}


def grid_file(given: Path) -> Path:
    """A local file, else the grid of this name.

    >>> grid_file(Path("quick")).name
    'quick.yaml'
    """
    if given.is_file():
        return given
    if given.suffix:  # a file's name
        raise InputError(f"no file {given}; check the path, or see `uegr list grids`")
    known = grids()
    if given.as_posix() in known:
        return known[given.as_posix()]
    got = f"the folder {given}" if given.is_dir() else given
    raise InputError(
        f"expected the file or the name of a grid, got {got}; {nearest(given.as_posix(), known, 'uegr list grids')}"
    )
