"""A grid of cells that train within a second, and `uegr benchmark` in this process or in one of its own.

Run as a script it is the command alone, whatever `uegr.cli` has mounted.
"""

import sys
from pathlib import Path
from typing import Any

import typer
import yaml
from typer.testing import CliRunner

from uegr.cli.benchmark import benchmark
from uegr.errors import InputError

TRAINING = {"epochs": 1, "batch_size": 8, "learning_rate": 0.01}


def grid_file(folder: Path, home: Path, **settings: Any) -> Path:
    """Two methods on the tiny model and data of `home`, unless said otherwise."""
    content = {
        "title": "tiny",
        "shared": {"training": TRAINING},
        "methods": ["vanilla", "rdrop"],
        "models": [{"name": str(home / "model"), "label": "tiny"}],
        "datasets": [{"name": str(home / "data"), "label": "films"}],
        "seeds": 1,
        "measure": {"evaluate": False},
    }
    path = folder / "grid.yaml"
    path.write_text(yaml.safe_dump(content | settings), encoding="utf-8")
    return path


def application() -> typer.Typer:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(benchmark)
    return app


def run(*arguments: Any) -> tuple[int, str, str]:
    """Exit code, standard output, standard error or the error line; cells run in this process by default."""
    here = [] if {"--workers", "--backend"} & set(arguments) else ["--workers", "0"]
    result = CliRunner().invoke(application(), [str(argument) for argument in [*arguments, *here]])
    if isinstance(result.exception, InputError):
        return 2, result.stdout, " ".join(str(result.exception).split())
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def command(*arguments: Any) -> list[str]:
    """The same in a process of its own."""
    return [sys.executable, __file__, *(str(argument) for argument in arguments)]


if __name__ == "__main__":
    application()()
