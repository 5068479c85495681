"""The program as a whole: version, help, errors, and Ctrl-C."""

import shlex
import subprocess
import sys
from typing import Any

import pytest
import typer

import uegr as package
from uegr.cli import program
from uegr.cli.interruption import KEEPS_WORK, RESUME

COMMANDS: dict[str, Any] = typer.main.get_command(program.app).commands  # type: ignore[attr-defined]


def test_the_entry_point_exits_with_2_and_one_line():
    done = subprocess.run(
        [sys.executable, "-m", "uegr.cli", "train", "--dataset", "snippets", "--method", "uger"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == "uegr: error: unknown method uger; did you mean uegr?\n"
    assert done.stdout == ""


def test_version(uegr):
    assert uegr("--version") == (0, f"uegr {package.__version__}\n", "")


LIGHT = """
import contextlib, io, sys
from uegr.cli import main

for line in sys.argv[1:]:
    sys.argv = ["uegr", *line.split()]
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            main()
        except SystemExit as end:
            assert not end.code, line
    assert printed.getvalue(), line
    assert not {"torch", "transformers", "gradio"} & set(sys.modules), line
"""


def test_what_needs_no_model_imports_neither_torch_nor_transformers_nor_gradio():
    lines = ["--help", "--version", "data list", "recommend --rows 1000", *(f"{name} --help" for name in COMMANDS)]
    lines += [f"list {what}" for what in ("methods", "models", "datasets", "attacks", "grids")]
    done = subprocess.run([sys.executable, "-c", LIGHT, *lines], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


WORK = (
    "training.config.read_config",
    "runs.attack.attack_run",
    "runs.evaluate.evaluate_run",
    "benchmark.run.planned",
    "data.check.check",
)
INTERRUPTED = {
    "train --dataset 'my data.csv'": "run it again with: uegr train --dataset 'my data.csv'",  # nothing has started
    "train --resume --dataset x": "resume with: uegr train --resume --dataset x",
    "attack runs/first --attack pwws": "resume with: uegr attack runs/first --attack pwws --resume",
    "benchmark grid.yaml --scale smoke": "resume with: uegr benchmark grid.yaml --scale smoke",
    "evaluate runs/first --all": "run it again with: uegr evaluate runs/first --all",
    "data check snippets": "run it again with: uegr data check snippets",
}


@pytest.mark.parametrize("line", INTERRUPTED)
def test_an_interrupted_command_suggests_the_one_that_resumes_it(line, uegr, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    for place in WORK:
        monkeypatch.setattr(f"uegr.{place}", interrupt)
    code, out, error = uegr(*shlex.split(line))
    assert (code, out) == (130, "")
    assert error == f"\nuegr: interrupted; {INTERRUPTED[line]}\n"


def test_a_training_that_has_started_is_resumed(uegr, monkeypatch, tmp_path):
    def interrupt(config, place, **options):
        place.mkdir()
        (place / "config.yaml").touch()
        raise KeyboardInterrupt

    monkeypatch.setattr("uegr.runs.train.train", interrupt)
    code, _, error = uegr("train", "--dataset", "snippets", "--output", tmp_path / "run", "--device", "cpu")
    assert code == 130
    assert error == (f"\nuegr: interrupted; resume with: uegr train --resume {tmp_path / 'run'} --device cpu\n")


def test_of_several_processes_the_first_one_says_how_to_resume(uegr, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("uegr.training.config.read_config", interrupt)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    line = "torchrun --standalone --nproc-per-node=2 -m uegr.cli train --dataset x --resume"
    for rank, shown in (("0", f"\nuegr: interrupted; resume with: {line}\n"), ("1", "")):
        monkeypatch.setenv("RANK", rank)
        assert uegr("train", "--dataset", "x", "--resume")[2] == shown


def test_ctrl_c_reaches_the_advice_of_the_entry_point(tmp_path):
    """A true signal, which comes while the command reads standard input."""
    code = (
        "import signal, sys, types\nfrom uegr.cli import main\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "sys.stdin = types.SimpleNamespace(read=lambda: signal.raise_signal(signal.SIGINT))\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", code, "predict", tmp_path, "-"], capture_output=True, text=True)
    assert done.stderr == f"\nuegr: interrupted; run it again with: uegr predict {tmp_path} -\n"
    assert (done.returncode, done.stdout) == (130, "")


def test_commands_that_keep_their_work_have_no_flag_for_it():
    for name in KEEPS_WORK:
        assert all(RESUME not in option.opts for option in COMMANDS[name].params)
