"""`uegr train`: fine-tune a model with a method."""

from enum import StrEnum
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from uegr.cli import completion
from uegr.cli.collector import usual
from uegr.cli.groups import Group, with_groups
from uegr.cli.interruption import resumable
from uegr.cli.options import FILES, LABELS, AllowCode, Device, Json, Quiet, TrustCode
from uegr.cli.printing import print_json
from uegr.errors import InputError
from uegr.terminal import echo

if TYPE_CHECKING:
    from uegr.training.config import RunConfig

Flags = dict[str, Any]  # a key of the configuration, such as training.epochs, and its value; None: not given
LORA_RANK = 8


class Precision(StrEnum):
    fp32 = "fp32"
    bf16 = "bf16"


class Balance(StrEnum):
    weights = "weights"
    sampling = "sampling"


def model_options(
    model: Annotated[
        str | None,
        typer.Option(
            help="An alias (`uegr list models`), a folder or a hub name; default: minilm.",
            autocompletion=completion.models,
        ),
    ] = None,
    vectors: Annotated[
        str | None, typer.Option(help="Word vectors for a model without pretraining; default: none.")
    ] = None,
    attention: Annotated[
        str | None, typer.Option(help="eager, sdpa or another of transformers; default: the model's own.")
    ] = None,
    dtype: Annotated[str | None, typer.Option(help="The type of the weights; default: float32.")] = None,
    lora: Annotated[
        bool,
        typer.Option(
            "--lora",
            help=f"Train adapters of rank {LORA_RANK}, merged at the end; --set model.lora=16 for another rank.",
        ),
    ] = False,
    trust_remote_code: TrustCode = False,
) -> Flags:
    return {
        "model.name": model,
        "model.vectors": vectors,
        "model.attention": attention,
        "model.dtype": dtype,
        "model.lora": LORA_RANK if lora else None,
        "model.trust_remote_code": trust_remote_code or None,
    }


def data_options(
    dataset: Annotated[
        str | None,
        typer.Option(
            help="A data set (`uegr list datasets`), a file or a folder; required.",
            autocompletion=completion.datasets,
        ),
    ] = None,
    train_size: Annotated[int | None, typer.Option(help="Train on this many rows, stratified; default: all.")] = None,
    train_fraction: Annotated[float | None, typer.Option(help="Train on this share of the rows; default: 1.")] = None,
) -> Flags:
    return {"dataset.name": dataset, "dataset.train_size": train_size, "dataset.train_fraction": train_fraction}


def training_options(
    epochs: Annotated[
        float | None, typer.Option(help="Passes over the training rows; default: the model's own, else 3.")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Default: 5e-5; 5e-4 for adapters, 1e-3 from scratch.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(help="Rows per step and device; default: 16.")] = None,
    max_length: Annotated[
        int | None, typer.Option(help="Cut texts after this many tokens; default: the model's limit.")
    ] = None,
    patience: Annotated[
        int | None, typer.Option(help="Stop after this many epochs without improvement; default: never.")
    ] = None,
    precision: Annotated[Precision | None, typer.Option(help="The type of the computations; default: fp32.")] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            help="What chooses the epoch and comes first: accuracy, macro_f1, balanced_accuracy, f1, matthews "
            "(or mcc), pearson or spearman; default: the first of the data set."
        ),
    ] = None,
    balance: Annotated[
        Balance | None,
        typer.Option(help="Let every class count the same, in the loss or in each batch; default: as rows have it."),
    ] = None,
    report_to: Annotated[
        list[str] | None,
        typer.Option(help="Also log to tensorboard, wandb, mlflow, trackio, ...; repeatable; default: metrics.jsonl."),
    ] = None,
) -> Flags:
    return {
        "training.epochs": epochs,
        "training.learning_rate": learning_rate,
        "training.batch_size": batch_size,
        "training.max_length": max_length,
        "training.patience": patience,
        "training.precision": precision and precision.value,
        "training.metric": metric,
        "training.report_to": tuple(report_to) if report_to else None,
        "training.balance": balance and balance.value,
    }


def augment_options(
    augment: Annotated[
        str | None,
        typer.Option(
            help="An attack, such as pwws: attack before each epoch, and also train on what it finds.",
            autocompletion=completion.attacks,
        ),
    ] = None,
    augment_examples: Annotated[
        int | None, typer.Option(help="Rows to attack before an epoch; default: a fifth of them, at most 1,000.")
    ] = None,
    augment_start: Annotated[int | None, typer.Option(help="Epochs before the first attack; default: 1.")] = None,
) -> Flags:
    return {"augment.name": augment, "augment.examples": augment_examples, "augment.start": augment_start}


@with_groups(
    model=Group("Model", model_options),
    data=Group("Data", data_options),
    files=FILES,
    labels=LABELS,
    training=Group("Training", training_options),
    augmentation=Group("Augmentation", augment_options),
)
def train(
    model: Flags,
    data: Flags,
    files: Flags,
    labels: Flags,
    training: Flags,
    augmentation: Flags,
    run: Annotated[
        Path | None,
        typer.Argument(
            help="The folder of a run to resume, with --resume; its settings are known.",
            autocompletion=completion.unfinished_runs,
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            help="A method (`uegr list methods`), or module:function; default: freelb. Without this option, "
            "it has the settings that the study recommends.",
            autocompletion=completion.methods,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder; default: runs/DATASET-MODEL-METHOD-SEED.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML file; flags override it.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any other key, such as method.epsilon=0.2 or training.warmup=0.1; repeatable."),
    ] = None,
    allow_code: AllowCode = False,
    seed: Annotated[int | None, typer.Option(help="Determines every random number; default: 0.")] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Resume an interrupted run: --resume RUN, or the same command again. A method of your own needs "
            "--allow-code again. A finished run stays as it is, with exit code 0.",
        ),
    ] = False,
    device: Device = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fine-tune a model with a method."""
    from uegr.training.config import read_config

    if run is not None:
        config, output = started(run, config, output, resume)
    elif resume and config is None and data["dataset.name"] is None and not settings:
        raise InputError(
            f"expected the folder of a run to resume, got none; use --resume {quote(str(output or 'RUN'))}"
        )
    reading = {f"dataset.{key}": value for key, value in (files | labels).items()}
    flags = {"method.name": method, **model, **data, **reading, **training, **augmentation, "seed": seed}
    chosen = read_config(config, flags, settings or [], allow_code=allow_code)

    from uegr.runs.folder import check_started, is_done
    from uegr.runs.manifest import check_whole
    from uegr.runs.train import train as train_run
    from uegr.training.processes import leave_processes

    output = output or Path("runs") / chosen.label()
    if resume:
        check_started(output, "leave out --resume to start a run")
    finished = is_done(output)
    if finished and resume:
        check_whole(output)
    try:
        with usual(), resumable(output, again(chosen, device)):
            result = train_run(chosen, output, resume=resume, quiet=quiet, device=device)
    finally:
        leave_processes()
    if finished:
        echo(f"{output} is finished: nothing is left to train", error=True)
    if as_json and result:
        print_json(result.model_dump(mode="json", by_alias=True))
    elif result and not finished:
        from uegr.report.terminal import show_scores

        show_scores(result, output)


def again(config: "RunConfig", device: str | None) -> list[str]:
    """What `uegr train --resume RUN` needs besides the run: consent to run its code, and the device."""
    from uegr.training.factories import is_own

    flags = ["--allow-code"] if is_own(config.method["name"]) else []
    flags += ["--trust-remote-code"] if config.model.trust_remote_code else []
    return [*flags, "--device", str(device)] if device else flags


def started(run: Path, config: Path | None, output: Path | None, resume: bool) -> tuple[Path, Path]:
    """The configuration and the folder of a run that is resumed by its folder alone."""
    if not resume:
        raise InputError(f"expected --resume with the folder of a run, got {run} alone; use --output for a new run")
    if output is not None or config is not None:
        raise InputError(f"{run} has its own folder and configuration; leave out --output and --config")

    from uegr.runs.folder import CONFIG, check_started

    check_started(run, f"start a run with `uegr train --dataset DATASET --output {quote(str(run))}`")
    return run / CONFIG, run
