"""What the contract of the methods is held on: tiny models, a batch, and each method at a size that suits them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest
import torch
from peft import LoraConfig, TaskType, get_peft_model
from torch import Tensor, nn
from transformers import BertForTokenClassification, GPT2LMHeadModel

from tests.models.families import tiny
from uegr.methods import METHODS, Method
from uegr.methods.objectives.hull import ConvexHull
from uegr.pieces.schedule import Moment
from uegr.training.step import accumulate, edit_gradients

Batch = dict[str, Tensor]

LENGTHS = (6, 3, 6, 5, 2, 6, 4, 5)  # eight examples of six positions, padded on the right
EARLY = Moment(step=0, total=10, epoch_steps=5, seed=0)
LATE = Moment(step=6, total=10, epoch_steps=5, seed=3)  # past every warm-up and probing

# Published sizes belong to word vectors of unit scale; a tiny random model's are some thirty times smaller.
SMALLER: dict[str, dict[str, Any]] = {
    "fgm": {"epsilon": 0.05},
    "pgd": {"epsilon": 0.05, "step": 0.02},
    "freelb": {"epsilon": 0.05, "step": 0.02},
    "rat": {"epsilon": 0.05},
    "rat_su": {"epsilon": 0.05},
    "awp": {"epsilon": 0.05},
    "neftune": {"alpha": 0.5},
    "roast": {"epsilon": 0.02},
    "ascc": {"steps": 2},
    "adv_ptwd": {"steps": 2},
    "adv_mixout": {"steps": 2},
    "rift": {"steps": 2, "projection": (8, 4)},
}
# Adaptive dropout refuses a model whose rates are all 0 unless its spread is 0 too.
WITHOUT_DROPOUT: dict[str, dict[str, Any]] = {"uegr": {"spread": 0.0}}

# What has no meaning: these methods must say so.
REFUSALS: dict[str, set[str]] = {
    "regression": {"rift"},  # no classes to contrast within
    "token classification": {"rift"},
    "causal language model": {"rift", "lpft"},  # its head is its word vectors
}


def made(name: str, **options: Any) -> Method:
    """The method at a tiny model's size, with a table of substitutes if it needs one."""
    method = METHODS[name](**(SMALLER.get(name, {}) | options))
    if isinstance(method.objective, ConvexHull):
        method.objective.use_table(*synonyms())
    return method


def synonyms() -> tuple[Tensor, Tensor]:
    """Each word from 10 on may stand for the next two, every third for none; 5 to 9, which tell the class, for none."""
    ids = torch.arange(40).unsqueeze(1) + torch.arange(3)
    ids = torch.where(ids < 40, ids, ids - 30)
    alone = (torch.arange(40) < 10) | (torch.arange(40) % 3 == 0)
    return ids, torch.arange(3).eq(0) | ~alone.unsqueeze(1)


def classifier(
    family: str = "bert", labels: int = 3, *, dropout: bool = True, dtype: torch.dtype = torch.float32
) -> nn.Module:
    """A model whose predictions differ from example to example; attention probabilities are never dropped."""
    model, _ = tiny(family, num_labels=labels, dtype=dtype)
    return spread_out(without_dropout(model, attention_only=dropout))


def tagger() -> nn.Module:
    """Token classification."""
    config = tiny("bert", num_labels=3)[0].config
    return spread_out(without_dropout(BertForTokenClassification(config), attention_only=True))


def writer() -> nn.Module:
    """A causal language model, its head tied to its word vectors."""
    config = tiny("gpt2")[0].config
    return spread_out(without_dropout(GPT2LMHeadModel(config), attention_only=True))


def adapted(family: str = "bert") -> nn.Module:
    """A LoRA model: the base is frozen, the adapters and the head train."""
    targets = {"bert": ["query", "value"], "gpt2": ["c_attn"]}[family]
    config = LoraConfig(
        task_type=TaskType.SEQ_CLS, r=2, target_modules=targets, lora_dropout=0.1, fan_in_fan_out=family == "gpt2"
    )
    return spread_out(get_peft_model(classifier(family), config))


def spread_out(model: nn.Module) -> nn.Module:
    """Away from a fresh model's weights, whose logits are all but equal; also what LoRA starts at zero."""
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.requires_grad:
                noise = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
                weight.add_(noise.to(weight.dtype) * 0.2)
    return model.train()


def without_dropout(model: nn.Module, *, attention_only: bool) -> nn.Module:
    for name in ("attention_probs_dropout_prob", "attn_pdrop"):
        if name in model.config.to_dict():
            setattr(model.config, name, 0.0)
    for name, module in model.named_modules():
        if isinstance(module, nn.Dropout) and (not attention_only or name.endswith(("self.dropout", "attn_dropout"))):
            module.p = 0.0
    return model


def batch_for(model: nn.Module, labels: int = 3, seed: int = 1) -> Batch:
    """Eight examples, the labels of a classification or (1) of a regression."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.randint(5, 40, (len(LENGTHS), max(LENGTHS)), generator=generator)
    mask = torch.tensor([[int(t < length) for t in range(max(LENGTHS))] for length in LENGTHS])
    ids = torch.where(mask == 1, ids, model.config.pad_token_id)
    if labels == 1:
        target = torch.randn(len(LENGTHS), generator=generator, dtype=next(model.parameters()).dtype)
    else:
        target = torch.randint(0, labels, (len(LENGTHS),), generator=generator)
    return {"input_ids": ids, "attention_mask": mask, "labels": target}


def token_labels(batch: Batch, classes: int | None) -> Batch:
    """The batch with a label a token (its own id for a causal model), none on padding and on first tokens."""
    labels = batch["input_ids"] if classes is None else batch["input_ids"] % classes
    labels = torch.where(batch["attention_mask"] == 1, labels, -100)
    labels[:, 0] = -100
    return batch | {"labels": labels}


def prepared(method: Method, model: nn.Module, batch: Batch) -> Method:
    """What the engine does before the first step: check, surgery, prepare."""
    method.objective.check(model)
    for operate in method.surgery:
        operate(model)
    method.objective.prepare(model, iter([batch]))
    return method


def step(
    method: Method,
    model: nn.Module,
    batch: Batch,
    *,
    moment: Moment = LATE,
    seed: int = 0,
    backward: Callable[[Tensor], Any] = Tensor.backward,
) -> dict[str, Tensor]:
    """The terms of one step from a clean `.grad` and a known seed; the edited gradient is left in `.grad`."""
    model.zero_grad()
    torch.manual_seed(seed)
    terms = accumulate(method, model, batch, moment, backward)
    edit_gradients(method, model, moment)
    return terms


def gradients(model: nn.Module) -> dict[str, Tensor]:
    """A copy of every trainable parameter's gradient, zero where it has none."""
    return {
        name: torch.zeros_like(weight) if weight.grad is None else weight.grad.clone()
        for name, weight in model.named_parameters()
        if weight.requires_grad
    }


@cache
def vanilla_gradients(labels: int = 3) -> dict[str, Tensor]:
    """Of plain fine-tuning in float64 without dropout."""
    model = classifier(labels=labels, dropout=False, dtype=torch.float64)
    step(METHODS["vanilla"](), model, batch_for(model, labels))
    return gradients(model)


@contextmanager
def unless_refused(name: str, task: str) -> Iterator[None]:
    """A refusal that REFUSALS expects is a skip with the reason that the method gives; any other is a failure."""
    if name not in REFUSALS.get(task, ()):
        yield
        return
    with pytest.raises(ValueError, match=r"expected .* got .*;") as refusal:
        yield
    print(f"{name} refuses {task}: {refusal.value}")
    pytest.skip(f"{name} refuses {task}: {refusal.value}")


def shaken(model: nn.Module, seed: int = 7) -> nn.Module:
    """The model some steps later."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.05 * torch.randn(weight.shape, generator=generator, dtype=torch.float64))
    return model
