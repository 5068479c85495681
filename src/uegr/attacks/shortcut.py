"""Leave out what a classifier's head never reads: in the last layer, every token but the first.

The heads of BERT and its kin read the first token's last state alone, so that the last layer's output projection and
feed-forward block need only that row: an eighth of the work of six layers, and the same logits to rounding.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

READS_FIRST_TOKEN = (  # by exact class: a subclass may read more
    "BertForSequenceClassification",
    "ElectraForSequenceClassification",
    "RobertaForSequenceClassification",
    "XLMRobertaForSequenceClassification",
)
LAST_OF = re.compile(r"encoder\.layer\.\d+\.attention\.output$")


@contextmanager
def first_token_only(model: Any) -> Iterator[None]:
    """Inside, the last layer of a known classifier goes on with the first token after its attention."""
    known = type(model).__name__ in READS_FIRST_TOKEN and type(model).__module__.startswith("transformers.")
    outputs = [module for name, module in model.named_modules() if LAST_OF.search(name)] if known else []
    handles = [module.register_forward_pre_hook(first_row) for module in outputs[-1:]]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def first_row(module: Any, states: tuple[Any, ...]) -> tuple[Any, ...]:
    """(B, T, d) -> (B, 1, d), of the attention's result and of what is added to it."""
    return tuple(state[:, :1] for state in states)
