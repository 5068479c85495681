"""Groups of options: their values, and where help shows them."""

from typing import Annotated, Any

import typer
from typer.testing import CliRunner

from uegr.cli.groups import Group, with_groups


def collect(rows: Annotated[int, typer.Option(help="How many rows.")] = 5) -> dict[str, int]:
    return {"rows": rows}


def application() -> typer.Typer:
    app = typer.Typer()

    @app.command()
    @with_groups(reading=Group("Reading", collect))
    def show(name: str, reading: dict[str, int], loud: bool = False) -> None:
        """Show it."""
        typer.echo(f"{name} {reading} {loud}")

    return app


def answer(*arguments: str) -> Any:
    return CliRunner().invoke(application(), arguments)


def test_the_command_is_given_what_the_group_collects() -> None:
    assert answer("x").stdout == "x {'rows': 5} False\n"
    assert answer("x", "--rows", "2", "--loud").stdout == "x {'rows': 2} True\n"
    assert answer("x", "--reading", "2").exit_code == 2


def test_help_has_a_heading_for_the_group() -> None:
    before, _, after = answer("--help").stdout.partition("Reading")
    assert "Show it." in before
    assert "--rows" not in before
    assert "How many rows." in after
