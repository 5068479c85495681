"""A classifier whose last linear layer is an MLP: width -> hidden, ReLU, hidden -> labels (RIFT's release: 768-256).

The configuration holds the hidden size as `uegr_mlp`, so that `uegr.models.load` and `uegr.open_run` make the same
model again. The Auto classes of transformers do not know this head: they load the encoder, report the head as unused
and draw a linear one.
"""

from functools import cache
from typing import Any

from torch import nn
from transformers import MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING, PreTrainedConfig, PreTrainedModel

from uegr.errors import InputError


def classifier_with_mlp(config: PreTrainedConfig) -> type[PreTrainedModel]:
    """The sequence classifier of this kind of model, with an MLP of `config.uegr_mlp` hidden units."""
    if type(config) not in MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING:
        raise InputError(f"expected a sequence classifier of transformers for an MLP head, got {config.model_type}")
    return with_mlp(MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING[type(config)])


@cache
def with_mlp(kind: type[PreTrainedModel]) -> type[PreTrainedModel]:
    """The same class with the MLP in place of its last linear layer."""

    def __init__(self: Any, config: PreTrainedConfig, *args: Any, **kwargs: Any) -> None:
        kind.__init__(self, config, *args, **kwargs)
        name, last = final_layer(self)
        hidden = nn.Linear(last.in_features, config.uegr_mlp)
        head = nn.Sequential(hidden, nn.ReLU(), nn.Linear(config.uegr_mlp, last.out_features))
        self.set_submodule(name, head)

    return type(f"{kind.__name__}WithMLP", (kind,), {"__init__": __init__, "__module__": __name__})


def final_layer(model: PreTrainedModel) -> tuple[str, nn.Linear]:
    """The name and the module of the linear layer that gives the logits."""
    inside = f"{model.base_model_prefix}."
    found = [
        (name, module)
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear) and module.out_features == model.config.num_labels
    ]
    outside = [(name, module) for name, module in found if not name.startswith(inside)]
    if not outside:
        raise InputError(f"{model.config.model_type} has no linear layer after its encoder that an MLP could replace")
    return outside[-1]
