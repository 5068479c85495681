"""`uegr doctor`: what this machine has, and what is missing for which feature."""

from typing import TYPE_CHECKING, Annotated

import typer

from uegr.cli.options import Json
from uegr.cli.printing import print_json

if TYPE_CHECKING:
    from uegr.doctor import Finding


def doctor(
    hub: Annotated[bool, typer.Option("--hub", help="Also ask the model hub, for at most 3 seconds.")] = False,
    as_json: Json = False,
) -> None:
    """Show versions, processors, data, the cache, and what is missing for which feature."""
    from uegr.doctor import findings

    found = list(findings(ask_hub=hub))
    if as_json:
        sections = dict.fromkeys(one.section for one in found)
        print_json({name: {one.name: one.value for one in found if one.section == name} for name in sections})
    else:
        print_findings(found)
    if any(one.wrong for one in found):
        raise typer.Exit(1)


def print_findings(found: "list[Finding]") -> None:
    """A table with a heading per section; what cannot work is marked."""
    from rich.table import Table
    from rich.text import Text

    from uegr.console import Console

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    section = ""
    for one in found:
        if one.section != section:
            table.add_row(Text(one.section, style="bold"), "")
            section = one.section
        table.add_row(Text(f"  {one.name}"), Text(("WRONG: " if one.wrong else "") + one.value))
    Console().print(table)
