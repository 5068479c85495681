"""No control character of the data reaches a terminal, and nothing is printed past the functions that see to it."""

import ast
import io
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.progress import Progress, TextColumn
from rich.table import Table
from rich.text import Text

from uegr.console import Console
from uegr.terminal import CONTROL, SURROGATE, clean, json_text, one_line

SOURCE = Path(__file__).parent.parent / "src" / "uegr"
EVIL = "a\x1b]52;c;ZXZpbA==\x07\x1b[2J\x9b31m\x85\u202etxt.exe\u2066\x7f\x08b"
ANYTHING = st.text(st.characters(codec=None, exclude_categories=()))


def harmless(text: str) -> bool:
    return not CONTROL.search(text) and not SURROGATE.search(text)


@given(ANYTHING)
def test_clean_text_can_be_printed_and_has_no_control_characters(text: str) -> None:
    assert harmless(clean(text))
    clean(text).encode()
    assert "\n" not in one_line(text)


@given(ANYTHING)
def test_json_says_the_same_without_control_characters(text: str) -> None:
    found = json_text({"text": text}, indent=2)
    assert harmless(found)
    assert json.loads(found) == {"text": text}


def printed(*what: object) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=200, color_system="truecolor", highlight=False, _environ={})
    console.print(*what)
    return out.getvalue()


def test_colours_of_our_own_pass_and_those_of_a_text_do_not() -> None:
    found = printed(Text("a" + EVIL, style="bold red"))
    assert found.startswith("\x1b[1;31m")
    assert harmless(found.replace("\x1b[1;31m", "").replace("\x1b[0m", ""))


def test_cells_and_headings_of_a_table_are_cleaned() -> None:
    table = Table(EVIL, title=EVIL)
    table.add_row(EVIL)
    table.add_row(Text(EVIL))
    found = printed(table)
    for code in ("\x1b]", "\x1b[2J", "\x9b", "\x85", "\u202e", "\x07"):
        assert code not in found
    assert found.count("txt.exe") == 4


def test_markup_in_a_text_is_text() -> None:
    assert printed("[link=https://evil.example]here[/link] :smile:") == (
        "[link=https://evil.example]here[/link] :smile:\n"
    )


def test_a_progress_bar_is_cleaned() -> None:
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=200, _environ={})
    with Progress(TextColumn("{task.description}", markup=False), console=console) as bar:
        bar.add_task(f"[link=x]{EVIL}", total=1)
    assert "[link=x]a]52;c;" in out.getvalue()
    for code in ("\x1b]", "\x9b", "\u202e", "\x07"):
        assert code not in out.getvalue()


def test_nothing_is_printed_in_any_other_way() -> None:
    for file in sorted(SOURCE.rglob("*.py")):
        if file in (SOURCE / "terminal.py", SOURCE / "console.py") or SOURCE / "testing" in file.parents:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            where = f"{file.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}"
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in ("print", "typer.echo", "click.echo", "rich.print", "typer.secho"), where
            if isinstance(node, ast.ImportFrom) and node.module == "rich.console":
                assert "Console" not in {name.name for name in node.names}, where
