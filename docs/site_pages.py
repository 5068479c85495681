"""Build the documentation site from the plain Markdown of the repository.

python docs/site_pages.py                  build it into build/site
python docs/site_pages.py --source-only    only write what the site generator reads, into build/site-source

README.md becomes the first page. Links that leave the pages (source code, grids, tests) become plain text.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "build"
HOME = {"README.md": "index.md", "examples/README.md": "examples.md"}  # others keep their place
TOP = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "examples/README.md")
LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:|#)([^)#\s]*)(#[^)\s]*)?\)")


def pages() -> dict[str, str]:
    """The Markdown files of the site: path in the repository -> path in the site."""
    docs = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs").rglob("*.md"))]
    notes = [path for path in docs if not path.startswith("docs/notes/")]  # parts of generated pages
    return {path: HOME.get(path, path.removeprefix("docs/")) for path in [*TOP, *notes]}


def files() -> dict[str, str]:
    """Pictures, style and script: path in the repository -> path in the site."""
    found = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "docs" / "images").glob("*"))]
    return {path: path.removeprefix("docs/") for path in [*found, "docs/site.css", "docs/iframe-worker.js"]}


def moved(text: str, page: str, places: dict[str, str]) -> str:
    """A page with its links as the site needs them; a link to what is not in the site becomes its text."""

    def replaced(found: re.Match[str]) -> str:
        words, target, anchor = found[1], found[2], found[3] or ""
        path = os.path.normpath(os.path.join(os.path.dirname(page), target))
        if path not in places:
            return words
        return f"[{words}]({os.path.relpath(places[path], os.path.dirname(places[page]) or '.')}{anchor})"

    return LINK.sub(replaced, text)


def settings() -> dict[str, Any]:
    """The settings of the site generator: each page that exists is listed once, new ones under More."""
    found: dict[str, Any] = yaml.safe_load((ROOT / "docs" / "mkdocs.yml").read_text(encoding="utf-8"))
    left = dict.fromkeys(sorted(pages().values()))
    nav = []
    for part in found["nav"]:
        for title, listed in part.items():
            own = listed or [{"All methods": "methods/README.md"}, *methods()]
            nav.append({title: [entry for entry in own if next(iter(entry.values())) in left]})
            left = {page: None for page in left if page not in {next(iter(entry.values())) for entry in own}}
    more = [{Path(page).stem.replace("_", " ").capitalize(): page} for page in left]
    return found | {"nav": [*nav, *([{"More": more}] if more else [])]}


def methods() -> list[dict[str, str]]:
    """The page of each method."""
    own = sorted(place for place in pages().values() if place.startswith("methods/"))
    return [{Path(place).stem: place} for place in own if place != "methods/README.md"]


def write_source(target: Path = BUILD) -> None:
    """What the site generator reads: settings, pages and pictures."""
    source, places = target / "site-source", pages() | files()
    shutil.rmtree(source, ignore_errors=True)
    for page, place in pages().items():
        path = source / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(moved((ROOT / page).read_text(encoding="utf-8"), page, places), encoding="utf-8")
    for file, place in files().items():
        (source / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / file, source / place)
    (target / "mkdocs.yml").write_text(yaml.safe_dump(settings(), sort_keys=False), encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source-only", action="store_true", help="do not run the site generator")
    given = parser.parse_args(arguments)
    write_source()
    if not given.source_only:
        command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file", "mkdocs.yml"]
        done = subprocess.run(command, cwd=BUILD)
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
