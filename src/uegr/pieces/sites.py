"""Where a model drops: its `nn.Dropout` modules, how a batch is laid out there, and another forward for a time.

A site is a called `nn.Dropout` whose input has units in its last dimension. Attention probabilities (four dimensions,
or a float handed to the attention kernel) are not units of the network and keep their own dropout.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from uegr.pieces.embedding import Batch, arranged, token_mask, unwrapped


def sites(model: nn.Module) -> dict[str, nn.Dropout]:
    """Every nn.Dropout of the model by name.

    >>> list(sites(nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1))))
    ['1']
    """
    return {name: module for name, module in unwrapped(model).named_modules() if isinstance(module, nn.Dropout)}


def check_sites(model: nn.Module) -> dict[str, nn.Dropout]:
    """The sites, if there are any: else all sub-models would be the same."""
    found = sites(model)
    if not found:
        raise ValueError(
            "expected a model with nn.Dropout modules to draw sub-models from, got "
            f"{type(unwrapped(model)).__name__} with none; give it dropout, or choose a method without sub-models"
        )
    return found


class Layout:
    """How the model shows its batch to its layers: examples first, or tokens first as in XLNet."""

    def __init__(self, batch: Batch) -> None:
        self.ids, self.tokens = batch["input_ids"], token_mask(batch)
        self.seen: Tensor | None = None
        self.tokens_first = False

    def look(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        self.seen = arranged(self.tokens, inputs[0], self.ids)
        self.tokens_first = self.seen is not self.tokens and self.seen.shape == self.ids.T.shape

    def axis(self, values: Tensor, rows: int) -> int | None:
        """The dimension along which the examples lie, if any."""
        if self.tokens_first and values.dim() == 3:
            return 1 if values.shape[1] == rows else None
        folded = values.dim() == 3 and values.shape[0] % rows == 0  # sentences of a document as rows of their own
        return 0 if values.shape[0] == rows or folded else None

    def over(self, values: Tensor) -> Tensor:
        """`values` with padding at zero, where they have a token dimension."""
        if self.seen is None or values.shape[:2] != self.seen.shape or values.dim() != 3:
            return values
        return values * self.seen.unsqueeze(-1).to(values.dtype)


def until_left(stack: ExitStack, handle: RemovableHandle) -> None:
    """The hook is taken away when the stack is left."""
    stack.callback(handle.remove)


@contextmanager
def another_forward(module: nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    """The module's forward is another one inside; an own forward of the instance comes back, or the class's."""
    before = module.__dict__.get("forward")
    module.__dict__["forward"] = forward
    try:
        yield
    finally:
        del module.__dict__["forward"]
        if before is not None:
            module.__dict__["forward"] = before
