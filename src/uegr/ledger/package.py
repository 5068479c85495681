"""The ledger that is part of the package: the wheel has the repository's folder `results` as `uegr/results`."""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]
FOLDERS = (PACKAGE / "results", PACKAGE.parents[1] / "results")


def studies(ledger: Path | None = None) -> list[Path]:
    """The folders of the studies, of the package's ledger or of another one; none where no cell has finished."""
    folders = FOLDERS if ledger is None else (ledger,)
    root = next((folder for folder in folders if folder.is_dir()), None)
    return sorted(path for path in root.iterdir() if path.is_dir()) if root else []
