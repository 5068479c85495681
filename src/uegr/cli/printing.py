"""What every command prints alike."""

from typing import Any

from uegr.terminal import echo, json_text


def print_json(content: Any) -> None:
    """JSON for programs, on standard output."""
    echo(json_text(content, indent=2))
