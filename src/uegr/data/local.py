"""Local files."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Reading:
    """How to read a file; None means detect."""

    text: str | None = None
    pair: str | None = None
    label: str | None = None
    delimiter: str | None = None
    quoting: Literal["standard", "none"] | None = None
    encoding: str | None = None
