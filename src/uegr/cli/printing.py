"""What every command prints alike."""

import json
from typing import Any

import typer


def print_json(content: Any) -> None:
    """JSON for programs, on standard output."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))
