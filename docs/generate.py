"""Write docs/methods/*.md, docs/api.md and docs/configuration.md from docstrings, signatures, declared passes and
measured costs, the tables of docs/study.md and docs/results.md from the ledger, docs/reliability.md from the faults.

Also src/uegr/methods/listing.json, from which `uegr list methods` answers without torch.

python docs/generate.py            write them
python docs/generate.py --check    change nothing; exit with 1 and the names of the files that are out of date
"""

import argparse
import json
import sys
from pathlib import Path

import api_page
import configuration_page
import ledger_tables
import method_pages
import reliability_page

from uegr import methods
from uegr.files import write_text
from uegr.methods.entries import entries

FOLDER = Path(__file__).parent
SINGLE = {"api.md": api_page.page, "configuration.md": configuration_page.page, "reliability.md": reliability_page.page}
LISTED = "../src/uegr/methods/listing.json"
LISTING = Path(methods.__file__ or "").parent / "listing.json"


def wanted() -> dict[str, str]:
    """Path within docs -> text."""
    methods = {f"methods/{name}": text for name, text in method_pages.pages().items()}
    return {**{name: page() for name, page in SINGLE.items()}, **methods, **ledger_tables.pages(FOLDER)}


def listing() -> str:
    """What `uegr list methods` shows, as JSON."""
    return json.dumps(entries(), indent=2, ensure_ascii=False) + "\n"


def out_of_date(folder: Path) -> list[str]:
    """The files that are missing, different, or the page of a method that does not exist."""
    texts = wanted()
    paths = [
        *(folder / name for name in (*SINGLE, *ledger_tables.PAGES)),
        *folder.glob("methods/*.md"),
    ]
    here = {path.relative_to(folder).as_posix(): path for path in paths}
    found = {name: path.read_text(encoding="utf-8") for name, path in here.items() if path.exists()}
    stale = [name for name in texts.keys() | found.keys() if texts.get(name) != found.get(name)]
    known = LISTING.read_text(encoding="utf-8") if LISTING.exists() else ""
    return sorted([*stale, *([LISTED] if folder == FOLDER and known != listing() else [])])


def write(folder: Path) -> None:
    """Bring every file up to date."""
    texts = wanted()
    (folder / "methods").mkdir(parents=True, exist_ok=True)
    for name in out_of_date(folder):
        if name == LISTED:
            write_text(LISTING, listing())
        elif name in texts:
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
