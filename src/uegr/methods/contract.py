"""What a method is: an objective that yields losses, edits of the gradient, and surgery on the model.

An objective tells its step in time order and yields named, weighted loss terms; the engine back-propagates each set
and returns control. It never calls backward, and does not know about devices or processes.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import UnionType
from typing import Any, ClassVar, Protocol, Union, get_args, get_origin

import torch
from torch import Tensor, nn

from uegr.pieces.embedding import Batch, unwrapped
from uegr.pieces.schedule import Moment
from uegr.pieces.selective import Parameters

Terms = dict[str, Tensor]


class Objective:
    """Subclass it and write `losses`; the rest is for those who need it.

    `yields` is how often `losses` yields, so that the engine knows which backward is the last of a step (only that one
    talks to other processes); `passes` is how many forward and backward passes over the batch that costs, all told. A
    pass through some of the layers counts by their share.
    """

    yields: int = 1
    passes: tuple[float, float] = (1, 1)
    extra: ClassVar[str] = ""  # what it does to all weights beside the passes; step_cost.py measures it apart
    batchwise: str = ""  # why the loss is not a mean over examples, so that accumulating changes it
    needs_tokenizer: bool = False  # attacks by words: the trainer gives it a table of substitutes
    keeps_weights: bool = True  # False: moves or replaces weights, which sharded training cannot do

    def check(self, model: nn.Module) -> None:
        """Raise ValueError with the remedy if this model cannot work."""

    def prepare(self, model: nn.Module, batches: Iterable[Batch]) -> None:
        """Once, before optimizer and processes exist: anchors, heads, Fisher information."""

    def begin(self, moment: Moment) -> None:
        """Before each step's losses."""

    def losses(self, model: nn.Module, batch: Batch) -> Iterator[Terms]:
        """Yield the terms of each backward, in order."""
        raise TypeError(f"{type(self).__name__} has no losses")

    def state_dict(self) -> dict[str, Tensor]:
        """What must survive a checkpoint."""
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Undo `state_dict`."""


class GradientEdit(Protocol):
    """Works once on the accumulated, clipped gradient of an optimizer step; all but `edit` may be inherited."""

    needs_optimizer: bool = False

    def edit(self, parameters: Parameters, moment: Moment) -> None: ...

    def after(self, parameters: Parameters) -> None:
        """After the optimizer's step."""
        return

    def state_dict(self) -> dict[str, Tensor]:
        """What must survive a checkpoint."""
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Undo `state_dict`."""
        return


@dataclass(frozen=True)
class Method:
    """A published method, ready for the engine; its repr prints the hyper-parameters it was made with."""

    objective: Objective
    gradients: tuple[GradientEdit, ...] = ()
    surgery: tuple[Callable[[nn.Module], None], ...] = ()
    name: str = "custom"
    options: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.options.items())})"

    def state_dict(self) -> dict[str, Tensor]:
        """The state of objective and edits, for a checkpoint."""
        parts: list[Any] = [self.objective, *self.gradients]
        return {f"{i}.{key}": value for i, part in enumerate(parts) for key, value in part.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Undo `state_dict`."""
        parts: list[Any] = [self.objective, *self.gradients]
        for i, part in enumerate(parts):
            start = f"{i}."
            part.load_state_dict({k.removeprefix(start): v for k, v in state.items() if k.startswith(start)})


MethodFactory = Callable[..., Method]


_factories: list[MethodFactory] = []  # what `configured` has made


def is_factory(found: Any) -> bool:
    """Whether something is a function that `configured` has decorated; nothing else is called by its name."""
    return any(found is one for one in _factories)


def configured(factory: MethodFactory) -> MethodFactory:
    """A factory whose methods remember their name and options, and whose errors name the method."""

    def build(**options: Any) -> Method:
        signature = inspect.signature(factory)
        check_options(factory.__name__, signature.parameters, options)
        bound = signature.bind(**options)
        bound.apply_defaults()
        try:
            made = factory(**options)
        except ValueError as error:
            raise ValueError(f"{factory.__name__}: {error}") from None
        return Method(made.objective, made.gradients, made.surgery, factory.__name__, dict(bound.arguments))

    build.__name__, build.__doc__, build.__module__ = factory.__name__, factory.__doc__, factory.__module__
    build.__qualname__ = factory.__qualname__  # so that it can be pickled
    build.__signature__ = inspect.signature(factory)  # type: ignore[attr-defined]
    _factories.append(build)
    return build


def check_options(name: str, known: Mapping[str, inspect.Parameter], given: Mapping[str, Any]) -> None:
    """Refuse an option that the method does not have, and what is no number where one is expected."""
    for key, value in given.items():
        if key not in known:
            near = get_close_matches(key, known, n=1, cutoff=0.6)
            remedy = f"did you mean {near[0]}? " if near else ""
            raise TypeError(f"{name} has no option {key}; {remedy}its options: {', '.join(known) or 'none'}")
        kind = known[key].annotation
        kinds = set(get_args(kind)) if get_origin(kind) in (Union, UnionType) else {kind}
        unfit = isinstance(value, str | list | tuple | dict) or (value is None and type(None) not in kinds)
        if unfit and kinds <= {int, float, type(None)}:
            raise ValueError(f"{name}: expected a number for {key}, got {value!r}")


def predictions(model: nn.Module, logits: Tensor, batch: Batch) -> Tensor:
    """Logits at the labelled positions, (rows, classes): what two passes over the same batch can be compared on.

    Token classification and causal models have one row per token whose label is not -100 (a causal model's logits
    predict the next token); several labels at once are as many two-way choices, several outputs of a regression as
    many rows.
    """
    if logits.dim() == 3:
        mask = labelled(model, batch)
        return logits[:, : mask.shape[1]][mask]
    config: Any = unwrapped(model).config
    if config.problem_type == "multi_label_classification":
        return torch.stack([logits, torch.zeros_like(logits)], -1).flatten(0, 1)
    return logits.reshape(-1, 1) if config.problem_type == "regression" else logits


def labelled(model: nn.Module, batch: Batch) -> Tensor:
    """Where a prediction has a label, (examples,) or (examples, positions); a causal model's first label has none."""
    if "labels" not in batch:
        raise ValueError(f"expected labels in the batch, got only {', '.join(batch)}; add them under the name labels")
    labels: Tensor = batch["labels"]
    return (labels[:, 1:] if causal(unwrapped(model)) else labels) != -100


def causal(model: nn.Module) -> bool:
    """Whether the loss is of the next token; transformers names no loss for a GPT2LMHeadModel and takes that one."""
    kind = getattr(model, "loss_type", None)  # a PEFT wrapper passes its base's on
    if isinstance(kind, str):
        return kind == "ForCausalLM"
    return any("LMHeadModel" in type(module).__name__ for module in model.modules())


def task_loss(output: Any) -> Tensor:
    """The model's own loss on its own labels: cross-entropy, or the squared error of a regression."""
    loss = output.get("loss") if isinstance(output, dict) else output[0]
    if loss is None:
        raise ValueError("expected a model that returns a loss for its labels, got none; add labels to the batch")
    return loss  # type: ignore[no-any-return]
