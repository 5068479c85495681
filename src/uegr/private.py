"""Every private name of torch, transformers, accelerate and datasets that uegr uses, and how it expects it to be.

A library may change such a name without a warning. tests/test_private.py compares this list with the installed versions
and with the source: a name that changed, a name that is missing here and a name that is no longer used all fail there.
"""

import inspect
import pkgutil
from collections.abc import Iterable
from typing import Any, NamedTuple

ATTRIBUTE = "attribute"


class Private(NamedTuple):
    """One name: whose it is, its parameters (or `ATTRIBUTE`), and what it is used for."""

    owner: str
    name: str
    form: str
    use: str


TRAINER, MODEL = "transformers:Trainer", "transformers:PreTrainedModel"
NAMES = (
    Private(TRAINER, "_get_train_sampler", "(self, train_dataset)", "an order that depends on seed and epoch alone"),
    Private(TRAINER, "_get_num_items_in_batch", "(self, batch_samples, device)", "labelled items, for every model"),
    Private(TRAINER, "_get_grad_norm", "(self, model, grad_norm)", "stops at a gradient that is not finite"),
    Private(TRAINER, "_prepare_inputs", "(self, inputs)", "a batch on its device"),
    Private(TRAINER, "_save_optimizer_and_scheduler", "(self, output_dir)", "the method's state in a checkpoint"),
    Private(TRAINER, "_load_optimizer_and_scheduler", "(self, checkpoint)", "the method's state from a checkpoint"),
    Private(TRAINER, "_tr_loss", ATTRIBUTE, "the losses since the last log entry, in a checkpoint"),
    Private(TRAINER, "_globalstep_last_logged", ATTRIBUTE, "the step of that entry"),
    Private(TRAINER, "_loss_shifts_labels", ATTRIBUTE, "a causal loss has no label for the first token"),
    Private(TRAINER, "model_accepts_loss_kwargs", ATTRIBUTE, "does the model's loss divide by the number of items"),
    Private(TRAINER, "current_gradient_accumulation_steps", ATTRIBUTE, "micro-batches of this step"),
    Private(MODEL, "_init_weights", "(self, module)", "the weights that a checkpoint does not bring"),
    Private("transformers.initialization", "_is_hf_initialized", ATTRIBUTE, "marks what a checkpoint has brought"),
    Private(MODEL, "_supports_sdpa", ATTRIBUTE, "an MT-DNN leaves attention to its encoder"),
    Private(MODEL, "_supports_flash_attn", ATTRIBUTE, "the same"),
    Private(MODEL, "_supports_flex_attn", ATTRIBUTE, "the same"),
    Private(MODEL, "_supports_attention_backend", ATTRIBUTE, "the same"),
    Private("transformers.utils.generic", "can_return_tuple", "(func)", "return_dict=False, for own models"),
    Private("transformers.models.bert.modeling_bert", "BertEncoder", "(config)", "uegr.testing: a failing forward"),
    Private("accelerate.accelerator", "_original_forward", ATTRIBUTE, "undoes mixed precision after training"),
    Private("datasets:Dataset", "_fingerprint", ATTRIBUTE, "the key under which results about rows are cached"),
    Private("datasets.table:MemoryMappedTable", "from_file", "(filename, replays)", "an Arrow file, mapped"),
    Private("torch.nn:Module", "_modules", ATTRIBUTE, "a module inside its wrapper"),
    Private("torch.nn:Module", "_parameters", ATTRIBUTE, "parameters that a layer owns itself"),
    Private("torch.nn:Module", "_buffers", ATTRIBUTE, "uegr.testing: nothing temporary stays"),
    Private("torch:Tensor", "_backward_hooks", ATTRIBUTE, "the same"),
    Private("torch:Tensor", "_post_accumulate_grad_hooks", ATTRIBUTE, "the same"),
    Private("torch._dynamo.eval_frame", "_orig_mod", ATTRIBUTE, "the module inside a compiled one"),
)


def changes(names: Iterable[Private] = NAMES) -> list[str]:
    """What is not as expected in the installed libraries, a line per name.

    >>> changes([Private("transformers:Trainer", "_prepare_inputs", "(self, batch)", "an example")])
    ['transformers:Trainer._prepare_inputs: expected (self, batch), got (self, inputs)']
    >>> changes([Private("transformers:Trainer", "_no_such_thing", ATTRIBUTE, "an example")])
    ['transformers:Trainer._no_such_thing: expected attribute, got nothing']
    """
    found = [(private, form(private)) for private in names]
    return [f"{p.owner}.{p.name}: expected {p.form}, got {got}" for p, got in found if got != p.form]


def form(private: Private) -> str:
    """The parameters' names, or whether there is such an attribute."""
    owner = pkgutil.resolve_name(private.owner)
    if private.form == ATTRIBUTE:
        return ATTRIBUTE if hasattr(owner, private.name) or private.name in source(owner) else "nothing"
    value = getattr(owner, private.name, None)
    if value is None:
        return "nothing"
    return f"({', '.join(inspect.signature(value).parameters)})"


def source(owner: Any) -> str:
    """The text of a module, or of the module of a class: instance attributes are only named there."""
    return inspect.getsource(inspect.getmodule(owner) or owner)
