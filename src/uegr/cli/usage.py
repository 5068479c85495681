"""A wrong option, value or command, as one line: what was expected, what came, and what to type."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from shlex import quote
from typing import Any, cast

import typer
from pydantic import ValidationError

from uegr.cli.interruption import RESUME
from uegr.errors import InputError

USUAL = {  # what other programs call an option, without the leading signs
    "lr": "learning-rate",
    "bs": "batch-size",
    "batch": "batch-size",
    "per-device-train-batch-size": "batch-size",
    "epoch": "epochs",
    "num-epochs": "epochs",
    "num-train-epochs": "epochs",
    "max-len": "max-length",
    "max-seq-len": "max-length",
    "max-seq-length": "max-length",
    "model-name": "model",
    "model-name-or-path": "model",
    "data": "dataset",
    "dataset-name": "dataset",
    "out": "output",
    "output-dir": "output",
}

UsageError = cast(type[Exception], typer.BadParameter.__base__)  # typer has no public name for it


@contextmanager
def in_one_line(ctx: Any) -> Iterator[None]:
    """What typer would show in a box, with the usage above it, is an error like all others."""
    try:
        yield
    except UsageError as error:
        if type(error).__name__ == "NoArgsIsHelpError":  # the help was asked for
            raise
        raise InputError(complaint(error, ctx)) from None


def complaint(error: Any, ctx: Any) -> str:
    """The line; every remedy is a command or an option that exists."""
    words, command = named(ctx)
    if type(error).__name__ == "NoSuchOption":
        known = sorted({flag for one in command.params for flag in (*one.opts, *one.secondary_opts)})
        near = nearest(error.option_name, known)
        remedy = f"did you mean {near}?" if near else f"see `{words} --help`"
        return f"{words} has no option {error.option_name}; {remedy}"
    message = error.format_message().rstrip(".").replace("Value error, ", "", 1)  # pydantic's own words
    remedy = f"see `{words} --help`"
    if words == "uegr train" and f"'{RESUME}' does not take" in message:
        remedy = resumed(ctx.meta["arguments"])
    return f"{message[:1].lower()}{message[1:]}{typed(error)}; {remedy}"


def resumed(arguments: Sequence[str]) -> str:
    """How a run is named that was typed as a value of the flag: the flag takes none, the run comes after it.

    >>> resumed(["train", "--resume=runs/first"])
    'use --resume runs/first'
    """
    run = next(word.partition("=")[2] for word in arguments if word.startswith(f"{RESUME}="))
    return f"use {RESUME} {quote(run or 'RUN')}"


def nearest(option: str, known: list[str]) -> str | None:
    """The option that was meant: by its name in other programs, else by its letters.

    >>> nearest("--lr", ["--lora", "--learning-rate"]), nearest("--lr", ["--lora"]), nearest("--zzz", ["--lora"])
    ('--learning-rate', '--lora', None)
    """
    plain = option.lstrip("-").replace("_", "-")
    meant = f"--{USUAL.get(plain, plain)}"
    near = [meant] if meant in known else get_close_matches(option, known, n=1, cutoff=0.6)
    return near[0] if near else None


def typed(error: Any) -> str:
    """The value that does not fit its option, where typer's message leaves it out."""
    cause = error.__cause__
    value = cause.errors()[0].get("input") if isinstance(cause, ValidationError) else None
    return f", got {value!r}" if value is not None and repr(value) not in error.format_message() else ""


def named(ctx: Any) -> tuple[str, Any]:
    """The command as it is typed, such as `uegr data show`, and the command itself."""
    command, names = ctx.command, ["uegr"]
    for word in ctx.meta["arguments"]:
        inner = getattr(command, "commands", {}).get(word)
        if inner is None:
            break
        command = inner
        names.append(word)
    return " ".join(names), command
