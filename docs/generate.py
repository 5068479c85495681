"""Write docs/methods/*.md and docs/api.md from docstrings, signatures, declared passes and measured costs, and the
tables of docs/study.md and docs/results.md from the ledger.

python docs/generate.py            write them
python docs/generate.py --check    change nothing; exit with 1 and the names of the files that are out of date
"""

import argparse
import sys
from pathlib import Path

import api_page
import ledger_tables
import method_pages

from uegr.files import write_text

FOLDER = Path(__file__).parent


def wanted() -> dict[str, str]:
    """Path within docs -> text."""
    methods = {f"methods/{name}": text for name, text in method_pages.pages().items()}
    return {"api.md": api_page.page(), **methods, **ledger_tables.pages(FOLDER)}


def out_of_date(folder: Path) -> list[str]:
    """The files that are missing, different, or the page of a method that does not exist."""
    texts = wanted()
    paths = [folder / "api.md", *(folder / name for name in ledger_tables.PAGES), *folder.glob("methods/*.md")]
    here = {path.relative_to(folder).as_posix(): path for path in paths}
    found = {name: path.read_text(encoding="utf-8") for name, path in here.items() if path.exists()}
    return sorted(name for name in texts.keys() | found.keys() if texts.get(name) != found.get(name))


def write(folder: Path) -> None:
    """Bring every file up to date."""
    texts = wanted()
    (folder / "methods").mkdir(parents=True, exist_ok=True)
    for name in out_of_date(folder):
        if name in texts:
            write_text(folder / name, texts[name])
        else:
            (folder / name).unlink()


def main(arguments: list[str] | None = None, folder: Path = FOLDER) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing, name what is out of date")
    if not parser.parse_args(arguments).check:
        write(folder)
    elif stale := out_of_date(folder):
        sys.exit("out of date, run python docs/generate.py:\n" + "\n".join(f"docs/{name}" for name in stale))


if __name__ == "__main__":
    main()
