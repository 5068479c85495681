"""The trainer of a run, its arguments, and what watches it."""

import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

from uegr.runs import augment, folder, manifest, probes
from uegr.runs.attacked_rows import Augment
from uegr.runs.checkpoints import KEPT, LogEntries, Manifests
from uegr.runs.manifest import Origin
from uegr.runs.prepare import Prepared
from uegr.runs.reporting import reporters
from uegr.training.config import RunConfig, TrainingConfig


def make_trainer(
    prepared: Prepared, place: Path, origin: Callable[[], Origin], quiet: bool, device: str = "cpu"
) -> tuple[Any, Any]:
    """The trainer and its progress bar."""
    from transformers import DataCollatorWithPadding

    from uegr.training.callbacks import KeepBest, MetricsFile, ShowProgress
    from uegr.training.termination import SaveAndEnd

    quieten()
    config = prepared.config
    bar = ShowProgress(f"{config.method['name']} · {config.model.name} · {', '.join(prepared.sets)}", quiet)
    ending = SaveAndEnd()
    callbacks: list[Any] = [LogEntries(), ending, bar, MetricsFile(place / folder.METRICS)]
    callbacks += probes.probes(prepared)
    if keeps_best(config):
        metric, seal = probes.chosen_by(prepared), lambda folder: manifest.write(folder, origin())
        callbacks.append(KeepBest(place, metric, config.training.patience, seal))
    callbacks.append(Manifests(origin))
    adding, rows = augment.augmented(prepared, place, bar)
    trainer = prepared.heads.trainer(
        prepared.sets,
        rows,
        model=prepared.loaded.model,
        args=arguments(config, place, device),
        data_collator=DataCollatorWithPadding(prepared.loaded.tokenizer),
        processing_class=prepared.loaded.tokenizer,
        callbacks=[*callbacks, *adding],
        method=config.make_method(),
        balance=config.training.balance,
        weight_decay_on=config.training.weight_decay_on,
        skip_nonfinite=config.training.skip_nonfinite,
        averaging=mean_weights(config.training),
        temperature=config.training.temperature,
    )
    without_printing(trainer)
    trainer.ending = ending
    for callback in (*callbacks, *adding):
        if isinstance(callback, KeepBest | Augment | probes.Probe):
            callback.trainer = weakref.proxy(trainer)  # no cycle: the memory of a training is freed at its end
    return trainer, bar


def mean_weights(training: TrainingConfig) -> Any:
    """The mean of the weights that the configuration asks for."""
    from uegr.training.averaging import MeanWeights

    return MeanWeights(training.averaging, training.averaging_start, training.averaging_decay)


def keeps_best(config: RunConfig) -> bool:
    """Whether the best epoch is chosen on validation rows."""
    return config.training.select != "last" or config.training.patience is not None


def quieten() -> None:
    """Let transformers speak only when something is wrong."""
    from transformers.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]


def without_printing(trainer: Any) -> None:
    """Keep transformers' logs off standard output, which belongs to --json."""
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)


def arguments(config: RunConfig, place: Path, device: str = "cpu") -> Any:
    """transformers' arguments for a full configuration, on this kind of device."""
    from transformers import TrainingArguments

    options: Any = config.training
    return TrainingArguments(
        output_dir=str(place),
        num_train_epochs=options.epochs,
        max_steps=options.max_steps or -1,
        per_device_train_batch_size=options.batch_size,
        per_device_eval_batch_size=64,
        gradient_accumulation_steps=options.accumulation,
        learning_rate=options.learning_rate,
        weight_decay=options.weight_decay,
        warmup_steps=options.warmup,  # below 1: a share of all steps
        max_grad_norm=options.clip,
        label_smoothing_factor=options.label_smoothing,
        bf16=options.precision == "bf16",
        train_sampling_strategy="group_by_length" if options.group_by_length else "random",
        eval_strategy="epoch",
        save_strategy="steps" if options.checkpoint_steps else "epoch",
        save_steps=options.checkpoint_steps or 500,
        save_total_limit=KEPT,
        logging_steps=10,
        logging_nan_inf_filter=False,  # training/finite.py checks each step itself
        report_to=reporters(options.report_to),
        disable_tqdm=True,
        seed=config.seed,
        data_seed=config.seed,
        use_cpu=device == "cpu",
    )
