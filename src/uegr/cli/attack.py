"""`uegr attack`: attack a finished run with word substitutions."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uegr.cli.completion import attacks, datasets
from uegr.cli.groups import with_groups
from uegr.cli.options import FILES, LABELS, Device, Json, Quiet, Run, Task, TrustCode
from uegr.cli.printing import print_json
from uegr.errors import InputError
from uegr.terminal import echo

if TYPE_CHECKING:
    from uegr.attacks import Results

REPLAYING = ("run", "replay", "attack", "task", "trust_remote_code", "quiet", "as_json")  # what --replay uses


class Side(StrEnum):
    first = "first"
    second = "second"


@with_groups(files=FILES, labels=LABELS)
def attack(
    context: typer.Context,
    run: Run,
    files: dict[str, Any],
    labels: dict[str, Any],
    attack: Annotated[str, typer.Option(help="One of `uegr list attacks`.", autocompletion=attacks)] = "pwws",
    examples: Annotated[int, typer.Option(help="How many held-out rows, stratified.", min=1)] = 200,
    dataset: Annotated[
        str | None,
        typer.Option(help="A data set, a file or a folder to attack; default: the run's own.", autocompletion=datasets),
    ] = None,
    task: Task = None,
    surface: Annotated[
        str, typer.Option(help="Words and substitutes: wordnet, counterfitted, counterfitted-content, cilin or a file.")
    ] = "default",
    side: Annotated[
        Side | None, typer.Option(help="The text of a pair that may change; default: as the data card says.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="At most this many model queries per example; default: no limit.")
    ] = None,
    seed: Annotated[int, typer.Option(help="For attacks that use random numbers.")] = 0,
    calibrate: Annotated[
        bool,
        typer.Option(
            "--calibrate/--no-calibrate", help="Attack probabilities after a temperature, or as the model gives them."
        ),
    ] = True,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the attack, such as variant=greedy; repeatable.")
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(help="Search nothing: score what the same attack found on this other run, as a transfer attack."),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Resume an interrupted attack.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Start over where the same attack has run.")] = False,
    device: Device = None,
    trust_remote_code: TrustCode = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Attack a finished run with word substitutions."""
    if replay is not None:
        refuse_searching(context)
        options: dict[str, Any] = {"attack": attack, "task": task, "device": device}
        print_replayed(run, replay, as_json, trust_remote_code=trust_remote_code, **options)
        return

    from uegr.runs.attack import attack_run

    results = attack_run(
        run,
        attack=attack,
        examples=examples,
        dataset=dataset,
        task=task,
        surface=surface,
        side=side.value if side else None,
        budget=budget,
        seed=seed,
        calibrate=calibrate,
        resume=resume,
        overwrite=overwrite,
        quiet=quiet,
        device=device,
        trust_remote_code=trust_remote_code,
        settings=given(settings or []),
        **files,
        **labels,
    )
    print_results(results, as_json)
    if results.summary.examples < examples:
        found = results.summary.examples
        echo(f"all {found:,} held-out rows were attacked, fewer than --examples {examples}", error=True)


def print_results(results: "Results", as_json: bool) -> None:
    """The figures and some examples, or JSON."""
    from dataclasses import asdict

    from uegr.attacks.show import shown
    from uegr.console import Console

    if as_json:
        print_json(asdict(results.summary))
    else:
        Console().print(shown(results))


def refuse_searching(context: typer.Context) -> None:
    """Refuse the options of a search beside --replay: none may be ignored without a word."""
    searching = [one for one in context.command.params if one.name not in REPLAYING]
    if flags := [flag(context, one) for one in searching if is_given(context, one)]:
        raise InputError(f"{', '.join(flags)}: for a search, and --replay searches nothing; leave it out")


def is_given(context: typer.Context, option: Any) -> bool:
    """Whether an option was typed, even with its default."""
    source = context.get_parameter_source(option.name)
    return source is not None and source.name == "COMMANDLINE"


def flag(context: typer.Context, option: Any) -> str:
    """The option as it was typed."""
    names: list[str] = option.secondary_opts if context.params[option.name] is False else option.opts
    return names[0]


def print_replayed(run: Path, other: Path, as_json: bool, **options: Any) -> None:
    """A line per attack that was replayed, or JSON."""
    from uegr.runs.replay import replay_run

    found = replay_run(run, other, **options)
    if as_json:
        print_json({name: one.model_dump(mode="json") for name, one in found.items()})
        return
    for name, one in found.items():
        before, after = 100 * one.accuracy_before.value, 100 * one.accuracy_after.value
        echo(f"{name}: accuracy {before:.1f} before, {after:.1f} on the texts found there ({one.examples} examples)")


def given(settings: list[str]) -> dict[str, Any]:
    """The settings as the attack takes them.

    >>> given(["variant=greedy", "beam=3"])
    {'variant': 'greedy', 'beam': 3}
    """
    from uegr.training.overrides import parsed

    pairs = [setting.partition("=") for setting in settings]
    for key, equals, value in pairs:
        if not key or not equals:
            raise InputError(f"expected --set key=value, such as variant=greedy, got {key + equals + value!r}")
    return {key: parsed(value) for key, _, value in pairs}
