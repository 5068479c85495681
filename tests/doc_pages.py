"""The pages of the repository taken apart, for the tests of what they promise."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOP = ("README.md", "CONTRIBUTING.md", "examples/README.md", "results/README.md")
PAGES = [*(ROOT / name for name in TOP), *sorted((ROOT / "docs").rglob("*.md"))]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


@dataclass(frozen=True)
class Written:
    """A page in parts: blocks of code with their language, code within lines, and prose."""

    blocks: tuple[tuple[str, str], ...]
    spans: tuple[str, ...]
    prose: str

    @property
    def lines(self) -> list[str]:
        """The lines of the blocks that are not Python, continuations joined."""
        return [
            line.strip()
            for language, block in self.blocks
            if language != "python"
            for line in block.replace("\\\n", " ").splitlines()
        ]

    @property
    def python(self) -> list[str]:
        return [block for language, block in self.blocks if language == "python"]


def written(text: str) -> Written:
    """Fenced and indented blocks; an indented one that imports something is Python."""
    blocks, prose, language, before = [], [], None, ""
    for line in text.splitlines():
        if line.startswith("```"):
            language = None if language is not None else line[3:].strip()
            if language is not None:
                blocks.append((language, []))
        elif language is not None:
            blocks[-1][1].append(line)
        elif line.startswith("    ") and (not before.strip() or before.startswith("    ")):
            if not before.startswith("    "):
                blocks.append(("python" if line.strip().startswith(("from ", "import ")) else "", []))
            blocks[-1][1].append(line[4:])
        else:
            prose.append(line)
        before = line
    joined = "\n".join(prose)
    spans = tuple(" ".join(span.split()) for span in re.findall(r"`([^`]+)`", joined))
    return Written(tuple((language, "\n".join(lines)) for language, lines in blocks), spans, joined)


def read(page: Path) -> Written:
    return written(page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Headings as GitHub links to them."""
    heads = re.findall(r"^#+ (.*)$", read(page).prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def links(page: Path) -> list[tuple[str, str]]:
    """(text, target) of the links that stay within the repository."""
    found = re.findall(r"\[([^\]]*)\]\(([^)\s]+)\)", read(page).prose)
    return [(text, target) for text, target in found if not re.match(r"[a-z]+:", target)]


def words(line: str) -> list[str] | None:
    """The arguments of a line that runs uegr, without comments, pipes and ellipses; None for any other line."""
    match = re.match(r"(?:\$ )?(?:[A-Z_]+=\S+ )*uegr (.*)", line)
    if not match:
        return None
    found = shlex.split(match[1], comments=True)
    for end in ("|", ">", "&&"):
        found = found[: found.index(end)] if end in found else found
    return [word for word in found if word != "..."]
