"""LoRA (Hu 2022): the encoder stays as it is, low-rank updates of its matrices and the head are trained, then merged.

    W x + b   becomes   (W + alpha / rank * B A) x + b,   A random, B zero at the start

The adapters are PEFT's. Where the paper adapts W_q and W_v, here the default is every linear layer of the encoder: no
family needs a table of names, and Dettmers 2023 finds it as good as full fine-tuning.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from uegr.errors import InputError
from uegr.models.loaded import Loaded

if TYPE_CHECKING:
    from torch import nn

RANK = 8
WEIGHTS = "adapter_model.safetensors"


def adapted(
    loaded: Loaded,
    *,
    rank: int = RANK,
    alpha: float | None = None,
    targets: Sequence[str] | None = None,
    dropout: float = 0.1,
    seed: int = 0,
) -> Loaded:
    """The model with adapters of this rank; `alpha` defaults to twice the rank, `targets` are ends of names.

    What is not part of the pretrained encoder (the head, and a pooler) is trained in full.
    """
    peft = library()
    import torch

    config = peft.LoraConfig(
        r=rank,
        lora_alpha=2 * rank if alpha is None else alpha,
        lora_dropout=dropout,
        target_modules=chosen(loaded, targets),
        modules_to_save=heads(loaded.model),
        fan_in_fan_out=bool(turned(loaded.model)),
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = peft.get_peft_model(loaded.model, config)
    model.peft_config["default"].base_model_name_or_path = None  # otherwise saving asks the hub about the base
    return replace(loaded, model=model)


def library() -> Any:
    """The package PEFT, or an error with the remedy."""
    try:
        import peft
    except ImportError:
        raise InputError("expected the package peft for LoRA, got none; pip install 'uegr[peft]'") from None
    return peft


def linear(model: nn.Module) -> dict[str, nn.Module]:
    """The matrices that can be adapted, by name: those of the encoder, without its pooler.

    >>> from torch import nn
    >>> linear(nn.ModuleDict({"first": nn.Linear(1, 1), "pooler": nn.Linear(1, 1)})).keys()
    dict_keys(['first'])
    """
    from torch.nn import Linear
    from transformers import Conv1D

    own = set(heads(model))
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, Linear | Conv1D) and own.isdisjoint(name.split("."))
    }


def turned(model: nn.Module) -> dict[str, nn.Module]:
    """GPT-2's layers, whose matrices are transposed."""
    from transformers import Conv1D

    return {name: module for name, module in linear(model).items() if isinstance(module, Conv1D)}


def heads(model: nn.Module) -> list[str]:
    """What is trained in full: every part with weights beside the encoder, and the encoder's pooler."""
    encoder = getattr(model, "base_model", None)
    beside = [
        name
        for name, part in model.named_children()
        if encoder is not None and part is not encoder and any(True for _ in part.parameters())
    ]
    poolers = {"pooler" for name, _ in model.named_parameters() if "pooler" in name.split(".")}
    return sorted({*beside, *poolers})


def chosen(loaded: Loaded, targets: Sequence[str] | None) -> list[str]:
    """The full names of the layers to adapt."""
    found = list(linear(loaded.model))
    if targets is not None:
        unknown = [end for end in targets if not any(ends(name, end) for name in found)]
        if unknown:
            last = sorted({name.rpartition(".")[2] for name in found})
            raise InputError(f"no layer of {loaded.name} ends in {unknown[0]}; choose from {', '.join(last)}")
        found = [name for name in found if any(ends(name, end) for end in targets)]
    if not found:
        raise InputError(f"{loaded.name} has no linear layer below its head to adapt; train it without lora")
    return found


def ends(name: str, end: str) -> bool:
    return name == end or name.endswith(f".{end}")


def merged(model: Any, best: Path | None = None) -> Any:
    """The ordinary model with the adapters added to its matrices; those in the folder `best`, where it has some."""
    peft = library()
    if best is not None and (best / WEIGHTS).is_file():
        peft.set_peft_model_state_dict(model, peft.load_peft_weights(str(best), device="cpu"))
    return model.merge_and_unload()
