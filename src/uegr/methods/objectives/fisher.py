"""An objective whose single examples are also back-propagated one by one, for eq. 7 of UEGR as it is printed.

    s = sum over the examples (x, y) of the batch of (d L_train(x, y) / d theta)^2          UEGR eq. 7, the diagonal

Each example runs alone through the whole forward stage, with its own perturbation, sub-models and dropout masks. That
repeats every pass of the objective, in as many small passes as there are examples, and holds two more gradients.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping

import torch
from torch import Tensor, nn

from uegr.methods.contract import Objective, Terms, labelled
from uegr.pieces.embedding import Batch, parts, unwrapped
from uegr.pieces.fisher import Squares, squared_gradients
from uegr.pieces.schedule import Moment


def totals(steps: Iterator[Terms]) -> Generator[Tensor]:
    """The sum of the terms of each backward."""
    try:
        for terms in steps:
            if terms:
                yield torch.stack(list(terms.values())).sum()
    finally:
        steps.close()  # type: ignore[attr-defined]


class PerExample(Objective):
    """The inner objective, after its single examples have been squared and summed."""

    def __init__(self, inner: Objective, squares: Squares) -> None:
        self.inner, self.squares = inner, squares
        self.yields, self.batchwise = inner.yields, inner.batchwise
        self.passes = (2 * inner.passes[0], 2 * inner.passes[1])

    def check(self, model: nn.Module) -> None:
        self.inner.check(model)

    def prepare(self, model: nn.Module, batches: Iterable[Batch]) -> None:
        self.inner.prepare(model, batches)

    def begin(self, moment: Moment) -> None:
        self.inner.begin(moment)

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        self.squares.add(squared_gradients(model, self.singles(unwrapped(model), batch)))
        yield from self.inner.losses(model, batch)

    def singles(self, model: nn.Module, batch: Batch) -> Iterator[Generator[Tensor]]:
        """The losses of every labelled example alone; each starts from the state of the step before."""
        before = self.inner.state_dict()
        for _, single, share in parts(batch, len(batch["input_ids"]), labelled(model, batch)):
            if share:
                yield totals(self.inner.losses(model, single))
                self.inner.load_state_dict(before)

    def state_dict(self) -> dict[str, Tensor]:
        return self.inner.state_dict()

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        self.inner.load_state_dict(state)
