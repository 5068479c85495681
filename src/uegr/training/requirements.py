"""What a training needs: a method, labels, substitutes for some methods. What cannot work is an error at the start."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from uegr.errors import InputError, TrainingWarning
from uegr.methods import Method
from uegr.methods.contract import is_factory
from uegr.training.config import build_method


def as_method(given: Any) -> Method:
    """A method, or the one of this name with its defaults.

    >>> as_method("fgm")
    fgm(epsilon=1.0, epsilon_relative=False, epsilon_warmup=0.0, norm='example')
    """
    if isinstance(given, str):
        return build_method(given, {})
    if not isinstance(given, Method):
        call = f"; call it: methods.{given.__name__}()" if is_factory(given) else ", such as methods.uegr()"
        raise InputError(f"expected a method or its name, got {getattr(given, '__name__', given)!r:.60}{call}")
    return given


def check_labelled(batch: Mapping[str, Any], names: Sequence[str]) -> None:
    """Raise for a batch without labels, which has nothing to learn from; `names` are those that the model takes."""
    wanted = list(names) or ["labels"]
    if not any(name in batch for name in wanted):
        raise InputError(
            f"expected {' or '.join(wanted)} in each batch, got only {', '.join(batch)}; "
            "give train_dataset a column of that name"
        )


def refuse(trainer: Any) -> None:
    """Raise for what cannot work, with the remedy."""
    method: Method = trainer.method
    if trainer.args.n_gpu > 1:
        raise InputError("expected one GPU per process, got DataParallel over several; start with torchrun instead")
    touches = method.gradients or not method.objective.keeps_weights
    if touches and (trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled):
        raise InputError(
            f"expected whole weights for {method.name}, got FSDP or DeepSpeed, which shard them; use torchrun"
        )
    if trainer.is_deepspeed_enabled and method.objective.yields > 1:
        raise InputError(
            f"expected one backward per step for DeepSpeed, which steps the optimizer after each of them, got "
            f"{method.objective.yields} of {method.name}; start with torchrun (DDP), without DeepSpeed"
        )
    give_substitutes(method, trainer.processing_class)
    try:
        method.objective.check(trainer.model)
    except ValueError as error:
        raise InputError(f"{method.name}: {error}") from None


def warn(trainer: Any) -> None:
    """Warn when the loss of a step depends on how its examples are divided."""
    micro_batches = trainer.args.gradient_accumulation_steps * trainer.args.world_size
    objective = trainer.method.objective
    if objective.batchwise and micro_batches > 1:
        message = (
            f"{trainer.method.name}: {micro_batches} micro-batches per step give another gradient than one batch of "
            f"the same examples: {objective.batchwise}"
        )
        warnings.warn(message, TrainingWarning, stacklevel=3)


def give_substitutes(method: Method, tokenizer: Any) -> None:
    """What may replace what, by token id, for a method that attacks by words and has not been told."""
    objective: Any = method.objective
    if not objective.needs_tokenizer or tokenizer is None or objective.table is not None:
        return
    from uegr.attacks import load_surface
    from uegr.attacks.vocabulary import tables

    objective.use_table(*tables(tokenizer, load_surface(objective.substitutes), objective.limit))
