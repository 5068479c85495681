"""The readme of the built package: README.md without what leads nowhere outside of the repository.

A package index shows the readme by itself: relative links and pictures would be broken there. If `project.urls` of
pyproject.toml ever names a `Repository`, the links lead to it instead.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?![a-z]+:)([^)\s]+)\)")


def portable(text: str, repository: str | None = None) -> str:
    """Relative links become plain text and relative pictures go, or both lead to the repository.

    >>> portable("See [the docs](docs/a.md) and [the paper](https://b).")
    'See the docs and [the paper](https://b).'
    >>> portable("[a](docs/a.md)", "https://c")
    '[a](https://c/blob/main/docs/a.md)'
    """

    def replaced(found: re.Match[str]) -> str:
        picture, words, target = found.groups()
        if repository is not None:
            return f"{picture}[{words}]({repository}/{'raw' if picture else 'blob'}/main/{target})"
        return "" if picture else words

    return re.sub(r"\n{3,}", "\n\n", LINK.sub(replaced, text))


class Readme(MetadataHookInterface):
    """hatchling calls it while it builds."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        repository = (metadata.get("urls") or {}).get("Repository")
        metadata["readme"] = {"content-type": "text/markdown", "text": portable(text, repository)}
