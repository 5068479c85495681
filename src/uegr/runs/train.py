"""One run, from configuration to result.json: data, model, training by a method, scores on validation and test."""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from uegr import data as data_room
from uegr.data import Data
from uegr.errors import InputError, warn
from uegr.runs import augment
from uegr.runs import folder as store
from uegr.runs.outcome import final_model, keep, machine, save, split_scores
from uegr.training.config import RunConfig


def train(
    config: RunConfig, folder: Path, *, resume: bool = False, quiet: bool = False, development: bool = False
) -> dict[str, Any]:
    """Train one run into `folder`; a finished one is returned as it is. Nothing is written if the input is bad.

    `development` is for a search, which must not see test rows: the run then has training and validation rows only.
    """
    if config.model.name == "mtdnn":
        from uegr.runs import multitask

        return multitask.train(config, folder, resume=resume, quiet=quiet, development=development)
    if config.training.teachers:
        raise InputError(f"teachers are for --model mtdnn, got {config.model.name}; leave them out")
    resolved = config.resolved()
    store.check_folder(folder, resolved, resume)
    if store.is_done(folder):
        return store.read_result(folder)
    data = without_test(load_data(config)) if development else load_data(config)
    loaded = load_model(config, data)
    splits = tokenised_splits(config, data, loaded)
    refuse(config, loaded)
    augment.refuse(config, data)
    if int(os.environ.get("RANK", 0)) == 0:
        store.write_config(folder, resolved)
    trainer, bar = make_trainer(config, folder, data, loaded, splits, quiet)
    spent = fitted(trainer, bar, folder)
    return finish(config, resolved, folder, data, loaded, trainer, spent)


def fitted(trainer: Any, bar: Any, folder: Path) -> dict[str, Any]:
    """Train, from the last checkpoint on where there is one; how long it took, and whether it went on from one."""
    checkpoint = store.last_checkpoint(folder)
    started = time.time()
    try:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    finally:
        bar.close()
    for wrapper in ("forward", "_original_forward"):  # accelerate's, which would go on in mixed precision
        vars(trainer.model).pop(wrapper, None)
    return {"seconds": round(time.time() - started, 1), "resumed": checkpoint is not None}


def refuse(config: RunConfig, loaded: Any) -> None:
    """What the method cannot do with the model is said before anything is written."""
    from uegr.training.engine import give_substitutes

    method = config.make_method()
    give_substitutes(method, loaded.tokenizer)
    try:
        method.objective.check(loaded.model)
    except ValueError as error:
        raise InputError(f"{method.name} on {config.model.name}: {error}") from None


def tokenised_splits(config: RunConfig, data: Data, loaded: Any) -> tuple[Any, Any]:
    """The training and the validation rows as token ids."""
    from uegr.models.tokens import tokenized

    names = ("train", data.validation or "validation")
    train, validation = (tokenized(data.splits[name], loaded.tokenizer, config.training.max_length) for name in names)
    return train, validation


def load_data(config: RunConfig) -> Data:
    """The rows to train and validate on; a validation split is held out where there is none."""
    options = config.dataset
    if "," in options.name and config.model.name != "mtdnn" and not Path(options.name).exists():
        raise InputError(f"expected one data set, got {options.name}; several want --model mtdnn")
    data = data_room.load(options.name, labelled=True, **options.reading())
    if "train" not in data.splits:
        raise InputError(
            f"{data.name} has no training split, only {', '.join(data.splits)}; use it with `uegr evaluate`"
        )
    if data.validation is None:
        data = data_room.holdout(data, options.holdout, config.seed)
    if options.train_size is not None or options.train_fraction is not None:
        smaller = data_room.subsample(
            data.splits["train"], size=options.train_size, fraction=options.train_fraction, seed=config.seed
        )
        data = data.with_splits(train=smaller)
    return data


def without_test(data: Data) -> Data:
    """The rows that a search may look at."""
    return replace(data, splits={name: data.splits[name] for name in ("train", data.validation or "validation")})


def load_model(config: RunConfig, data: Data) -> Any:
    """The classifier with a head for the data's labels; without pretraining, over the training split's vocabulary."""
    from uegr import models

    options, regression = config.model, data.task == "regression"
    head: dict[str, Any] = {
        "labels": None if regression else data.labels,
        "num_labels": 1 if regression else None,
        "problem_type": "regression" if regression else None,
        "seed": config.seed,
        "dtype": options.dtype,
    }
    card = models.cards().get(options.name)
    if card is not None and card.scratch:
        from uegr.data.vocabulary import vocabulary

        if options.lora:
            raise InputError(f"lora adapts a pretrained model, and {options.name} is trained from scratch")
        words = vocabulary(data.splits["train"], max_length=config.training.max_length or 512)
        return begun(models.build(card.name, words, vectors=options.vectors, **head, **options.settings), data)
    if options.vectors or options.settings:
        raise InputError(f"vectors and settings are for models without pretraining, and {options.name} has it")
    loaded = models.load(options.name, attention=options.attention, trust_remote_code=options.trust_remote_code, **head)
    return with_adapters(config, begun(loaded, data)) if options.lora else begun(loaded, data)


def begun(loaded: Any, data: Data) -> Any:
    """The model, where it is a regression with a fresh head, beginning at the scale of its labels."""
    if data.task == "regression":
        from uegr.models.regression import begin

        labels = scale(data)
        if not begin(loaded, labels) and abs(labels.mean) > labels.spread:
            warn(
                f"the head of {loaded.name} has no bias and begins around 0, but the labels are around {labels.mean:g};"
                " subtract that from them"
            )
    return loaded


def scale(data: Data) -> Any:
    """Mean and spread of a regression's training labels."""
    from uegr.models.regression import scale_of

    return scale_of(data.splits["train"].with_format("numpy", columns=["label"])[:]["label"])


def with_adapters(config: RunConfig, loaded: Any) -> Any:
    """The model with LoRA's adapters."""
    from uegr.models.lora import adapted

    options = config.model
    return adapted(
        loaded,
        rank=options.lora or 0,
        alpha=options.lora_alpha,
        targets=options.lora_targets,
        dropout=options.lora_dropout,
        seed=config.seed,
    )


def make_trainer(
    config: RunConfig, folder: Path, data: Data, loaded: Any, splits: tuple[Any, Any], quiet: bool
) -> tuple[Any, Any]:
    """The trainer and its progress bar."""
    from transformers import DataCollatorWithPadding

    from uegr.training.augment import Augment
    from uegr.training.callbacks import KeepBest, MetricsFile, ShowProgress
    from uegr.training.engine import RobustTrainer

    quieten()
    bar = ShowProgress(f"{config.method.get('name', 'uegr')} · {config.model.name} · {data.name}", quiet)
    callbacks: list[Any] = [bar, MetricsFile(folder / store.METRICS)]
    if config.training.select == "best" or config.training.patience:
        callbacks.append(KeepBest(folder / "best", data.metrics[0], config.training.patience))
    if (adding := augment.augmentation(config, folder, data, loaded, splits[0], bar)) is not None:
        callbacks.append(adding)
    trainer = RobustTrainer(
        model=loaded.model,
        args=arguments(config, folder),
        train_dataset=splits[0] if adding is None else adding.rows,
        eval_dataset=splits[1],
        data_collator=DataCollatorWithPadding(loaded.tokenizer),
        processing_class=loaded.tokenizer,
        compute_metrics=scorer(data),
        callbacks=callbacks,
        method=config.make_method(),
    )
    without_printing(trainer)
    for callback in callbacks:
        if isinstance(callback, KeepBest | Augment):
            callback.trainer = trainer
    return trainer, bar


def quieten() -> None:
    """transformers speaks only when something is wrong."""
    from transformers.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]


def without_printing(trainer: Any) -> None:
    """transformers prints its logs to standard output, which belongs to --json."""
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)


def arguments(config: RunConfig, folder: Path) -> Any:
    """transformers' arguments for this configuration."""
    from transformers import TrainingArguments

    options = config.full_training()
    return TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=options.epochs,
        max_steps=options.max_steps or -1,
        per_device_train_batch_size=options.batch_size,
        per_device_eval_batch_size=64,
        gradient_accumulation_steps=options.accumulation,
        learning_rate=options.learning_rate,
        weight_decay=options.weight_decay,
        warmup_steps=options.warmup,  # below 1: a share of all steps
        max_grad_norm=options.clip,
        bf16=options.precision == "bf16",
        train_sampling_strategy="group_by_length" if options.group_by_length else "random",
        eval_strategy="epoch",
        save_strategy="steps" if options.checkpoint_steps else "epoch",
        save_steps=options.checkpoint_steps or 500,
        save_total_limit=1,
        logging_steps=10,
        report_to=options.report_to,
        disable_tqdm=True,
        seed=config.seed,
        data_seed=config.seed,
        use_cpu=not torch.cuda.is_available(),
    )


def scorer(data: Data) -> Callable[[Any], dict[str, float]]:
    """The data's metrics, for the evaluations during training."""
    from uegr.evaluation.metrics import score

    def compute(prediction: Any) -> dict[str, float]:
        return score(data.metrics, prediction.predictions, prediction.label_ids)

    return compute


def finish(
    config: RunConfig,
    resolved: dict[str, Any],
    folder: Path,
    data: Data,
    loaded: Any,
    trainer: Any,
    spent: dict[str, Any],
) -> dict[str, Any]:
    """Keep the chosen weights, score them, and write result.json last."""
    if not trainer.is_world_process_zero():
        return {}
    loaded = replace(loaded, model=final_model(config, folder, loaded.model))
    save(loaded, folder)
    result = {
        "config": resolved,
        "labels": data.labels,
        "task": data.task,
        "scores": {name: split_scores(data, name, loaded, config) for name in data.splits if name != "train"},
        "training": {
            "rows": len(data.splits["train"]),
            "steps": trainer.state.global_step,
            "epochs": trainer.state.epoch,
            **spent,
            **augment.result(config, folder),
        },
        "machine": machine(),
        "command": " ".join(["uegr", *sys.argv[1:]]),
    }
    keep(result, folder)
    return result
