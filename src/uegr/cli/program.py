"""The program `uegr`: its commands, and what happens when one fails or is interrupted.

Every mistake of the user is one line on standard error and exit code 2; Ctrl-C is one line and exit code 130.
"""

import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from uegr import __version__
from uegr.cli.attack import attack
from uegr.cli.benchmark import benchmark
from uegr.cli.collector import rare
from uegr.cli.compare import compare
from uegr.cli.data import app as data
from uegr.cli.demo import demo
from uegr.cli.doctor import doctor
from uegr.cli.evaluate import evaluate
from uegr.cli.export import export
from uegr.cli.failures import complaint
from uegr.cli.init import init
from uegr.cli.interpolate import interpolate
from uegr.cli.interruption import RESUME, advice, can_resume, resuming
from uegr.cli.listings import list_
from uegr.cli.models import app as models
from uegr.cli.playground import playground
from uegr.cli.predict import predict
from uegr.cli.recommend import recommend
from uegr.cli.report import report
from uegr.cli.train import train
from uegr.cli.usage import in_one_line
from uegr.errors import DataWarning, InputError, Terminated, TrainingWarning
from uegr.signals import Ending
from uegr.terminal import echo, one_line

ONE, MANY, AROUND = "One run", "Many runs", "Data, models, methods"


class Program(TyperGroup):
    """The commands in the order in which they are used; after Ctrl-C, the command that resumes."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Keep the arguments as they were typed."""
        ctx.meta["arguments"] = list(args)
        with self.interruptible(ctx), in_one_line(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with self.interruptible(ctx), in_one_line(ctx):
            return super().invoke(ctx)

    @contextmanager
    def interruptible(self, ctx: Any) -> Iterator[None]:
        """After Ctrl-C or SIGTERM, the command that resumes; typer itself would end without a word."""
        try:
            yield
        except KeyboardInterrupt as stop:
            raise typer.Exit(ending(stop, self.advice(ctx, stop))) from None

    def advice(self, ctx: Any, stop: KeyboardInterrupt) -> str:
        """The command that continues what was interrupted."""
        name, arguments = ctx.invoked_subcommand or "", ctx.meta["arguments"]
        command = self.commands.get(name)
        has_resume = command is not None and any(RESUME in one.opts for one in command.params)
        return resuming(stop) or advice(arguments, has_resume and can_resume(name, arguments))


app = typer.Typer(
    cls=Program,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_version(wanted: bool) -> None:
    if wanted:
        echo(f"uegr {__version__}")
        raise typer.Exit


@app.callback()
def uegr(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", is_eager=True, callback=print_version)
    ] = False,
) -> None:
    """Fine-tune language models that generalise and withstand perturbation, and prove it."""


for one in (init, train, evaluate, attack, predict, export, interpolate):
    app.command(rich_help_panel=ONE)(one)
for several in (benchmark, report, compare, recommend, playground, demo):
    app.command(rich_help_panel=MANY)(several)
app.command("list", rich_help_panel=AROUND)(list_)
app.command(rich_help_panel=AROUND)(doctor)
app.add_typer(data, name="data", rich_help_panel=AROUND)
app.add_typer(models, name="models", rich_help_panel=AROUND)


def main() -> None:
    """The entry point. SIGTERM ends a command like Ctrl-C; a training saves first (training/termination.py)."""
    with Ending().listening() as end:
        try:
            start()
        except KeyboardInterrupt as stop:  # before the command has begun, or after its end
            raise SystemExit(ending(stop, advice(sys.argv[1:], has_resume=False))) from None
        except Exception as error:
            if end.asked:  # a library has made another error of it
                raise SystemExit(ending(Terminated(), advice(sys.argv[1:], has_resume=False))) from None
            raise SystemExit(refusal(error)) from None


def start() -> None:
    """The command that was typed."""
    rare()
    show_own_warnings()
    quieten()
    app()


def refusal(error: Exception) -> int:
    """What the user gave, or the machine refuses, as one line; a bug keeps its traceback."""
    line = str(error) if isinstance(error, InputError) else complaint(error)
    if line is None:
        raise error
    echo(f"uegr: error: {one_line(line)}", error=True)
    return 2


def ending(stop: KeyboardInterrupt, line: str) -> int:
    """Say what was interrupted; the exit code, as shells have it: 128 and the number of the signal."""
    if int(os.environ.get("RANK", 0)) == 0:  # of several processes, one says it
        echo(f"\nuegr: {line}", error=True)
    return 128 + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)


def show_own_warnings() -> None:
    """Warnings about the user's data and training are one line each; those of libraries are not shown."""
    warnings.filterwarnings("ignore")
    for category in (DataWarning, TrainingWarning):
        warnings.filterwarnings("always", category=category)
    warnings.showwarning = lambda message, *args, **kwargs: echo(f"uegr: warning: {one_line(message)}", error=True)


def quieten() -> None:
    """Libraries print only what is wrong."""
    for name, value in {"TRANSFORMERS_VERBOSITY": "error", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
