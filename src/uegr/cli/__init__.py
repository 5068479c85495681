"""The command line. Every mistake of the user is one line on standard error and exit code 2."""

import json
import os
import sys
import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from uegr.cli import collector
from uegr.errors import InputError, did_you_mean

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Fine-tune language models that generalise and withstand perturbation, and prove it.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bars.")]
Run = Annotated[Path, typer.Argument(help="The folder of a finished run.")]


@app.command()
def train(
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The folder; default: runs/DATASET-MODEL-METHOD-SEED.")
    ] = None,
    method: Annotated[str | None, typer.Option(help="A method (`uegr list methods`), or module:function.")] = None,
    model: Annotated[str | None, typer.Option(help="An alias, a folder or a hub name.")] = None,
    dataset: Annotated[str | None, typer.Option(help="A card, a file or a folder.")] = None,
    config: Annotated[Path | None, typer.Option(help="A YAML file; flags win over it.")] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="As in method.epsilon=0.2 or training.epochs=5; repeatable.")
    ] = None,
    vectors: Annotated[str | None, typer.Option(help="Word vectors for a model without pretraining.")] = None,
    attention: Annotated[
        str | None, typer.Option(help="eager, sdpa or another that transformers has; default: the model's own.")
    ] = None,
    dtype: Annotated[str | None, typer.Option(help="Of the weights, float32 unless said.")] = None,
    lora: Annotated[
        bool, typer.Option("--lora", help="Train adapters of rank 8, merged at the end (--set model.lora=16).")
    ] = False,
    text_column: Annotated[str | None, typer.Option(help="The column of the text.")] = None,
    pair_column: Annotated[str | None, typer.Option(help="The column of the second text.")] = None,
    label_column: Annotated[str | None, typer.Option(help="The column of the label.")] = None,
    train_size: Annotated[int | None, typer.Option(help="Train on this many rows, stratified.")] = None,
    train_fraction: Annotated[float | None, typer.Option(help="Train on this share of the rows.")] = None,
    max_length: Annotated[int | None, typer.Option(help="Cut texts after this many tokens.")] = None,
    epochs: Annotated[float | None, typer.Option(help="Passes over the training rows.")] = None,
    seed: Annotated[int | None, typer.Option(help="Decides every random number.")] = None,
    augment: Annotated[
        str | None, typer.Option(help="Attack the model before each epoch, as by pwws, and train on what is found too.")
    ] = None,
    augment_examples: Annotated[
        int | None, typer.Option(help="Rows to attack before an epoch; default: a fifth of them, at most 1,000.")
    ] = None,
    augment_start: Annotated[int | None, typer.Option(help="Epochs before the first attack; default: 1.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted run.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Fine-tune a model by a method."""
    from uegr.training.config import read_config

    flags = {
        "method.name": method,
        "model.name": model,
        "model.vectors": vectors,
        "model.attention": attention,
        "model.dtype": dtype,
        "model.lora": 8 if lora else None,
        "dataset.name": dataset,
        "dataset.text_column": text_column,
        "dataset.pair_column": pair_column,
        "dataset.label_column": label_column,
        "dataset.train_size": train_size,
        "dataset.train_fraction": train_fraction,
        "training.max_length": max_length,
        "training.epochs": epochs,
        "augment.name": augment,
        "augment.examples": augment_examples,
        "augment.start": augment_start,
        "seed": seed,
    }
    chosen = read_config(config, flags, settings or [])

    from uegr.runs.train import train as train_run

    output = output or Path("runs") / chosen.label()
    with collector.usual():
        result = train_run(chosen, output, resume=resume, quiet=quiet)
    if as_json:
        show_json(result)
    elif result:
        from uegr.report.terminal import show_scores

        show_scores(result, output)


@app.command()
def evaluate(
    run: Run,
    dataset: Annotated[list[str] | None, typer.Option(help="Also score these sets; repeatable.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Measure all there is to measure.")] = False,
    rows: Annotated[int | None, typer.Option(help="At most this many rows of each set.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Measure a finished run: clean, under perturbation, on other domains."""
    from uegr.runs.evaluate import measure

    figures = measure(run, datasets=dataset or [], everything=everything, rows=rows, quiet=quiet)
    if as_json:
        show_json(figures)
    else:
        from uegr.report.terminal import show_figures

        show_figures(figures)


@app.command()
def attack(
    run: Run,
    attack: Annotated[str, typer.Option(help="pwws, genetic, textfooler, deepwordbug or checklist.")] = "pwws",
    examples: Annotated[int, typer.Option(help="How many held-out rows, stratified.", min=1)] = 200,
    dataset: Annotated[str | None, typer.Option(help="Rows of another set; default: the run's own.")] = None,
    surface: Annotated[
        str, typer.Option(help="What may replace what: wordnet, counterfitted, cilin, a file.")
    ] = "default",
    side: Annotated[str, typer.Option(help="Of a pair, the side that may change: first or second.")] = "second",
    budget: Annotated[int | None, typer.Option(help="At most this many texts scored an example.")] = None,
    seed: Annotated[int, typer.Option(help="For attacks that draw.")] = 0,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="The attack's own, as in variant=greedy; repeatable.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with an interrupted attack.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Attack a finished run with word substitutions."""
    from dataclasses import asdict

    from rich.console import Console

    from uegr.attacks.show import shown
    from uegr.runs.attack import attack_run
    from uegr.training.config import parsed

    pairs = [setting.partition("=") for setting in settings or []]
    results = attack_run(
        run,
        attack=attack,
        examples=examples,
        dataset=dataset,
        surface=surface,
        side=side,
        budget=budget,
        seed=seed,
        resume=resume,
        quiet=quiet,
        settings={key: parsed(value) for key, _, value in pairs},
    )
    if as_json:
        show_json(asdict(results.summary))
    else:
        Console().print(shown(results))


@app.command()
def predict(
    run: Run,
    source: Annotated[str | None, typer.Argument(help="A file, a folder, a card, or - for lines of text.")] = None,
    text: Annotated[list[str] | None, typer.Option(help="A text to classify; repeatable.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="JSON lines; default: the terminal.")] = None,
    split: Annotated[str | None, typer.Option(help="The split of a folder or card.")] = None,
    text_column: Annotated[str | None, typer.Option(help="The column of the text.")] = None,
    pair_column: Annotated[str | None, typer.Option(help="The column of the second text.")] = None,
    task: Annotated[str | None, typer.Option(help="The head of a run on several data sets.")] = None,
    quiet: Quiet = False,
) -> None:
    """Classify new texts with a finished run, one JSON line each."""
    from uegr.runs.predict import predict_lines

    if (source is None) == (not text):
        raise InputError("expected either a file to classify or --text, got both or neither")
    texts = sys.stdin.read().splitlines() if source == "-" else text or None
    chosen = {"text_column": text_column, "pair_column": pair_column, "task": task}
    predict_lines(run, source=None if texts is not None else source, texts=texts, output=output, split=split, **chosen)


@app.command()
def export(
    run: Run,
    onnx: Annotated[bool, typer.Option("--onnx", help="One ONNX file, checked against the model.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The file; default: RUN/model.onnx.")] = None,
) -> None:
    """Write the model of a finished run in another form."""
    if not onnx:
        raise InputError("expected a form to export to, got none; say --onnx (the run's folder is safetensors already)")
    from uegr.runs.export import export_onnx

    made = export_onnx(run, output)
    typer.echo(f"{made.path}  (differs by at most {made.difference:.1e} in a probability, on {made.texts} texts)")


@app.command("list")
def list_things(
    what: Annotated[str, typer.Argument(help="methods, models or datasets.")],
    as_json: Json = False,
) -> None:
    """List what there is."""
    from uegr.cli import listings

    kinds = {"methods": listings.methods, "models": listings.models, "datasets": listings.datasets}
    if what not in kinds:
        raise InputError(f"nothing to list under {what}; {did_you_mean(what, kinds)}")
    entries = kinds[what]()
    if as_json:
        show_json(entries)
    else:
        listings.show(what, entries)


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for runs and page.")] = Path("runs/demo"),
    quiet: Quiet = False,
) -> None:
    """Train vanilla and UEGR on movie-review snippets, measure both, write a page."""
    from uegr.cli.demo import run_demo

    run_demo(output, quiet=quiet)


models_app = typer.Typer(no_args_is_help=True, help="Fetch the weights of an alias.")
app.add_typer(models_app, name="models")


@models_app.command("fetch")
def fetch_model(name: Annotated[str, typer.Argument(help="An alias (`uegr list models`).")]) -> None:
    """Download, check and convert the weights of an alias; they are kept in the cache."""
    from uegr.models import fetch
    from uegr.models.card import card
    from uegr.training.callbacks import progress_bar

    card(name)  # a wrong name is said before a bar is shown
    with progress_bar() as bar:
        task = bar.add_task(name, total=None, note="")
        folder = fetch(name, lambda stage, step, steps: bar.update(task, completed=step, total=steps, note=stage))
    typer.echo(str(folder))


def mount() -> None:
    """The commands that live in their own rooms: `uegr data list|show|check|stats`, `uegr benchmark`, `uegr report`."""
    from uegr.cli.benchmark import benchmark
    from uegr.cli.data import app as data_app
    from uegr.cli.report import report

    app.add_typer(data_app, name="data", help="Look at data sets: list, show, check, stats.")
    app.command()(benchmark)
    app.command()(report)


def show_json(content: Any) -> None:
    """JSON for programs, on standard output."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False))


def main() -> None:
    """The entry point: mistakes become one line, an interruption says how to go on."""
    collector.rare()
    from uegr.errors import DataWarning, TrainingWarning

    warnings.filterwarnings("ignore")
    warnings.filterwarnings("always", category=DataWarning)
    warnings.filterwarnings("always", category=TrainingWarning)
    warnings.showwarning = lambda message, *args, **kwargs: typer.echo(f"uegr: warning: {message}", err=True)
    quieten()
    mount()
    try:
        app()
    except InputError as error:
        typer.echo(f"uegr: error: {' '.join(str(error).split())}", err=True)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        typer.echo("uegr: interrupted; what is finished is kept, and `uegr train ... --resume` goes on", err=True)
        raise SystemExit(130) from None


def quieten() -> None:
    """The libraries below speak only when something is wrong."""
    for name, value in {"TRANSFORMERS_VERBOSITY": "error", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
