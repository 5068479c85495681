"""Signals before a command works, at its end, and twice. `signals.py` has the signals in the middle of one."""

import os
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
import typer

from tests.faults.processes import LIMIT, Running
from uegr.cli import program

ENDS = {signal.SIGTERM: 143, signal.SIGINT: 130}
WORDS = ["list", "methods"]


def test_a_command_without_checkpoints_ends_at_once(tmp_path: Path) -> None:
    code = (
        "import signal, sys, types\nfrom uegr.cli import main\n"
        "sys.stdin = types.SimpleNamespace(read=lambda: signal.raise_signal(signal.SIGTERM))\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code, "predict", tmp_path, "-"], capture_output=True, text=True)
    assert done.stderr == f"\nuegr: interrupted; run it again with: uegr predict {tmp_path} -\n"
    assert (done.returncode, done.stdout) == (143, "")


def sent(number: int) -> Callable[..., None]:
    return lambda *args, **options: os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", ENDS)
@pytest.mark.parametrize("place", ["rare", "quieten", "typer.main.get_command", "Program.parse_args"])
def test_a_signal_before_the_command_has_begun_is_one_line(
    place: str, number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if place == "Program.parse_args":
        monkeypatch.setattr(program.TyperGroup, "parse_args", sent(number))
    else:
        monkeypatch.setattr(*((typer.main, "get_command") if "." in place else (program, place)), sent(number))
    ended = Running(WORDS, tmp_path / "1.log").ended()
    assert ended.output == "\nuegr: interrupted; run it again with: uegr list methods\n"
    assert ended.code == ENDS[number]


@pytest.mark.parametrize("number", ENDS)
def test_a_signal_that_comes_where_python_cannot_raise_is_not_lost(
    number: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_a_callback() -> None:
        value = {1}
        kept = weakref.ref(value, lambda gone: signal.raise_signal(number))
        del value
        assert kept() is None
        time.sleep(LIMIT)

    monkeypatch.setattr(program, "rare", in_a_callback)
    ended = Running(WORDS, tmp_path / "1.log").ended()
    assert ended.output == "\nuegr: interrupted; run it again with: uegr list methods\n"
    assert ended.code == ENDS[number]


def caught() -> None:
    with suppress(BaseException):
        signal.raise_signal(signal.SIGTERM)
    time.sleep(LIMIT)


def replaced() -> None:
    try:
        signal.raise_signal(signal.SIGTERM)
    except BaseException:
        raise ValueError("an error of a library") from None


def cleaning() -> None:
    try:
        signal.raise_signal(signal.SIGTERM)
    finally:
        for _ in range(20):
            time.sleep(0.01)
        print("clean")


@pytest.mark.parametrize("body", [caught, replaced, cleaning])
def test_sigterm_is_not_lost_in_a_library_and_does_not_disturb_what_cleans_up(
    body: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program, "rare", body)
    ended = Running(WORDS, tmp_path / "1.log").ended()
    cleaned = "clean\n" if body is cleaning else ""
    assert ended.output == f"{cleaned}\nuegr: interrupted; run it again with: uegr list methods\n"
    assert ended.code == 143


def test_another_exception_that_cannot_be_raised_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_a_callback() -> None:
        value = {1}
        kept = weakref.ref(value, lambda gone: 1 / 0)
        del value
        assert kept() is None

    monkeypatch.setattr(program, "rare", in_a_callback)
    assert "ZeroDivisionError" in Running(WORDS, tmp_path / "1.log").ended().output


def test_a_second_sigterm_does_not_disturb_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    advice = program.advice

    def slow(*args: object, **options: object) -> str:
        os.kill(os.getpid(), signal.SIGTERM)
        return advice(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(program, "rare", sent(signal.SIGTERM))
    monkeypatch.setattr(program, "advice", slow)
    ended = Running(WORDS, tmp_path / "1.log").ended()
    assert (ended.code, ended.output) == (143, "\nuegr: interrupted; run it again with: uegr list methods\n")
