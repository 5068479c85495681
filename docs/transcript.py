"""Run the commands of docs/tutorial.md one after another and write what they print below them.

python docs/transcript.py FOLDER    a new folder; reviews.csv and new.csv are put into it

From a clean clone with an empty home: HOME=$(mktemp -d) python docs/transcript.py $(mktemp -d)/tutorial
"""

import argparse
import csv
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tutorial.md"
SHOWN = r"\$ (?P<shown>.*)\n(?:    (?!\$ |uegr ).*\n)*"  # a command and what it printed
BLOCK = re.compile(rf"^    (?:{SHOWN}|(?P<silent>uegr .*)\n)", re.MULTILINE)
NEW_ROWS = 10


def prepare(folder: Path) -> None:
    """The files of a shop: reviews.csv, and new.csv without the labels."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(ROOT / "examples" / "reviews.csv", folder / "reviews.csv")
    with (folder / "reviews.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["id"], row["review"]) for row in csv.DictReader(file)][:NEW_ROWS]
    with (folder / "new.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("id", "review"), *rows])


def printed(command: str, folder: Path) -> list[str]:
    """The lines that a command prints on standard output; it must succeed."""
    words = shlex.split(command)
    start = [sys.executable, "-m", "uegr.cli", *words[1:]] if words[0] == "uegr" else words
    done = subprocess.run(start, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.rstrip().splitlines()


def filled(text: str, folder: Path) -> str:
    """The page with the output of each command after `$` in place of what was there; empty lines of it are left out.

    A command without `$` is run, and what it prints is not shown.
    """

    def block(found: re.Match[str]) -> str:
        lines = [line.rstrip() for line in printed(found["shown"] or found["silent"], folder) if line.strip()]
        if found["silent"]:
            return found[0]
        return "".join(f"    {line}\n" for line in [f"$ {found['shown']}", *lines])

    return BLOCK.sub(block, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    prepare(folder)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), folder), encoding="utf-8")


if __name__ == "__main__":
    main()
