"""Remedies work when they are typed: every flag that a message or a page names exists in the command."""

import ast
import re
from pathlib import Path

import pytest

from tests.cli.remedies import FLAG, Named, flags, messages, named_in, named_in_source
from tests.doc_pages import ROOT, every_page, read, words


@pytest.mark.parametrize("named", named_in_source(), ids=lambda one: f"{one.module}:{one.line}{one.flag}")
def test_a_flag_in_a_message_exists_in_the_commands_that_show_it(named: Named) -> None:
    for command in named.commands():
        assert named.flag in flags()[command], f"{named.module}.py:{named.line} names {named.flag}, not in {command}"


def test_the_collection_finds_the_flags_that_were_once_missing() -> None:
    found = {(one.module, one.flag) for one in named_in_source()}
    assert {
        ("data/labels", "--kind"),
        ("data/labels", "--label-column"),
        ("data/formats", "--delimiter"),
        ("data/formats", "--quoting"),
        ("data/encoding", "--encoding"),
        ("data/local", "--text-column"),
        ("data/resolve", "--paper-split"),
        ("result", "--task"),
    } <= found


CODE = '''
def f(x):
    """Docstrings with --docstring do not count."""
    if x:
        raise InputError(f"{x}: expected one, "
            f"got {x}; use --joined or `uegr data show {x} --command`")
    return f"the text of a message --returned, `ray start --head`"
'''


def test_messages_are_found_in_calls_and_in_what_functions_return() -> None:
    found = [one for line, text in messages(ast.parse(CODE)) for one in named_in(text, "data/x", line)]
    assert {(one.flag, one.command) for one in found} == {
        ("--joined", None),
        ("--command", "data show"),
        ("--returned", None),
    }


def test_a_message_from_an_unknown_place_must_be_entered() -> None:
    with pytest.raises(AssertionError, match="add nowhere/new to RAISED_BY"):
        Named("nowhere/new", 1, "--x", None).commands()


OF_OTHERS = {"--enable-optimizations"}  # of Python's configure


def script_flags() -> set[str]:
    """The flags of the scripts that pages mention."""
    scripts = [*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "docs").rglob("*.py")]
    return {flag for script in scripts for flag in re.findall(r'"(--[a-z-]+)"', script.read_text(encoding="utf-8"))}


@every_page
def test_a_flag_on_a_page_exists(page: Path) -> None:
    """Flags within whole commands are checked where the commands are parsed (tests/test_docs_commands.py)."""
    known = {flag for command in flags().values() for flag in command} | script_flags() | OF_OTHERS
    for span in read(page).spans:
        if words(span) is None and span.startswith("--"):
            for flag in FLAG.findall(span):
                assert flag in known, f"{page.name}: {span}"
