"""The checks that need one step at a time."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor, nn
from transformers import BertModel
from transformers.models.bert.modeling_bert import BertEncoder

from uegr.methods.contract import Method
from uegr.pieces.schedule import Moment
from uegr.testing.models import (
    KINDS,
    Batch,
    adapted,
    batch_for,
    built,
    classifier,
    key_words,
    tagger,
    token_labels,
    writer,
)
from uegr.testing.subject import LATE, MOMENTS, Subject, expect, gradients, prepared, step
from uegr.testing.traces import Broken, breaking_at, check_finite, living_graphs, unchanged


def learns(subject: Subject) -> None:
    """Forty steps on a task that one word decides: more than 85% of 200 new texts are right."""
    total = 40
    model: nn.Module = built(KINDS["textcnn"])
    method = prepared(subject.made("learns"), model, key_words(16, seed=0))
    optimizer = torch.optim.AdamW(model.train().parameters(), lr=0.01)
    for number in range(total):
        step(method, model, key_words(16, number), moment=Moment(number, total, epoch_steps=10), seed=number)
        optimizer.step()
    test = key_words(200, seed=999)
    with torch.no_grad():
        correct = model.eval()(**test)["logits"].argmax(-1) == test["labels"]
    accuracy = float(correct.float().mean())
    expect(accuracy > 0.85, f"expected an accuracy above 0.85 after {total} steps, got {accuracy:.2f}")


def leaves_no_trace(subject: Subject) -> None:
    """After a step the model has the same hooks, modes, weights and trainable parameters as before."""
    for moment in MOMENTS.values():
        model, batch, method = subject.ready("leaves_no_trace")
        with unchanged(model):
            step(method, model, batch, moment=moment)


def survives_broken_backward(subject: Subject) -> None:
    """An exception in any backward leaves no trace, and the next step works."""
    for moment in MOMENTS.values():
        model, batch, method = subject.ready("survives_broken_backward")
        for broken in range(method.objective.yields):
            with unchanged(model):
                raised = interrupted(method, model, batch, moment, breaking_at(broken, Tensor.backward))
            expect(raised, f"expected {method.objective.yields} backward passes (`yields`), got {broken}")
        step(method, model, batch, moment=moment)


def interrupted(method: Method, model: nn.Module, batch: Batch, moment: Moment, backward: Any) -> bool:
    """Whether a step with this backward was broken off."""
    try:
        step(method, model, batch, moment=moment, backward=backward)
    except Broken:
        return True
    return False


def survives_broken_forward(subject: Subject) -> None:
    """An exception in any forward leaves no trace."""
    for moment in MOMENTS.values():
        model, batch, method = subject.ready("survives_broken_forward")
        forwards, raised = 0, True
        while raised:
            broken = breaking_at(forwards, BertEncoder.forward)
            with patch.object(BertEncoder, "forward", broken), unchanged(model):
                raised = interrupted(method, model, batch, moment, Tensor.backward)
            forwards += raised
        most = method.objective.passes[0] * len(batch["labels"])  # a forward may run over single examples
        expect(1 <= forwards <= most, f"expected 1 to {most} forward passes (`passes`), got {forwards}")


def counts_its_passes(subject: Subject) -> None:
    """The objective's `passes` are the forward and backward passes over the batch that a step makes."""
    model, batch, method = subject.ready("counts_its_passes")
    rows = {"forward": 0, "backward": 0}
    forward = BertModel.forward

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        output = forward(self, *args, **kwargs)
        rows["forward"] += len(output.last_hidden_state)
        if output.last_hidden_state.requires_grad:
            output.last_hidden_state.register_hook(lambda g: rows.update(backward=rows["backward"] + len(g)))
        return output

    with patch.object(BertModel, "forward", counted):
        step(method, model, batch)
    got = tuple(count / len(batch["labels"]) for count in rows.values())
    expect(got == method.objective.passes, f"expected the declared passes {method.objective.passes}, got {got}")


def frees_its_graphs(subject: Subject) -> None:
    """No part of a graph is kept after the backward that uses it."""
    model, batch, method = subject.ready("frees_its_graphs")
    left: list[int] = []
    with living_graphs() as living:

        def backward(loss: Tensor) -> None:
            loss.backward()
            left.append(len(living))

        step(method, model, batch, backward=backward)
        expect(len(left) == method.objective.yields, f"expected {method.objective.yields} yields, got {len(left)}")
        expect(not any(left) and not living, f"expected no tensor held after a backward, got {left}")


def trains_lora(subject: Subject) -> None:
    """On a LoRA model only what trains gets a gradient, on an encoder and on a decoder."""
    for (_, moment), family in zip(MOMENTS.items(), ("bert", "gpt2"), strict=True):
        model = adapted(family)
        batch = batch_for(model)
        method = prepared(subject.made("trains_lora"), model, batch)
        with unchanged(model):
            step(method, model, batch, moment=moment)
        touched = {key for key, weight in model.named_parameters() if weight.grad is not None and weight.grad.any()}
        trained = {key for key, weight in model.named_parameters() if weight.requires_grad}
        expect(touched <= trained, f"expected no gradient on frozen weights, got one on {sorted(touched - trained)}")
        expect(any("modules_to_save" in key for key in touched), "expected a gradient on the head, got none")
        if moment is LATE:  # a method may train the head alone at first
            expect(any("lora" in key for key in touched), "expected a gradient on the adapters, got none")
        check_finite(model)


def ignores_padding(subject: Subject) -> None:
    """A decoder's word vector of the padding token gets no gradient."""
    model: Any = classifier("gpt2")
    batch = batch_for(model)
    method = prepared(subject.made("ignores_padding"), model, batch)
    with unchanged(model):
        step(method, model, batch)
    check_finite(model)
    words = model.transformer.wte.weight.grad
    expect(words.any(), "expected a gradient on the word vectors, got none")
    expect(not words[model.config.pad_token_id].any(), "expected no gradient on the padding token, got one")


def regression(subject: Subject) -> None:
    """A step on a regression, or a refusal."""
    model = classifier(labels=1)
    _try_task(subject, "regression", model, batch_for(model, labels=1))


def token_classification(subject: Subject) -> None:
    """A step on a token classification, or a refusal."""
    model = tagger()
    _try_task(subject, "token_classification", model, token_labels(batch_for(model), classes=3))


def causal_language_model(subject: Subject) -> None:
    """A step on a causal language model, or a refusal."""
    model = writer()
    _try_task(subject, "causal_language_model", model, token_labels(batch_for(model), classes=None))


def _try_task(subject: Subject, task: str, model: nn.Module, batch: Batch) -> None:
    with refused() if task in subject.refuses else unrefused():
        method = prepared(subject.made(task), model, batch)
        with unchanged(model):
            terms = step(method, model, batch)
        check_finite(model)
        expect(all(torch.isfinite(value) for value in terms.values()), f"expected finite losses, got {terms}")
        moved = any(weight.grad is not None and weight.grad.any() for weight in model.parameters())
        expect(moved, "expected a gradient, got none")


@contextmanager
def refused() -> Iterator[None]:
    """The body must raise a ValueError that says what was expected, what it got, and the remedy."""
    try:
        yield
    except ValueError as error:
        expect(re.search(r"expected .* got .*;", str(error)), f"expected `expected ..., got ...; remedy`, got: {error}")
        return
    raise AssertionError("expected a refusal (this check is in `refuses`), got a step that works")


@contextmanager
def unrefused() -> Iterator[None]:
    """A ValueError in the body is explained."""
    try:
        yield
    except ValueError as error:
        raise AssertionError(
            f"expected a step that works, or the name of this check in `refuses`, got: {error}"
        ) from error


def autocast(subject: Subject) -> None:
    """Under bfloat16 autocast around the whole step, the gradient points in nearly the same direction."""
    model, batch, method = subject.ready("autocast")
    step(method, model, batch)
    exact = torch.cat([gradient.flatten() for gradient in gradients(model).values()])
    with torch.autocast("cpu", torch.bfloat16):
        step(method, model, batch)
    rough = torch.cat([gradient.flatten() for gradient in gradients(model).values()])
    check_finite(model)
    expect(rough.dtype == torch.float32, f"expected gradients in float32, got {rough.dtype}")
    cosine = float(torch.cosine_similarity(exact, rough, dim=0))
    expect(cosine > 0.9, f"expected a cosine with the float32 gradient above 0.9, got {cosine:.3f}")
