"""Plain fine-tuning.

Devlin, Chang, Lee and Toutanova, "BERT: Pre-training of deep bidirectional transformers for language understanding",
NAACL 2019, section 3.2.

    L = CE(z(x), y)

`dropout` sets the rate of every nn.Dropout (0 is the "w/o dropout" row of the tables); None leaves the model's own.
The loss is the model's own, so that the weights after training are bitwise those of `transformers.Trainer`. 1 forward
and 1 backward pass.
"""

from collections.abc import Iterator

from torch import nn

from uegr.methods.contract import Method, Objective, Terms, configured, task_loss
from uegr.pieces.embedding import Batch
from uegr.pieces.sites import sites


class Vanilla(Objective):
    """One clean pass."""

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        yield {"task": task_loss(model(**batch))}


@configured
def vanilla(*, dropout: float | None = None) -> Method:
    """Plain fine-tuning with the model's own loss."""
    if dropout is None:
        return Method(Vanilla())
    if not 0 <= dropout < 1:
        raise ValueError(f"expected 0 <= dropout < 1, got {dropout}")

    def set_rates(model: nn.Module) -> None:
        for site in sites(model).values():
            site.p = dropout

    return Method(Vanilla(), surgery=(set_rates,))
