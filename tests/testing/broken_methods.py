"""Methods with one fault each, which a check of uegr.testing must find."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from uegr import Method, Objective
from uegr.methods.contract import configured, task_loss


class Plain(Objective):
    """Plain fine-tuning; the faults are in its subclasses."""

    def losses(self, model: nn.Module, batch: Any) -> Iterator[dict[str, Any]]:
        yield {"task": task_loss(model(**batch))}


class Hook(Plain):
    def losses(self, model: nn.Module, batch: Any) -> Iterator[dict[str, Any]]:
        model.get_input_embeddings().register_forward_hook(lambda *_: None)
        yield from super().losses(model, batch)


class Mode(Plain):
    """Undone, but not when the body raises."""

    def losses(self, model: nn.Module, batch: Any) -> Iterator[dict[str, Any]]:
        model.eval()
        yield from super().losses(model, batch)
        model.train()


class Passes(Plain):
    passes = (2, 1)


class Yields(Plain):
    yields = 2


class Graph(Plain):
    kept: Any = None

    def losses(self, model: nn.Module, batch: Any) -> Iterator[dict[str, Any]]:
        loss = task_loss(model(**batch))
        self.kept = loss * loss  # its graph is never back-propagated
        yield {"task": loss}


class Nothing(Plain):
    def losses(self, model: nn.Module, batch: Any) -> Iterator[dict[str, Any]]:
        yield {"task": 0 * task_loss(model(**batch))}


class Padded(Plain):
    def losses(self, model: Any, batch: Any) -> Iterator[dict[str, Any]]:
        padding = model.get_input_embeddings().weight[model.config.pad_token_id]
        yield {"task": task_loss(model(**batch)) + padding.sum()}


class Summed(Plain):
    def losses(self, model: nn.Module, batch: Any) -> Iterator[dict[str, Any]]:
        yield {"task": task_loss(model(**batch)) * len(batch["labels"])}


class Forgetful(Plain):
    """Keeps a state across steps and does not save it."""

    steps = 0

    def losses(self, model: nn.Module, batch: Any) -> Iterator[dict[str, Any]]:
        self.steps += 1
        yield {"task": task_loss(model(**batch)) * self.steps}


class RandomEdit:
    """A gradient mask from the global generator, which differs between processes."""

    needs_optimizer = False

    def edit(self, parameters: dict[str, nn.Parameter], moment: Any) -> None:
        for weight in parameters.values():
            if weight.grad is not None:
                weight.grad.mul_(torch.rand_like(weight.grad))

    def after(self, parameters: dict[str, nn.Parameter]) -> None: ...

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: Any) -> None: ...


class Rude(Plain):
    """Refuses without a remedy."""

    def check(self, model: Any) -> None:
        if model.config.problem_type == "regression" or model.config.num_labels == 1:
            raise ValueError("no")


@configured
def plain() -> Method:
    return Method(Plain())


@configured
def diverging() -> Method:
    return Method(Plain(), gradients=(RandomEdit(),))
