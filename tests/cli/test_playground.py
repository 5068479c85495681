"""`uegr playground`: options, what it refuses, and its end; the page itself is in tests/playground."""

import socket
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from uegr.errors import Terminated
from uegr.playground import opened, server

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What would be served, where Gradio is or would be installed."""
    seen: dict[str, Any] = {}

    def serve(play: Any, place: socket.socket, tell: Any, browser: bool) -> None:
        seen.update(play=play, address=place.getsockname(), browser=browser)
        if "stop" in seen:
            raise seen["stop"]

    monkeypatch.setattr(server, "find_spec", lambda name: ModuleSpec(name, None))
    monkeypatch.setattr(server, "serve", serve)
    return seen


def test_without_gradio_the_remedy_is_one_line(uegr: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(server, "find_spec", lambda name: None)
    code, out, error = uegr("playground", tmp_path)
    assert (code, out) == (2, "")
    assert error == "the playground needs Gradio, which is not installed; pip install 'uegr[playground]'"


def test_the_page_is_for_this_machine_alone(uegr: Command, served: dict[str, Any], finished: Path) -> None:
    code, _, error = uegr("playground", finished, "--port", "0", "--no-browser")
    assert (code, error) == (0, "")
    assert served["address"][0] == "127.0.0.1"
    assert served["address"][1] > 0
    assert served["browser"] is False
    assert [model.name for model in served["play"].models] == ["finished"]


def test_a_port_that_is_taken_is_refused(uegr: Command, served: dict[str, Any], finished: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, _, error = uegr("playground", finished, "--port", port)
    assert (code, served) == (2, {})
    assert error == (
        f"cannot use port {port} of 127.0.0.1: Address already in use; choose another with --port, 0 for any"
    )


def test_the_runs_are_opened_as_the_caller_says(
    uegr: Command, served: dict[str, Any], finished: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: dict[str, Any] = {}
    real = opened.open_models

    def open_models(places: Any, **options: Any) -> Any:
        asked.update(options)
        return real(places, **options)

    monkeypatch.setattr(opened, "open_models", open_models)
    assert uegr("playground", finished, "--port", "0", "--task", "data", "--device", "cpu")[0] == 0
    assert asked == {"task": "data", "device": "cpu", "trust_remote_code": False}
    assert uegr("playground", finished, "--port", "0", "--trust-remote-code")[0] == 0
    assert asked["trust_remote_code"] is True


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (["nowhere"], "expected a finished run with result.json in nowhere"),
        (["--task", "other"], "the run has no task other"),
        (["--surface", "nothing"], "expected a lexicon or a file of substitutes, got 'nothing'"),
    ],
)
def test_what_cannot_be_opened_is_one_line(
    uegr: Command, served: dict[str, Any], finished: Path, given: list[str], reason: str
) -> None:
    runs = given if not given[0].startswith("--") else [finished, *given]
    code, _, error = uegr("playground", *runs, "--port", "0")
    assert (code, served) == (2, {})
    assert reason in error


def test_a_run_must_be_named_and_a_port_be_one(uegr: Command) -> None:
    assert uegr("playground")[0] == 2
    assert uegr("playground", "run", "--port", "70000")[0] == 2


def test_ctrl_c_ends_it_and_is_no_failure(uegr: Command, served: dict[str, Any], finished: Path) -> None:
    served["stop"] = KeyboardInterrupt()
    assert uegr("playground", finished, "--port", "0") == (0, "the playground has ended\n", "")
    served["stop"] = Terminated()
    assert uegr("playground", finished, "--port", "0")[0] == 143
